#include "core/format/msgpack/msgpack_item.h"

#include "core/base/check.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

namespace penstock::core {
namespace {

// Big-endian.
uint64_t ReadNumber(const char* bytes, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

// Bytes of the length in a head: 1, 2 or 4.
size_t LengthBytes(unsigned first, unsigned of_one_byte) {
  return size_t{1} << (first - of_one_byte);
}

MsgpackHead WithPayload(MsgpackKind kind, uint64_t payload, size_t size = 1) {
  return {.kind = kind,
          .size = static_cast<uint8_t>(size),
          .payload = static_cast<uint32_t>(payload)};
}

MsgpackHead Container(MsgpackKind kind, uint64_t count, size_t size = 1) {
  return {.kind = kind,
          .size = static_cast<uint8_t>(size),
          .values = kind == MsgpackKind::kMap ? 2 * count : count};
}

MsgpackHead ReadLongHead(const char* bytes, unsigned first) {
  const size_t size = MsgpackHeadSize(*bytes);
  if (first >= 0xc4 && first <= 0xc6) {
    return WithPayload(MsgpackKind::kBin, ReadNumber(bytes + 1, size - 1),
                       size);
  }
  if (first >= 0xc7 && first <= 0xc9) {
    MsgpackHead head =
        WithPayload(MsgpackKind::kExt, ReadNumber(bytes + 1, size - 2), size);
    head.ext_type = static_cast<int8_t>(bytes[size - 1]);
    return head;
  }
  if (first >= 0xd4 && first <= 0xd8) {
    MsgpackHead head =
        WithPayload(MsgpackKind::kExt, uint64_t{1} << (first - 0xd4), size);
    head.ext_type = static_cast<int8_t>(bytes[1]);
    return head;
  }
  const uint64_t length = ReadNumber(bytes + 1, size - 1);
  if (first <= 0xdb) return WithPayload(MsgpackKind::kStr, length, size);
  return Container(first <= 0xdd ? MsgpackKind::kArray : MsgpackKind::kMap,
                   length, size);
}

}  // namespace

size_t MsgpackHeadSize(char first) {
  const unsigned byte = static_cast<unsigned char>(first);
  if (byte >= 0xc4 && byte <= 0xc6) return 1 + LengthBytes(byte, 0xc4);
  if (byte >= 0xc7 && byte <= 0xc9) return 2 + LengthBytes(byte, 0xc7);
  if (byte >= 0xd4 && byte <= 0xd8) return 2;
  if (byte >= 0xd9 && byte <= 0xdb) return 1 + LengthBytes(byte, 0xd9);
  if (byte >= 0xdc && byte <= 0xdf) return byte % 2 == 0 ? 3 : 5;
  return 1;
}

MsgpackHead ReadMsgpackHead(const char* bytes) {
  const unsigned first = static_cast<unsigned char>(*bytes);
  if (first < 0x80) return {.kind = MsgpackKind::kUnsigned};
  if (first < 0x90) return Container(MsgpackKind::kMap, first & 0x0f);
  if (first < 0xa0) return Container(MsgpackKind::kArray, first & 0x0f);
  if (first < 0xc0) return WithPayload(MsgpackKind::kStr, first & 0x1f);
  if (first >= 0xe0) return {.kind = MsgpackKind::kNegative};
  switch (first) {
    case 0xc0:
      return {.kind = MsgpackKind::kNil};
    case 0xc1:
      return {.kind = MsgpackKind::kInvalid};
    case 0xc2:
    case 0xc3:
      return {.kind = MsgpackKind::kBool};
    case 0xca:
      return WithPayload(MsgpackKind::kFloat32, 4);
    case 0xcb:
      return WithPayload(MsgpackKind::kFloat64, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      return WithPayload(MsgpackKind::kUnsigned, uint64_t{1} << (first - 0xcc));
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return WithPayload(MsgpackKind::kNegative, uint64_t{1} << (first - 0xd0));
    default:
      return ReadLongHead(bytes, first);
  }
}

absl::string_view PrintMsgpack(const MsgpackItem& item, MsgpackDigits& digits) {
  char* const begin = digits.data();
  char* const end = begin + digits.size();
  std::to_chars_result printed = {.ptr = begin, .ec = std::errc()};
  switch (item.kind) {
    case MsgpackKind::kBool:
      return item.boolean ? "true" : "false";
    case MsgpackKind::kUnsigned:
      printed = std::to_chars(begin, end, item.number);
      break;
    case MsgpackKind::kNegative:
      printed = std::to_chars(begin, end, item.negative);
      break;
    default:
      if (std::isnan(item.real)) return "NaN";
      if (std::isinf(item.real))
        return item.real > 0 ? "Infinity" : "-Infinity";
      // The double that a float is has more digits than the float.
      printed = item.kind == MsgpackKind::kFloat32
                    ? std::to_chars(begin, end, static_cast<float>(item.real))
                    : std::to_chars(begin, end, item.real);
  }
  return {begin, static_cast<size_t>(printed.ptr - begin)};
}

MsgpackItem MsgpackCursor::Take() {
  DCHECK_LT(at_, text_.size());
  const char* const bytes = text_.data() + at_;
  const MsgpackHead head = ReadMsgpackHead(bytes);
  const absl::string_view payload(bytes + head.size, head.payload);
  at_ += size_t{head.size} + head.payload;
  MsgpackItem item{.kind = head.kind, .ext_type = head.ext_type};
  switch (head.kind) {
    case MsgpackKind::kBool:
      item.boolean = *bytes == '\xc3';
      break;
    case MsgpackKind::kUnsigned:
      item.number = payload.empty()
                        ? static_cast<unsigned char>(*bytes)
                        : ReadNumber(payload.data(), payload.size());
      break;
    case MsgpackKind::kNegative: {
      const size_t size = payload.empty() ? 1 : payload.size();
      const uint64_t raw =
          ReadNumber(payload.empty() ? bytes : payload.data(), size);
      // The sign bit moved to the top and back.
      const size_t shift = 64 - 8 * size;
      item.negative = static_cast<int64_t>(raw << shift) >> shift;
      // A signed format may hold what is not negative.
      if (item.negative >= 0) {
        item.kind = MsgpackKind::kUnsigned;
        item.number = static_cast<uint64_t>(item.negative);
      }
      break;
    }
    case MsgpackKind::kFloat32:
      item.real = std::bit_cast<float>(
          static_cast<uint32_t>(ReadNumber(payload.data(), 4)));
      break;
    case MsgpackKind::kFloat64:
      item.real = std::bit_cast<double>(ReadNumber(payload.data(), 8));
      break;
    case MsgpackKind::kArray:
      item.count = static_cast<uint32_t>(head.values);
      break;
    case MsgpackKind::kMap:
      item.count = static_cast<uint32_t>(head.values / 2);
      break;
    case MsgpackKind::kStr:
    case MsgpackKind::kBin:
    case MsgpackKind::kExt:
      item.bytes = payload;
      break;
    case MsgpackKind::kNil:
    case MsgpackKind::kInvalid:
      break;
  }
  return item;
}

absl::string_view MsgpackCursor::TakeValue() {
  const size_t begin = at_;
  for (uint64_t left = 1; left > 0; --left) {
    const MsgpackHead head = ReadMsgpackHead(text_.data() + at_);
    at_ += size_t{head.size} + head.payload;
    left += head.values;
  }
  return text_.substr(begin, at_ - begin);
}

}  // namespace penstock::core
