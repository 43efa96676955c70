// How a file is compressed, told by its first bytes.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>

namespace penstock::core {

enum class Compression { kNone, kGzip, kZstd };

// Bytes that DetectCompression needs at most.
inline constexpr size_t kMagicBytesMax = 4;

// What a file that begins with `beginning` is. nullopt: these are all bytes
// that there are so far, and more could make it either.
// Source: RFC 1952 (1f 8b, method 8), RFC 8878 (frames and skippable frames).
std::optional<Compression> DetectCompression(absl::string_view beginning);

}  // namespace penstock::core
