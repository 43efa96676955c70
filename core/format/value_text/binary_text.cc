#include "core/format/value_text/binary_text.h"

#include "core/format/value_text/hex_digit.h"

#include <absl/strings/match.h>

#include <array>
#include <cstddef>

namespace penstock::core {
namespace {

constexpr absl::string_view kHexPrefix = "\\x";

// The value of each base64 digit; 255: it is none.
constexpr std::array<uint8_t, 256> MakeBase64Digits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(255);
  uint8_t value = 0;
  for (int c = 'A'; c <= 'Z'; ++c) digits[static_cast<size_t>(c)] = value++;
  for (int c = 'a'; c <= 'z'; ++c) digits[static_cast<size_t>(c)] = value++;
  for (int c = '0'; c <= '9'; ++c) digits[static_cast<size_t>(c)] = value++;
  digits['+'] = value++;
  digits['/'] = value;
  return digits;
}
constexpr std::array<uint8_t, 256> kBase64Digits = MakeBase64Digits();

uint32_t Base64Digit(char c) {
  return kBase64Digits[static_cast<unsigned char>(c)];
}

ValueFault ParseHex(absl::string_view digits, uint32_t bytes_max,
                    ValueArena& arena, Value& value) {
  if (digits.size() % 2 != 0) return ValueFault::kNotBinary;
  const size_t size = digits.size() / 2;
  if (bytes_max > 0 && size > bytes_max) return ValueFault::kTooLong;
  // Of all digits: above 15 if there is one that is none.
  uint32_t all = 0;
  const absl::string_view bytes = arena.Write(size, [&](char* to) {
    for (size_t i = 0; i < size; ++i) {
      const uint32_t high = HexDigit(digits[2 * i]);
      const uint32_t low = HexDigit(digits[2 * i + 1]);
      all |= high | low;
      to[i] = static_cast<char>(high << 4 | low);
    }
    return size;
  });
  if (all > 15) return ValueFault::kNotBinary;
  value = Value::Binary(bytes);
  return ValueFault::kNone;
}

// The four digits at `from` to three bytes at `to`, which may have room for
// less: `bytes` of them are made. Returns all digits in one, above 63 if there
// is one that is none.
uint32_t DecodeFour(const char* from, size_t bytes, char* to) {
  uint32_t all = 0;
  uint32_t bits = 0;
  for (size_t i = 0; i <= bytes; ++i) {
    const uint32_t digit = Base64Digit(from[i]);
    all |= digit;
    bits |= (digit & 63) << (18 - 6 * i);
  }
  for (size_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<char>(bits >> (16 - 8 * i));
  }
  // Bits that make no byte must not be set: one text, one value.
  const uint32_t unused = bits & (0xffffffu >> (8 * bytes));
  return unused == 0 ? all : 255;
}

ValueFault ParseBase64(absl::string_view text, uint32_t bytes_max,
                       ValueArena& arena, Value& value) {
  if (text.size() % 4 != 0) return ValueFault::kNotBinary;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() &&
         text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  const size_t size = text.size() / 4 * 3 - padding;
  if (bytes_max > 0 && size > bytes_max) return ValueFault::kTooLong;
  uint32_t all = 0;
  const absl::string_view bytes = arena.Write(size, [&](char* to) {
    for (size_t at = 0, made = 0; at < text.size(); at += 4, made += 3) {
      const bool is_last = at + 4 == text.size();
      all |= DecodeFour(text.data() + at, is_last ? 3 - padding : 3, to + made);
    }
    return size;
  });
  if (all > 63) return ValueFault::kNotBinary;
  value = Value::Binary(bytes);
  return ValueFault::kNone;
}

}  // namespace

ValueFault ParseBinary(absl::string_view text, uint32_t bytes_max,
                       ValueArena& arena, Value& value) {
  if (absl::StartsWith(text, kHexPrefix)) {
    return ParseHex(text.substr(kHexPrefix.size()), bytes_max, arena, value);
  }
  return ParseBase64(text, bytes_max, arena, value);
}

}  // namespace penstock::core
