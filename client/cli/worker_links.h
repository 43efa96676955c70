// The workers of a run, wherever the pipeline file says they are now.
// See client/README.md.
#pragma once

#include "client/client.h"
#include "client/controller/roaming_control.h"
#include "client/pipeline_file.h"
#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::client {

// Owner:     the run command. Threads: confined to its thread, but for the
//            controls, which are thread-safe.
// Lifecycle: outlives the controller that uses the controls.
// Bound:     a connection for each address of each worker.
class WorkerLinks {
 public:
  // Blocks: never; connections are made when they are used.
  // Errors: INVALID_CONFIG, as Client::Connect.
  static absl::StatusOr<std::unique_ptr<WorkerLinks>> Connect(
      const std::vector<PipelineWorker>& workers, const ClientOptions& options);

  // In the order of `workers`.
  std::vector<core::Control*> controls() const;
  // What may be left at addresses that are not in use.
  std::vector<SweepPlace> Elsewhere() const;

  // Reads the pipeline file again if a second has passed since the last time:
  // a worker that came back elsewhere is found by an edit of the file, without
  // a restart. Only addresses of workers are taken over, by the workers' names;
  // all else waits for the next run. Returns: a line for people, or nothing: a
  // worker moved, or the file is wrong now and everything stays as it is.
  std::string Follow(core::FileSystem& files, const std::string& path,
                     absl::Time steady_now);

 private:
  struct Link {
    std::string name;
    std::vector<std::string> addresses;
    std::unique_ptr<RoamingControl> control;
  };

  std::string Take(const PipelineFile& file);

  std::vector<Link> links_;
  // Of the file, as it was read last.
  absl::Time looked_ = absl::InfinitePast();
  std::string text_;
};

}  // namespace penstock::client
