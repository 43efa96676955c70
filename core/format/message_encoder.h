// Rows that are messages: the encoder of the formats raw, ndjson, json and avro
// for a sink that wants messages.
#pragma once

#include "core/contract/message_frame.h"
#include "core/contract/row_encoder.h"
#include "core/format/change_form.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>

namespace penstock::core {

// A row is a message: key and value as they stand, null or not. Records have no
// headers. Holds nothing.
class MessageEncoder final : public RowEncoder {
 public:
  enum class Deletions {
    // A message without value.
    kWithoutValue,
    // For values that say themselves what they do.
    kAsTheyStand,
  };

  explicit MessageEncoder(Deletions deletions = Deletions::kWithoutValue)
      : deletions_(deletions) {}

  // Errors: AppendDeletion's.
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    if (record.meta.op == Op::kDelete &&
        deletions_ == Deletions::kWithoutValue) {
      return AppendDeletion(record, out);
    }
    AppendMessage(record.key, record.value, {}, out);
    return absl::OkStatus();
  }
  // Exact but for deletions.
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 12 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<MessageEncoder>(deletions_);
  }

 private:
  const Deletions deletions_;
};

}  // namespace penstock::core
