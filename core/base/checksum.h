// The checksum of stored state, and numbers as hexadecimal text.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

// XXH3, 64 bits, seed 0: for damage, not for attackers.
// Source: xxHash 0.8, https://github.com/Cyan4973/xxHash
uint64_t Checksum64(absl::string_view bytes);

// 16 lower-case digits.
std::string Hex64(uint64_t value);
// Inverse of Hex64: exactly 16 digits, either case; otherwise nullopt.
std::optional<uint64_t> ParseHex64(absl::string_view text);
// Two lower-case digits per byte.
std::string HexBytes(absl::string_view bytes);

}  // namespace penstock::core
