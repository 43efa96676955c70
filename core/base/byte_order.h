// Fixed-width little-endian integers in bytes, whatever the machine.
#pragma once

#include <absl/strings/string_view.h>

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>

namespace penstock::core {

namespace internal {
template <std::unsigned_integral T>
constexpr T LittleEndian(T value) {
  if constexpr (std::endian::native == std::endian::big) {
    T swapped = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      swapped = static_cast<T>((swapped << 8) | (value & 0xff));
      value = static_cast<T>(value >> 8);
    }
    return swapped;
  }
  return value;
}
}  // namespace internal

// Stores sizeof(T) bytes at `to`, which need not be aligned.
template <std::unsigned_integral T>
void StoreLe(T value, char* to) {
  value = internal::LittleEndian(value);
  std::memcpy(to, &value, sizeof(T));
}

// Loads sizeof(T) bytes from `from`, which need not be aligned.
template <std::unsigned_integral T>
T LoadLe(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return internal::LittleEndian(value);
}

template <std::unsigned_integral T>
void AppendLe(T value, std::string& to) {
  char bytes[sizeof(T)];
  StoreLe(value, bytes);
  to.append(bytes, sizeof(T));
}

// Takes a T from the front of `from`. False, and nothing taken, if too short.
template <std::unsigned_integral T>
[[nodiscard]] bool ConsumeLe(absl::string_view& from, T& value) {
  if (from.size() < sizeof(T)) return false;
  value = LoadLe<T>(from.data());
  from.remove_prefix(sizeof(T));
  return true;
}

inline void StoreLe32(uint32_t value, char* to) { StoreLe(value, to); }
inline void StoreLe64(uint64_t value, char* to) { StoreLe(value, to); }
inline uint32_t LoadLe32(const char* from) { return LoadLe<uint32_t>(from); }
inline uint64_t LoadLe64(const char* from) { return LoadLe<uint64_t>(from); }
inline void AppendLe32(uint32_t v, std::string& to) { AppendLe(v, to); }
inline void AppendLe64(uint64_t v, std::string& to) { AppendLe(v, to); }

}  // namespace penstock::core
