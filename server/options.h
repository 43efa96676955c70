// How a worker is started.
#pragma once

#include "server/admin/metric_limits.h"
#include "server/security/tls.h"

#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::server {

struct WorkerOptions {
  // `host:port` or `unix:/path`. Without TLS only loopback and Unix sockets are
  // taken unless `insecure` (rule 16).
  std::string listen = "127.0.0.1:7070";
  bool insecure = false;
  TlsOptions tls;
  // Calls of one connection at a time; more wait at the client. A controller
  // has a few for each connector.
  int streams_max = 10'000;
  // Connections to the gRPC port; one more is refused.
  size_t connections_max = 1000;
  // `host:port` of the admin HTTP server; empty: none.
  std::string admin_listen = "127.0.0.1:7071";
  // Connections to that; of more the slowest goes.
  size_t admin_connections_max = 256;
  // Texts of errors on the admin port, which may quote records, also where it
  // does not listen on loopback.
  bool admin_show_errors = false;
  // Of a scrape; families that have no room are left out, and counted. Bytes.
  size_t metrics_bytes_max = kMetricsBytesMax;
  // Where the fence is kept. Must survive restarts of the worker.
  std::string state_dir;
  // Lets others use it at the same time; see StateLock.
  bool share_state_dir = false;
  // Roots that sources and sinks may reach; empty: everything.
  std::vector<std::string> allow_paths;
  // Whether a file source may read this process' standard input.
  bool standard_input = false;
  // Bytes; 0: half of the control group's limit, or of the machine's memory.
  uint64_t memory_max = 0;
  // How long SIGTERM waits for a controller to queue and release the rest.
  absl::Duration drain_timeout = absl::Seconds(20);
  // How long a pipeline may be without a controller before its connectors pause
  // (rule 13), where their specification says nothing; zero: for ever.
  absl::Duration orphan_timeout = absl::ZeroDuration();
  // 0: one for each processor.
  int driver_threads = 0;
  int io_threads = 8;
  std::string log_format = "text";
  std::string log_level = "info";
};

// How a worker process ends. Documented in --help and the README.
enum class ExitCode {
  kOk = 0,
  // Something that no other code says.
  kFailed = 1,
  kUsage = 2,
  // Stored state is damaged; the message says what to do.
  kStateDamaged = 3,
  // Or its state directory is used by another worker.
  kCannotListen = 4,
  // The drain's deadline passed with steps not committed; they come again.
  kDrainIncomplete = 5,
  // A second signal came.
  kInterrupted = 6,
  // A call to a source or sink did not return, and was not waited for.
  kCallHangs = 7,
};

}  // namespace penstock::server
