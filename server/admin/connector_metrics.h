// What Prometheus sees of a worker.
#pragma once

#include "server/dispatch/dispatcher.h"

#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

// Renders all metrics in the text format, from a snapshot of each connector:
// series come and go with their connector. Labels are bounded: connector (at
// most DispatcherOptions::connectors_max), shard, reason, state.
//
// Threads: thread-safe. Blocks: never for longer than the connectors' short
// locks.
std::string RenderMetrics(const Dispatcher& dispatcher, absl::Time started,
                          absl::Time now, uint64_t resident_bytes,
                          const std::string& version);

}  // namespace penstock::server
