// Compressed files for tests.
#pragma once

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// One gzip member.
std::string Gzip(absl::string_view text);
// One zstd frame.
std::string Zstd(absl::string_view text);

}  // namespace penstock::core
