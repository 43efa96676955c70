// Any bytes in a format, in several ways that must come to the same.
#pragma once

#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

// Those that FuzzFormat knows.
std::vector<std::string> FuzzedFormats();

// Splits and parses `data` whole, in reads of a size that its first byte says,
// and by two parsers, the second of which goes on at a boundary; then the same
// with records that are too long. CHECKs that all give the same, and that
// records and bad records are as many as were counted.
// Requires: a name of FuzzedFormats.
void FuzzFormat(absl::string_view format, absl::string_view data);

}  // namespace penstock::core
