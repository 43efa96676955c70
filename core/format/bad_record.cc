#include "core/format/bad_record.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {
namespace {

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

std::string CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  // A character has at most three continuation bytes.
  while (end > bytes_max - 3 && IsContinuation(text[end])) --end;
  if (IsContinuation(text[end])) end = bytes_max;
  return std::string(text.substr(0, end));
}

std::string CutInvalidText(absl::string_view text) {
  return CutText(text, kInvalidTextBytesMax);
}

ParseError RecordTooLarge(absl::string_view text, size_t record_bytes_max) {
  ParseError error;
  error.tag = "record_too_large";
  error.description =
      absl::StrCat("the record is longer than ", record_bytes_max, " bytes");
  error.invalid_text = CutInvalidText(text);
  error.suggestion =
      "raise limits.record_bytes_max, or see whether line ends are missing";
  return error;
}

}  // namespace penstock::core
