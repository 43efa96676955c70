// google.protobuf.Timestamp and Duration: their ranges and their text.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::core {

// Of the years 1 to 9999.
bool IsProtobufTimestamp(int64_t seconds, int32_t nanos);
// Appends "2026-01-31T23:59:59.500Z". Requires: IsProtobufTimestamp.
void PrintProtobufTimestamp(int64_t seconds, int32_t nanos, std::string& to);

// Appends "-1.500s". False: it is beyond ten thousand years, or its parts have
// two signs.
bool PrintProtobufDuration(int64_t seconds, int32_t nanos, std::string& to);

}  // namespace penstock::core
