#include "core/format/ndjson/json_token.h"

#include "core/base/check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace penstock::core {
namespace {

// How far `text` has digits from `at` on.
size_t DigitsEnd(absl::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// The decimal exponent of the first digit that is not zero: 0 for 1 to 9.
// Saturates far beyond any double. Requires: a good number, not zero.
int64_t Magnitude(absl::string_view number) {
  constexpr int64_t kFar = 1'000'000'000;
  const size_t e = number.find_first_of("eE");
  absl::string_view digits = number.substr(0, e);
  if (digits.front() == '-') digits.remove_prefix(1);
  const size_t point = std::min(digits.find('.'), digits.size());
  const size_t first = digits.find_first_of("123456789");
  CHECK_NE(first, absl::string_view::npos) << number;
  const auto place = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  absl::string_view exponent_text = number.substr(e + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  int64_t exponent = 0;
  const std::from_chars_result parsed =
      std::from_chars(exponent_text.data(),
                      exponent_text.data() + exponent_text.size(), exponent);
  if (parsed.ec != std::errc()) {
    exponent = exponent_text.front() == '-' ? -kFar : kFar;
  }
  return std::clamp(exponent, -kFar, kFar) + (place > 0 ? place - 1 : place);
}

// Requires: a good number with an exponent.
bool ExceedsDouble(absl::string_view number) {
  double value = 0;
  const std::from_chars_result parsed =
      std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec == std::errc()) return std::isinf(value);
  // Too large, or so small that it is as good as zero, which is no fault.
  return Magnitude(number) > 0;
}

// The value of four hexadecimal digits; false: they are not.
bool ReadHex4(absl::string_view text, char32_t& value) {
  if (text.size() < 4) return false;
  value = 0;
  for (const char c : text.substr(0, 4)) {
    char32_t digit;
    if (IsDigit(c)) {
      digit = static_cast<char32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<char32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<char32_t>(c - 'A' + 10);
    } else {
      return false;
    }
    value = value * 16 + digit;
  }
  return true;
}

bool IsHighSurrogate(char32_t c) { return c >= 0xd800 && c <= 0xdbff; }
bool IsLowSurrogate(char32_t c) { return c >= 0xdc00 && c <= 0xdfff; }

JsonEscape ReadUnicodeEscape(absl::string_view text) {
  char32_t first;
  if (!ReadHex4(text.substr(2), first)) return {JsonFault::kSyntax, 2, 0};
  if (IsLowSurrogate(first)) return {JsonFault::kInvalidUnicode, 6, 0};
  if (!IsHighSurrogate(first)) return {JsonFault::kNone, 6, first};
  char32_t second;
  if (text.substr(6, 2) != "\\u" || !ReadHex4(text.substr(8), second) ||
      !IsLowSurrogate(second)) {
    return {JsonFault::kInvalidUnicode, 6, 0};
  }
  return {JsonFault::kNone, 12,
          0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)};
}

// Returns: behind what was written.
char* WriteUtf8(char32_t c, char* to) {
  const auto write = [&to](char32_t byte) {
    *to++ = static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) {
    write(c);
  } else if (c < 0x800) {
    write(0xc0 | (c >> 6));
    write(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    write(0xe0 | (c >> 12));
    write(0x80 | ((c >> 6) & 0x3f));
    write(0x80 | (c & 0x3f));
  } else {
    write(0xf0 | (c >> 18));
    write(0x80 | ((c >> 12) & 0x3f));
    write(0x80 | ((c >> 6) & 0x3f));
    write(0x80 | (c & 0x3f));
  }
  return to;
}

}  // namespace

bool IsJsonBlank(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsJsonBlank(c); });
}

JsonNumber ReadJsonNumber(absl::string_view text) {
  size_t at = 0;
  if (at < text.size() && text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else {
    const size_t end = DigitsEnd(text, at);
    if (end == at) return {JsonFault::kSyntax, at};
    at = end;
  }
  if (at < text.size() && text[at] == '.') {
    const size_t end = DigitsEnd(text, at + 1);
    if (end == at + 1) return {JsonFault::kSyntax, end};
    at = end;
  }
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) {
    return {JsonFault::kNone, at};
  }
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  const size_t end = DigitsEnd(text, at);
  if (end == at) return {JsonFault::kSyntax, at};
  return {ExceedsDouble(text.substr(0, end)) ? JsonFault::kOutOfRange
                                             : JsonFault::kNone,
          end};
}

JsonEscape ReadJsonEscape(absl::string_view text) {
  if (text.size() < 2) return {JsonFault::kSyntax, 1, 0};
  switch (text[1]) {
    case '"':
    case '\\':
    case '/':
      return {JsonFault::kNone, 2, static_cast<char32_t>(text[1])};
    case 'b':
      return {JsonFault::kNone, 2, '\b'};
    case 'f':
      return {JsonFault::kNone, 2, '\f'};
    case 'n':
      return {JsonFault::kNone, 2, '\n'};
    case 'r':
      return {JsonFault::kNone, 2, '\r'};
    case 't':
      return {JsonFault::kNone, 2, '\t'};
    case 'u':
      return ReadUnicodeEscape(text);
    default:
      return {JsonFault::kSyntax, 1, 0};
  }
}

bool JsonEscapesAreGood(absl::string_view text, size_t first) {
  for (size_t at = first; at != absl::string_view::npos;) {
    const JsonEscape escape = ReadJsonEscape(text.substr(at));
    if (escape.fault != JsonFault::kNone) return false;
    at = text.find('\\', at + escape.size);
  }
  return true;
}

std::string JsonUnescape(absl::string_view content) {
  std::string text(content.size(), '\0');
  text.resize(JsonUnescapeTo(content, text.data()));
  return text;
}

size_t JsonUnescapeTo(absl::string_view content, char* to) {
  char* const begin = to;
  while (!content.empty()) {
    const size_t plain = std::min(content.find('\\'), content.size());
    to = std::copy_n(content.data(), plain, to);
    content.remove_prefix(plain);
    if (content.empty()) break;
    const JsonEscape escape = ReadJsonEscape(content);
    CHECK(escape.fault == JsonFault::kNone) << content.substr(0, 12);
    to = WriteUtf8(escape.code_point, to);
    content.remove_prefix(escape.size);
  }
  return static_cast<size_t>(to - begin);
}

}  // namespace penstock::core
