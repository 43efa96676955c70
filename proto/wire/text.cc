#include "proto/wire/text.h"

#include <cstdint>

namespace penstock::wire {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";

uint8_t ByteAt(absl::string_view text, size_t i) {
  return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
}

bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Length of the well-formed character that `text` begins with, 0 if there is
// none. Source: Unicode 15, table 3-7.
size_t CharacterLength(absl::string_view text) {
  const uint8_t b0 = ByteAt(text, 0);
  const uint8_t b1 = ByteAt(text, 1);
  if (b0 < 0x80) return 1;
  if (b0 < 0xC2 || b0 > 0xF4) return 0;
  if (!IsContinuation(b1)) return 0;
  if (b0 < 0xE0) return 2;
  if (!IsContinuation(ByteAt(text, 2))) return 0;
  if (b0 < 0xF0) {
    const bool overlong = b0 == 0xE0 && b1 < 0xA0;
    const bool surrogate = b0 == 0xED && b1 > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (!IsContinuation(ByteAt(text, 3))) return 0;
  const bool overlong = b0 == 0xF0 && b1 < 0x90;
  const bool too_high = b0 == 0xF4 && b1 > 0x8F;
  return overlong || too_high ? 0 : 4;
}

}  // namespace

std::string ToUtf8(absl::string_view text, size_t bytes_max) {
  std::string result;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const absl::string_view next =
        length > 0 ? text.substr(0, length) : kReplacement;
    if (next.size() > bytes_max - result.size()) break;
    result.append(next.data(), next.size());
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace penstock::wire
