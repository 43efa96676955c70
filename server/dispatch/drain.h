// The orderly end of connectors (rule 13).
// See server/dispatch/README.md; upholds INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/connector/connector.h"
#include "core/connector/control.h"
#include "server/dispatch/pipeline_fences.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <memory>
#include <vector>

namespace penstock::server {

// In whose name a connector is drained.
struct DrainFence {
  // Shared by: the dispatcher and this.
  std::shared_ptr<PipelineFences> fences;
  core::Fence fence;
};

// Stops the readers, leaves the controller until `deadline` to queue, release
// and commit, then disconnects what is left. `done` once, shortly after the
// deadline at the latest: how each connector ended, in order of name. Between
// its looks it holds none of them: one that is deleted meanwhile has ended.
// Threads: runs on `executor`. Blocks: never.
void DrainAll(
    const std::vector<std::shared_ptr<core::Connector>>& connectors,
    core::Executor& executor, absl::Duration deadline,
    absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done);

// The same for one connector, by its controller: as soon as another one took
// over the drain is over, and what became of the connector is that one's.
void DrainOne(const std::shared_ptr<core::Connector>& connector, DrainFence by,
              core::Executor& executor, absl::Duration deadline,
              core::Control::Reply<core::DrainedConnector> done);

}  // namespace penstock::server
