// The forms of names that the proto comments state.
#pragma once

#include <absl/strings/string_view.h>

namespace penstock::wire {

// 1 to 128 characters of [A-Za-z0-9._-], the first one a letter or digit.
bool IsName(absl::string_view text);
inline constexpr absl::string_view kNameForm =
    "must be 1 to 128 characters of [A-Za-z0-9._-], the first one a letter or "
    "digit";

// 8 to 64 bytes of printable ASCII.
bool IsNonce(absl::string_view text);
// 8 to 64 characters of [A-Za-z0-9_-].
bool IsIncarnation(absl::string_view text);

}  // namespace penstock::wire
