// Numbers and tags as Protocol Buffers write them.
// Source: Protocol Buffers, "Encoding".
#pragma once

#include "core/format/protobuf/protobuf_schema.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::core {

// How a value stands there.
enum class ProtobufWire : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kSized = 2,
  kBeginGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

inline constexpr size_t kVarintBytesMax = 10;
inline constexpr size_t kTagBytesMax = 5;

// Reads the varint at text[at] and passes it; bits beyond 64 are dropped.
// False: the text ends within it, or it has more than `bytes_max` bytes; `at`
// is where it began.
inline bool ReadVarint(absl::string_view text, size_t& at, uint64_t& value,
                       size_t bytes_max = kVarintBytesMax) {
  value = 0;
  for (size_t i = 0; i < bytes_max && at + i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      at += i + 1;
      return true;
    }
  }
  return false;
}

inline int64_t FromZigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Requires: so many bytes are there.
template <typename Number>
Number ReadFixed(absl::string_view text, size_t at) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  Number number;
  std::memcpy(&number, text.data() + at, sizeof(number));
  return number;
}

// How a single value of that type stands there.
constexpr ProtobufWire WireOf(ProtobufType type) {
  switch (type) {
    case ProtobufType::kDouble:
    case ProtobufType::kFixed64:
    case ProtobufType::kSfixed64:
      return ProtobufWire::kFixed64;
    case ProtobufType::kFloat:
    case ProtobufType::kFixed32:
    case ProtobufType::kSfixed32:
      return ProtobufWire::kFixed32;
    case ProtobufType::kString:
    case ProtobufType::kBytes:
    case ProtobufType::kMessage:
      return ProtobufWire::kSized;
    case ProtobufType::kGroup:
      return ProtobufWire::kBeginGroup;
    default:
      return ProtobufWire::kVarint;
  }
}

}  // namespace penstock::core
