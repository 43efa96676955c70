// Hexadecimal digits.
#pragma once

#include <cstdint>

namespace penstock::core {

// The value of the digit, in any case; above 15: it is none.
constexpr uint32_t HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  // Letters differ in one bit by their case.
  const auto letter = static_cast<uint32_t>(static_cast<unsigned char>(c)) | 32;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 255;
}

}  // namespace penstock::core
