#include "core/compress/compression.h"

#include <absl/strings/match.h>

#include <algorithm>

namespace penstock::core {
namespace {

constexpr absl::string_view kGzipMagic("\x1f\x8b\x08", 3);
constexpr absl::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);
// Behind a first byte from 0x50 to 0x5f.
constexpr absl::string_view kSkippableTail("\x2a\x4d\x18", 3);

// Whether one of the two is the beginning of the other.
bool Agree(absl::string_view a, absl::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return a.substr(0, size) == b.substr(0, size);
}

bool IsSkippable(absl::string_view beginning) {
  return !beginning.empty() && (beginning[0] & 0xf0) == 0x50 &&
         Agree(beginning.substr(1), kSkippableTail);
}

}  // namespace

std::optional<Compression> DetectCompression(absl::string_view beginning) {
  if (absl::StartsWith(beginning, kGzipMagic)) return Compression::kGzip;
  if (beginning.size() >= kMagicBytesMax) {
    const bool is_zstd =
        absl::StartsWith(beginning, kZstdMagic) || IsSkippable(beginning);
    return is_zstd ? Compression::kZstd : Compression::kNone;
  }
  const bool is_open = Agree(beginning, kGzipMagic) ||
                       Agree(beginning, kZstdMagic) || IsSkippable(beginning);
  if (is_open) return std::nullopt;
  return Compression::kNone;
}

}  // namespace penstock::core
