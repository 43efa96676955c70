// How long a scrape may be.
#pragma once

#include <cstddef>

namespace penstock::server {

// Unless told otherwise; a thousand connectors at work are below it. Bytes.
inline constexpr size_t kMetricsBytesMax = 5'000'000;
// All of the worker itself is far below it. Bytes.
inline constexpr size_t kMetricsBytesMaxMin = 100'000;

}  // namespace penstock::server
