// The small pieces of JSON: numbers, literals, escapes.
// Source: RFC 8259.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

// Deepest nesting of arrays and objects; deeper lines are bad records.
inline constexpr uint32_t kJsonDepthMax = 256;

enum class JsonFault : uint8_t {
  kNone,
  kSyntax,
  // A complete value, then something that is no white space.
  kTrailingData,
  kInvalidUtf8,
  // An escaped half of a surrogate pair without its other half.
  kInvalidUnicode,
  // A number with an exponent, beyond the range of a double.
  kOutOfRange,
  kTooDeep,
};

inline bool IsJsonBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether `text` has nothing but white space, or nothing.
bool IsJsonBlank(absl::string_view text);

// A number at the beginning of a text.
struct JsonNumber {
  // kNone, kSyntax or kOutOfRange.
  JsonFault fault = JsonFault::kNone;
  // Bytes of the number; on kSyntax those up to the wrong one.
  size_t size = 0;
};
// Integers and decimals without exponent are good whatever their length: they
// are passed on digit by digit. With an exponent, what no double can hold
// ("1e400") is kOutOfRange, for a reader would make it infinite.
JsonNumber ReadJsonNumber(absl::string_view text);

// An escape sequence at the beginning of a text.
struct JsonEscape {
  // kNone, kSyntax or kInvalidUnicode.
  JsonFault fault = JsonFault::kNone;
  // Bytes of it: 2, 6, or 12 for a surrogate pair.
  uint8_t size = 0;
  char32_t code_point = 0;
};
// Requires: text begins with a backslash.
JsonEscape ReadJsonEscape(absl::string_view text);

// Whether every escape in `text` is good, from the backslash at `first` on.
// Requires: every backslash is inside of a string.
bool JsonEscapesAreGood(absl::string_view text, size_t first);

// The text of a string of which `content` stands between the quotes; it is
// never longer.
// Requires: the content is that of a good string.
std::string JsonUnescape(absl::string_view content);
// The same, written at `to`, where there is room for content.size() bytes.
// Returns: its size.
size_t JsonUnescapeTo(absl::string_view content, char* to);

}  // namespace penstock::core
