#include "core/base/checksum.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <xxhash.h>

namespace penstock::core {

uint64_t Checksum64(absl::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string Hex64(uint64_t value) {
  return absl::StrCat(absl::Hex(value, absl::kZeroPad16));
}

std::optional<uint64_t> ParseHex64(absl::string_view text) {
  if (text.size() != 16) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint64_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = (value << 4) | digit;
  }
  return value;
}

std::string HexBytes(absl::string_view bytes) {
  return absl::BytesToHexString(bytes);
}

}  // namespace penstock::core
