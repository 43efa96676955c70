// Rows that are messages: the encoder of the formats raw and ndjson for a sink
// that wants messages.
#pragma once

#include "core/contract/message_frame.h"
#include "core/contract/row_encoder.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>

namespace penstock::core {

// A row is a message: key and value as they stand, null or not, so that a
// deletion is a message without value. Records have no headers. Holds nothing.
class MessageEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    AppendMessage(record.key, record.value, {}, out);
    return absl::OkStatus();
  }
  // Exact.
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 12 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<MessageEncoder>();
  }
};

}  // namespace penstock::core
