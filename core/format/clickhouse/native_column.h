// One column of a block in ClickHouse's format Native.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/format/clickhouse/clickhouse_type.h"
#include "core/record/value.h"

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::core {

// Gathers the values of a column, and of those within it:
//
//   Nullable(T)   a byte for each value, 1 = null; then T, with zeros for nulls
//   Array(T)      where each array ends, counted in elements, in eight bytes;
//                 then all elements
//   Map(K, V)     the same; then all keys, then all values
//   Tuple(...)    one field after the other
//   anything else its values, one after the other
//
// Owner:    an encoder; outlived by the type. Threads: confined to its owner.
// Bound:    its owner's: the values that were added since MoveTo.
class NativeColumn {
 public:
  explicit NativeColumn(const ClickHouseType& type);

  // Adds a value. Errors: ROW_REFUSED; a part of it is held then, until GoBack.
  absl::Status Append(const Value& value);
  // Notes how much is held, for GoBack.
  void Mark();
  void GoBack();
  // Bytes that MoveTo will append.
  size_t bytes() const;
  // Appends all to `out`, and holds nothing any more.
  void MoveTo(FrameBuffer& out);

 private:
  absl::Status AppendElements(std::span<const Value> values);

  const ClickHouseType& type_;
  FrameBuffer nulls_;
  // Ends of arrays and maps, or values.
  FrameBuffer data_;
  std::vector<NativeColumn> children_;
  // Elements so far.
  uint64_t elements_ = 0;
  // As they were at the mark.
  size_t nulls_marked_ = 0;
  size_t data_marked_ = 0;
  uint64_t elements_marked_ = 0;
};

}  // namespace penstock::core
