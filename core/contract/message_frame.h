// The frame of a sink that wants messages instead of rows (design §3).
#pragma once

#include "core/base/byte_order.h"
#include "core/base/error.h"
#include "core/contract/frame_buffer.h"
#include "core/contract/output_endpoint.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::core {

// Shape, each message, integers u32 little endian: key size (kNull: none), key,
// value size (kNull: none), value, number of headers, then per header name
// size, name, value size (kNull: none), value. Frames concatenate.
struct MessageFrame {
  static constexpr uint32_t kNull = 0xffffffff;
};

namespace internal {

inline void AppendSized(std::optional<absl::string_view> bytes,
                        FrameBuffer& out) {
  const uint32_t size = bytes.has_value() ? static_cast<uint32_t>(bytes->size())
                                          : MessageFrame::kNull;
  StoreLe(size, out.Reserve(sizeof(size)));
  out.Commit(sizeof(size));
  if (bytes.has_value()) out.Append(*bytes);
}

inline bool TakeSized(absl::string_view& from,
                      std::optional<absl::string_view>& bytes) {
  uint32_t size = 0;
  if (!ConsumeLe(from, size)) return false;
  if (size == MessageFrame::kNull) {
    bytes.reset();
    return true;
  }
  if (from.size() < size) return false;
  bytes = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace internal

// Appends one message. Requires: each part and their number are below 2^32 - 1.
inline void AppendMessage(std::optional<absl::string_view> key,
                          std::optional<absl::string_view> value,
                          std::span<const MessageHeader> headers,
                          FrameBuffer& out) {
  internal::AppendSized(key, out);
  internal::AppendSized(value, out);
  StoreLe(static_cast<uint32_t>(headers.size()), out.Reserve(4));
  out.Commit(4);
  for (const MessageHeader& header : headers) {
    internal::AppendSized(header.first, out);
    internal::AppendSized(header.second, out);
  }
}

// One message as views into a frame.
struct MessageView {
  std::optional<absl::string_view> key;
  std::optional<absl::string_view> value;
  std::vector<MessageHeader> headers;
};

// Takes the next message from the front of `frame` into `message`, whose
// memory is reused. Requires: `frame` is not empty.
// Errors: MALFORMED_FRAME; then neither argument means anything.
inline absl::Status ConsumeMessage(absl::string_view& frame,
                                   MessageView& message) {
  message.headers.clear();
  uint32_t headers = 0;
  bool whole = internal::TakeSized(frame, message.key) &&
               internal::TakeSized(frame, message.value) &&
               ConsumeLe(frame, headers);
  for (uint32_t i = 0; whole && i < headers; ++i) {
    std::optional<absl::string_view> name;
    std::optional<absl::string_view> value;
    whole = internal::TakeSized(frame, name) &&
            internal::TakeSized(frame, value) && name.has_value();
    if (whole) message.headers.emplace_back(*name, value);
  }
  if (whole) return absl::OkStatus();
  return MakeError(Reason::MALFORMED_FRAME,
                   "a frame of messages ends inside of one, or has a header "
                   "without a name");
}

}  // namespace penstock::core
