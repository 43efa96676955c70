// What Prometheus sees of a worker, connectors included.
// See server/README.md and deploy/prometheus/METRICS.md.
#pragma once

#include "core/contract/measured.h"
#include "server/admin/http_server.h"
#include "server/admin/metric_limits.h"
#include "server/dispatch/dispatcher.h"
#include "server/net/connection_gate.h"
#include "server/security/tls_files.h"

#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {

// What the process uses, as the kernel counts it. A plain value.
struct ProcessUsage {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_files = 0;
  uint64_t open_files_max = 0;
  uint64_t threads = 0;
};
// Blocks: as reading /proc does. What cannot be read is 0.
ProcessUsage ReadProcessUsage(core::FileSystem& files);

// What is known only outside of the dispatcher. A plain value.
struct WorkerFacts {
  std::string version;
  absl::Time started;
  absl::Time now;
  ProcessUsage usage;
  // nullopt: no TLS.
  std::optional<TlsFilesState> tls_files;
  ConnectionGate::Counts clients = {};
  HttpServer::Counts admin_clients = {};
  // Of the text.
  size_t metrics_bytes_max = kMetricsBytesMax;
};

// Renders all metrics in the text format, from a snapshot of each connector:
// series come and go with their connector. Families that have no room are left
// out, those of most detail first, and counted in
// `penstock_metrics_families_left_out`.
//
// Threads: thread-safe. Blocks: never for longer than the connectors' short
// locks.
std::string RenderMetrics(const Dispatcher& dispatcher,
                          const WorkerFacts& facts);

// What each source may measure of itself, by its name.
using SourceMeasures = std::map<std::string, std::vector<core::Measure>>;

// All metrics as tables in Markdown: deploy/prometheus/METRICS.md.
std::string MetricReference(const SourceMeasures& sources);

}  // namespace penstock::server
