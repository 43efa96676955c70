// What Prometheus sees of a worker, connectors included.
// See server/README.md and deploy/prometheus/METRICS.md.
#pragma once

#include "server/admin/http_server.h"
#include "server/dispatch/dispatcher.h"
#include "server/net/connection_gate.h"
#include "server/security/tls_files.h"

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>

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
};

// Renders all metrics in the text format, from a snapshot of each connector:
// series come and go with their connector.
//
// Threads: thread-safe. Blocks: never for longer than the connectors' short
// locks.
std::string RenderMetrics(const Dispatcher& dispatcher,
                          const WorkerFacts& facts);

// All metrics as a table in Markdown: deploy/prometheus/METRICS.md.
std::string MetricReference();

}  // namespace penstock::server
