// Up to eight characters as one number, so that digits are read at once and no
// branch depends on how many there are.
#pragma once

#include <absl/strings/string_view.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace penstock::core {

// Eight characters in a register, the last one in the highest byte; where there
// are fewer, zeros before them. Requires: `text` has one to eight.
[[gnu::always_inline]] inline uint64_t LoadCharacters(absl::string_view text) {
  const char* const begin = text.data();
  const size_t size = text.size();
  const auto shifted = [](uint64_t number, size_t bytes) {
    return number << (8 * bytes);
  };
  if constexpr (std::endian::native == std::endian::little) {
    if (size >= 4) [[likely]] {
      uint32_t first = 0;
      uint32_t last = 0;
      std::memcpy(&first, begin, sizeof(first));
      std::memcpy(&last, begin + size - sizeof(last), sizeof(last));
      return shifted(first | shifted(last, size - 4), 8 - size);
    }
  }
  uint64_t characters = 0;
  for (size_t i = 0; i < size; ++i) {
    characters |= shifted(static_cast<unsigned char>(begin[i]), 8 - size + i);
  }
  return characters;
}

// The number that eight digits are, of which those that are zero before them
// may be no characters at all. nullopt: not all are digits.
[[gnu::always_inline]] inline std::optional<uint32_t> DigitsToNumber(
    uint64_t characters, size_t size) {
  constexpr uint64_t kOnes = 0x0101'0101'0101'0101;
  const size_t foreign = 8 * (8 - size);
  uint64_t digits = ((characters ^ ('0' * kOnes)) >> foreign) << foreign;
  // Some is above 9, or was before the digit.
  if ((((digits + 0x76 * kOnes) | digits) & (0x80 * kOnes)) != 0) {
    return std::nullopt;
  }
  // Neighbours are joined: ones to twos, to fours, to eight.
  // Source: D. Lemire, "Quickly parsing eight digits", 2018.
  digits = (digits * (1 + (uint64_t{10} << 8))) >> 8;
  digits =
      ((digits & 0x00ff'00ff'00ff'00ff) * (1 + (uint64_t{100} << 16))) >> 16;
  digits =
      ((digits & 0x0000'ffff'0000'ffff) * (1 + (uint64_t{10'000} << 32))) >> 32;
  return static_cast<uint32_t>(digits);
}

// Of up to eight characters.
struct EightDigits {
  uint32_t digits = 0;
  // How many of them stand behind a point.
  uint32_t decimals = 0;
};

// Reads digits among which there may be a point, not at either end.
// Requires: `text` has one to eight characters.
[[gnu::always_inline]] inline std::optional<EightDigits> ReadEightDigits(
    absl::string_view text) {
  constexpr uint64_t kOnes = 0x0101'0101'0101'0101;
  uint64_t characters = LoadCharacters(text);
  size_t size = text.size();
  uint32_t decimals = 0;
  // The lowest bit of those set is right: the first byte that is a point.
  const uint64_t marked = characters ^ ('.' * kOnes);
  const uint64_t points = (marked - kOnes) & ~marked & (0x80 * kOnes);
  if (points != 0) {
    const auto at = static_cast<uint32_t>(__builtin_ctzll(points)) / 8;
    decimals = 7 - at;
    --size;
    if (decimals == 0 || decimals == size) return std::nullopt;
    // What stands before the point moves over it.
    const uint64_t before = characters & ((uint64_t{1} << (8 * at)) - 1);
    characters = (characters >> (8 * (at + 1))) << (8 * (at + 1));
    characters |= before << 8;
  }
  const std::optional<uint32_t> number = DigitsToNumber(characters, size);
  if (!number.has_value()) return std::nullopt;
  return EightDigits{.digits = *number, .decimals = decimals};
}

}  // namespace penstock::core
