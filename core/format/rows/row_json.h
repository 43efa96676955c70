// Rows as lines of JSON.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/contract/output_target.h"
#include "core/contract/row_encoder.h"
#include "core/format/change_form.h"
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

// A row is an object of its columns, in their order, and LF; of a message the
// value, without LF, and a deletion is a message without one. Holds nothing but
// the last row's text.
class RowJsonEncoder final : public RowEncoder {
 public:
  RowJsonEncoder(Schema schema, FrameKind frames, OpColumn op_column);

  // Errors: CheckRowForm's and AppendDeletion's.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  // Names, quotes and escapes come on top of the payload.
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override;
  size_t NestedValueBytes() const override { return nested_bytes_; }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<RowJsonEncoder>(schema_, frames_, op_column_);
  }

 private:
  const Schema schema_;
  const FrameKind frames_;
  const OpColumn op_column_;
  // See EstimateBytes: of a record, besides its text, and of each value inside
  // of others.
  size_t record_bytes_ = 16;
  size_t nested_bytes_ = 0;
  std::string line_;
};

}  // namespace penstock::core
