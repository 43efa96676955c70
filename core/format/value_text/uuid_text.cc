#include "core/format/value_text/uuid_text.h"

#include "core/format/value_text/hex_digit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::core {
namespace {

constexpr size_t kBytes = 16;
constexpr size_t kDigits = 2 * kBytes;
constexpr std::array<size_t, 4> kHyphens = {8, 13, 18, 23};

bool IsHyphen(size_t place) {
  return std::find(kHyphens.begin(), kHyphens.end(), place) != kHyphens.end();
}

}  // namespace

ValueFault ParseUuid(absl::string_view text, ValueArena& arena, Value& value) {
  const bool has_hyphens = text.size() == kDigits + kHyphens.size();
  if (!has_hyphens && text.size() != kDigits) return ValueFault::kNotUuid;
  if (has_hyphens) {
    for (const size_t place : kHyphens) {
      if (text[place] != '-') return ValueFault::kNotUuid;
    }
  }
  std::array<char, kBytes> bytes;
  // Of all digits: above 15 if there is one that is none.
  uint32_t all = 0;
  size_t at = 0;
  for (char& byte : bytes) {
    if (has_hyphens && IsHyphen(at)) ++at;
    const uint32_t high = HexDigit(text[at]);
    const uint32_t low = HexDigit(text[at + 1]);
    all |= high | low;
    byte = static_cast<char>(high << 4 | low);
    at += 2;
  }
  if (all > 15) return ValueFault::kNotUuid;
  value = Value::Uuid(arena.Copy({bytes.data(), bytes.size()}));
  return ValueFault::kNone;
}

}  // namespace penstock::core
