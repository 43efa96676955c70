#include "core/format/bad_record.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

namespace penstock::core {
namespace {

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Requires: bytes_max >= 4.
std::string CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  // A character has at most three continuation bytes.
  while (end > bytes_max - 3 && IsContinuation(text[end])) --end;
  if (IsContinuation(text[end])) end = bytes_max;
  return std::string(text.substr(0, end));
}

}  // namespace

std::string CutInvalidText(absl::string_view text) {
  return CutText(text, kInvalidTextBytesMax);
}

std::string ShowText(absl::string_view text) {
  constexpr size_t kShownBytesMax = 64;
  std::string shown;
  for (const char c : CutText(text, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&shown, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      shown.push_back(c);
    }
  }
  if (text.size() > kShownBytesMax) shown += "…";
  return shown;
}

ParseError RecordTooLarge(absl::string_view text, size_t record_bytes_max) {
  ParseError error;
  error.tag = "record_too_large";
  error.description =
      absl::StrCat("the record is longer than ", record_bytes_max, " bytes");
  error.invalid_text = CutInvalidText(text);
  error.suggestion =
      "raise limits.record_bytes_max, or see whether what ends a record is "
      "missing";
  return error;
}

}  // namespace penstock::core
