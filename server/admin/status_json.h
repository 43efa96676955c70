// What the status page shows, as JSON.
// See server/README.md.
#pragma once

#include "server/dispatch/dispatcher.h"

#include <absl/time/time.h>

#include <cstdint>
#include <string>

namespace penstock::server {

// What is known only outside of the dispatcher. A plain value.
struct StatusFacts {
  std::string version;
  std::string run_id;
  absl::Time started;
  absl::Time now;
  uint64_t resident_bytes = 0;
  // Texts of errors, which may quote records; otherwise where there are some.
  bool shows_texts = true;
};

// `dispatcher`: null while the worker starts. One object: `worker`, and
// `connectors` in the order of their names. Counts are totals, from which the
// page makes rates. Of each connector the newest errors, cut short.
//
// Threads: thread-safe. Blocks: as RenderMetrics.
std::string StatusJson(const Dispatcher* dispatcher, const StatusFacts& facts);

// "/healthz": a line for all, and with `verbose` one for each connector, with
// the reason if `shows_texts`.
struct HealthReport {
  // No connector's condition is other than OK, and the worker does not drain.
  bool is_well = true;
  std::string text;
};
HealthReport ReportHealth(const Dispatcher& dispatcher, bool verbose,
                          bool shows_texts, absl::Time now);

}  // namespace penstock::server
