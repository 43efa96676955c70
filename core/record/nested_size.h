// What of a batch's rows its payload does not bound.
#pragma once

#include "core/record/record_batch.h"
#include "core/record/schema.h"

#include <cstdint>
#include <vector>

namespace penstock::core {

struct NestedSize {
  // Values in arrays and maps, however deep, fields of structs there among
  // them: each may have been a single byte.
  uint64_t values = 0;
  // Text that a payload may be shorter than: JSON made of it, escapes in JSON,
  // and what is none of the record's bytes (a symbol's name, a topic's).
  uint64_t text_bytes = 0;
};

// Owner: whoever estimates. Threads: thread-compatible; constant.
// Bound: a number for each column.
class NestedSizer {
 public:
  explicit NestedSizer(const Schema& schema);

  // Looks at each value of columns that are text, decimal, array, map, struct
  // or variant; of other schemas at nothing.
  NestedSize Of(const RecordBatch& batch) const;

 private:
  // Those columns.
  std::vector<uint32_t> columns_;
};

}  // namespace penstock::core
