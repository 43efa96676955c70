// Text for fields of type `string`, which must be UTF-8: protobuf refuses to
// parse anything else.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <string>

namespace penstock::wire {

inline constexpr size_t kNoLimit = static_cast<size_t>(-1);

// `text` with each byte that is not part of well-formed UTF-8 replaced by
// U+FFFD, cut at a character's end to at most `bytes_max` bytes.
std::string ToUtf8(absl::string_view text, size_t bytes_max = kNoLimit);

}  // namespace penstock::wire
