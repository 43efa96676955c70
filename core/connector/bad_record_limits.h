// How many records that cannot be parsed a connector passes over before it
// stops. Upholds INV-11.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

namespace penstock::core {

// Either limit stops it. A plain value.
struct BadRecordLimits {
  uint64_t total_max = UINT64_MAX;
  // Bad ones of all records, once there were `records_min` of them.
  double ratio_max = 1;
  uint64_t records_min = 1'000;
};

// Since the connector was opened. A plain value.
struct RecordsRead {
  uint64_t bad = 0;
  uint64_t good = 0;
};

// Errors: TOO_MANY_BAD_ROWS, naming the limit.
absl::Status CheckBadRecords(const BadRecordLimits& limits, RecordsRead read);

}  // namespace penstock::core
