// What the parts of one controller share, and what a session tells upwards.
#pragma once

#include "client/controller/controller.h"
#include "client/controller/task_scope.h"
#include "core/base/random.h"
#include "core/connector/requests.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace penstock::client {

class ConnectorSession;
class StoreCommitter;

// Owner: the controller. Threads: confined to its strand.
struct ControllerContext {
  ControllerContext(ControllerOptions used_options, core::Executor& executor)
      : options(std::move(used_options)),
        tasks(executor),
        random{options.random_seed} {}

  // False: the controller was destroyed there, do nothing more.
  [[nodiscard]] bool Pass(FaultPoint point, const std::string& connector) {
    if (fault_hook) fault_hook(point, connector);
    return !tasks.closed();
  }
  // Unique over all controllers of a pipeline, because the epoch is.
  std::string NewRequestId() {
    return absl::StrCat("e", fence.epoch, "-", ++requests, "-",
                        core::RandomId(random));
  }

  const ControllerOptions options;
  TaskScope tasks;
  core::Random random;
  // Set once the epoch was taken.
  core::Fence fence;
  std::string incarnation;
  uint64_t requests = 0;
  absl::AnyInvocable<void(FaultPoint, const std::string&)> fault_hook;
};

// Implemented by the controller and, in tests, by a recorder.
// Threads: confined to the controller's strand. Journal acts at once; the
//          others only take note and act from a task of their own.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  // A step arrived: journal it, then session.OnJournaled.
  virtual void Journal(ConnectorSession& session,
                       std::shared_ptr<const core::StepResult> result) = 0;
  // A checkpoint would help now.
  virtual void WantCheckpoint() = 0;
  // Something that Progress() shows, or that an end waits for, has changed.
  virtual void OnProgress(ConnectorSession& session) = 0;
  // The worker says that another controller leads. The session waits.
  virtual void OnFenced(absl::Status status) = 0;
};

}  // namespace penstock::client
