// JSON strings from arbitrary bytes.
#pragma once

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Appends `text` to `to` as a JSON string with its quotes. Control characters,
// quotes and backslashes are escaped; each byte that is not part of
// well-formed UTF-8 becomes U+FFFD, so that the result always is valid JSON.
void AppendJsonString(absl::string_view text, std::string& to);

// Whether all of `text` is well-formed UTF-8, so that it comes back unchanged
// from the JSON string that AppendJsonString makes.
bool IsUtf8(absl::string_view text);

}  // namespace penstock::core
