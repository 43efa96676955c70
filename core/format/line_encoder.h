// Rows that are lines: the encoder of the formats raw and ndjson, unless the
// sink wants messages.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/row_encoder.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>

namespace penstock::core {

// A row is the record's value as it stands, then LF. Holds nothing.
class LineEncoder final : public RowEncoder {
 public:
  // Errors: UNSUPPORTED for a null value, and for an update or a deletion,
  // which no line says;
  // MALFORMED_FRAME for a value with an LF in it: a reader would find two rows.
  // `out` is then untouched.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  // Exact for records without keys.
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<LineEncoder>();
  }
};

// LineEncoder, or for messages MessageEncoder.
std::unique_ptr<RowEncoder> MakeTextEncoder(FrameKind frames);

}  // namespace penstock::core
