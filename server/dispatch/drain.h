// The orderly end of all connectors of a worker (rule 13).
#pragma once

#include "core/base/executor.h"
#include "core/connector/connector.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <memory>
#include <vector>

namespace penstock::server {

// Stops the readers, leaves the controller until `deadline` to queue, release
// and commit, then disconnects what is left. `done` once, shortly after the
// deadline at the latest: how each connector ended, in order of name.
// Threads: runs on `executor`. Blocks: never.
void DrainAll(
    std::vector<std::shared_ptr<core::Connector>> connectors,
    core::Executor& executor, absl::Duration deadline,
    absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done);

}  // namespace penstock::server
