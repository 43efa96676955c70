// Ends what a worker still hosts of a pipeline and should not.
// See client/controller/README.md.
#pragma once

#include "client/controller/backoff.h"
#include "client/controller/controller_context.h"
#include "client/controller/task_scope.h"
#include "core/connector/control.h"
#include "core/connector/requests.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <set>
#include <string>
#include <vector>

namespace penstock::client {

// A connector that the pipeline file moved to another worker, or has no longer,
// stays open where it was: fenced, so that it can do no harm, but holding its
// memory, its sessions and its name. This looks once at each start what there
// is, and deletes it; a worker that is away is asked until it answers, and
// holds nobody up meanwhile (INV-13). Of a worker with several addresses it
// asks the one in use: what stands at another one, as of a process that was cut
// off, or at a worker that the file does not have any more, is left alone.
//
// Owner:   the controller, one for each worker.
// Threads: confined to its strand.
// Bound:   one call outstanding.
class WorkerSweep {
 public:
  // All outlive it. `keeps`: the connectors that belong there.
  WorkerSweep(core::Control& worker, std::set<std::string> keeps,
              ControllerContext& context)
      : worker_(worker),
        keeps_(std::move(keeps)),
        context_(context),
        backoff_(context.random),
        timer_(context.tasks) {}

  void Look();

 private:
  void OnListed(absl::StatusOr<std::vector<core::ConnectorStatus>> statuses);
  void DeleteNext();
  void OnDeleted(const absl::Status& status);
  void LookLater();

  core::Control& worker_;
  const std::set<std::string> keeps_;
  ControllerContext& context_;
  Backoff backoff_;
  ScopedTimer timer_;
  std::vector<std::string> strangers_;
};

}  // namespace penstock::client
