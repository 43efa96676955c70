// A whole worker, put together.
#pragma once

#include "server/options.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace penstock::server {

// Owns everything: executors, dispatcher, gRPC server, admin server.
//
// Owner:     main, or a test.
// Threads:   thread-safe.
// Lifecycle: serves from Start; Drain ends it in order; the destructor ends it
//            at once, as a crash would for the connectors.
class App {
 public:
  // Errors: INVALID_CONFIG (options), STATE_DAMAGED (fence), UNAVAILABLE (an
  // address). ExitCodeOf maps them.
  static absl::StatusOr<std::unique_ptr<App>> Start(WorkerOptions options);
  virtual ~App() = default;

  // Stops readers, refuses opens, waits until `drain_timeout` for the rest to
  // be queued, released and committed, then stops serving. Blocks until done.
  // Returns whether everything was committed.
  virtual bool Drain() = 0;
  // The gRPC port (0 for a Unix socket) and the admin port (0: none).
  virtual int port() const = 0;
  virtual int admin_port() const = 0;
};

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace penstock::server
