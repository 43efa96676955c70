// Rows as lines of JSON.
#pragma once

#include "core/contract/row_encoder.h"
#include "core/record/schema.h"
#include "core/record/value.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>
#include <string>

namespace penstock::core {

// Appends the value of a column as JSON that ndjson reads as the same value:
// numbers digit for digit, what is no finite number, times and bytes as text
// (PrintValue), variants as they came. Keys of maps are text.
void AppendValueJson(const Column& column, const Value& value,
                     std::string& json);

// A row is an object of its columns, in their order, and LF. Of a record
// without a value, a deletion of Kafka's, all columns are there as well. Holds
// nothing but the last row's text.
class RowJsonEncoder final : public RowEncoder {
 public:
  explicit RowJsonEncoder(Schema schema) : schema_(std::move(schema)) {}

  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  // Names, quotes and escapes come on top of the payload.
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override;
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<RowJsonEncoder>(schema_);
  }

 private:
  const Schema schema_;
  std::string line_;
};

}  // namespace penstock::core
