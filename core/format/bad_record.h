// What every format says of a record that it cannot use.
#pragma once

#include "core/contract/parse_error.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

// Longest `ParseError::invalid_text`, in bytes.
inline constexpr size_t kInvalidTextBytesMax = 4096;

// The beginning of `text`, at most kInvalidTextBytesMax bytes, cut where no
// UTF-8 character is torn (of text that is no UTF-8, anywhere).
std::string CutInvalidText(absl::string_view text);

// A short piece of text for a message: cut to 64 bytes in the same way, then
// "…", and control characters written as \xNN.
std::string ShowText(absl::string_view text);

// The error of a record longer than `record_bytes_max`, tag "record_too_large".
// Numbers, line and offset are left for the caller. `text` may be the beginning
// only.
ParseError RecordTooLarge(absl::string_view text, size_t record_bytes_max);

}  // namespace penstock::core
