#include "core/base/json_text.h"

#include <absl/strings/str_format.h>

#include <cstdint>

namespace penstock::core {
namespace {

uint8_t ByteAt(absl::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

// The length of the well-formed UTF-8 sequence at the front of `text`, or 0.
// Source: The Unicode Standard 15, table 3-7 (no surrogates, nothing overlong,
// nothing above U+10FFFF).
size_t Utf8Length(absl::string_view text) {
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  if (ByteAt(text, 1) < low || ByteAt(text, 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((ByteAt(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

void AppendEscaped(char c, std::string& to) {
  switch (c) {
    case '"':
      to.append("\\\"");
      return;
    case '\\':
      to.append("\\\\");
      return;
    case '\n':
      to.append("\\n");
      return;
    case '\r':
      to.append("\\r");
      return;
    case '\t':
      to.append("\\t");
      return;
    default:
      break;
  }
  if (static_cast<uint8_t>(c) < 0x20) {
    absl::StrAppendFormat(&to, "\\u%04x", static_cast<unsigned>(c));
  } else {
    to.push_back(c);
  }
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string& to) {
  to.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      to.append("\xEF\xBF\xBD");
      text.remove_prefix(1);
      continue;
    }
    if (length == 1) {
      AppendEscaped(text[0], to);
    } else {
      to.append(text.data(), length);
    }
    text.remove_prefix(length);
  }
  to.push_back('"');
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace penstock::core
