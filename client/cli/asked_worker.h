// The worker that a question goes to.
#pragma once

#include "client/cli/local_worker.h"
#include "client/cli/worker_query.h"
#include "client/client.h"

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::client {

// The one that was named, or one of the command's own for as long as it takes:
// so that what this installation can do is answered without a worker running.
//
// Owner:     one command. Threads: confined to its thread.
// Lifecycle: its own worker, and that worker's state, end with it.
class AskedWorker {
 public:
  // `named`: empty target: a worker of its own. Blocks: until that one serves,
  // at most 20 s. Errors: as Client::Connect and LocalWorker::Start.
  static absl::StatusOr<std::unique_ptr<AskedWorker>> Find(
      const WorkerTarget& named);
  ~AskedWorker();
  AskedWorker(const AskedWorker&) = delete;
  AskedWorker& operator=(const AskedWorker&) = delete;

  Client& client() { return *client_; }
  // As it was named, or whose it is.
  const WorkerTarget& target() const { return target_; }

 private:
  AskedWorker() = default;
  absl::Status StartOwn();

  WorkerTarget target_;
  std::string state_dir_;
  std::unique_ptr<LocalWorker> own_;
  std::unique_ptr<Client> client_;
};

}  // namespace penstock::client
