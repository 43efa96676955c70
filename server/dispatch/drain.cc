#include "server/dispatch/drain.h"

#include "core/base/mutex.h"
#include "core/base/strand.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

// How often a drain looks whether everything has left.
constexpr absl::Duration kLook = absl::Milliseconds(50);
// What disconnecting may take once the deadline has passed.
constexpr absl::Duration kDisconnect = absl::Seconds(2);

// Whether there is nothing left that waiting could save.
bool IsEmpty(const core::ConnectorStatus& status) {
  if (status.state == core::ConnectorState::kClosed) return true;
  if (status.state == core::ConnectorState::kFailed) {
    return status.completed_steps >= status.released_steps;
  }
  return status.queued.IsEmpty() && !status.running_step.has_value() &&
         status.completed_steps >= status.made_steps;
}

// A connector that is being drained. Its owner may let go of it between two
// looks: whoever waits for a drain holds up no connector's end.
struct Drained {
  std::string name;
  std::string instance;
  std::weak_ptr<core::Connector> connector;

  bool IsEmpty() const {
    const auto held = connector.lock();
    return held == nullptr || server::IsEmpty(held->Status());
  }
};

// Shared by: its own tasks.
class Drain : public std::enable_shared_from_this<Drain> {
 public:
  // Without `by` it is the worker's.
  Drain(const std::vector<std::shared_ptr<core::Connector>>& connectors,
        std::optional<DrainFence> by, core::Executor& executor,
        absl::Duration deadline,
        absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done)
      : by_(std::move(by)),
        deadline_(executor.clock().SteadyNow() + deadline),
        executor_(executor),
        done_(std::move(done)) {
    for (const auto& connector : connectors) {
      const core::ConnectorStatus status = connector->Status();
      connectors_.push_back({status.name, status.instance, connector});
    }
  }

  void Start() {
    for (const Drained& drained : connectors_) {
      const auto connector = drained.connector.lock();
      if (connector == nullptr) continue;
      connector->Drain(by_.has_value() ? core::DrainScope::kConnector
                                       : core::DrainScope::kWorker,
                       [](absl::Status) {});
    }
    Look();
  }

 private:
  void Look() {
    const bool empty =
        std::all_of(connectors_.begin(), connectors_.end(),
                    [](const Drained& drained) { return drained.IsEmpty(); });
    const bool over = by_.has_value() && !by_->fences->IsCurrent(by_->fence);
    if (empty || over || executor_.clock().SteadyNow() >= deadline_) {
      return End();
    }
    executor_.ScheduleAfter(kLook,
                            [self = shared_from_this()] { self->Look(); });
  }

  void End() {
    if (connectors_.empty()) return done_({});
    {
      core::MutexLock lock(mu_);
      outstanding_ = connectors_.size();
    }
    if (!by_.has_value()) return DisconnectAll();
    // While the pass is held no takeover ends: whoever takes over finds the
    // connector closed, or it is left alone.
    by_->fences->Enter(by_->fence,
                       [self = shared_from_this()](
                           const absl::StatusOr<PipelineFences::Pass>& pass) {
                         if (pass.ok()) return self->DisconnectAll();
                         self->LeaveAll(pass.status());
                       });
  }

  void LeaveAll(const absl::Status& why) {
    for (const Drained& drained : connectors_) {
      const auto connector = drained.connector.lock();
      Disconnected({.connector = drained.name,
                    .instance = drained.instance,
                    .reply = why,
                    .unqueued = connector == nullptr
                                    ? core::BufferSize{}
                                    : connector->Status().queued});
    }
  }

  void DisconnectAll() {
    for (const Drained& drained : connectors_) {
      const auto connector = drained.connector.lock();
      if (connector == nullptr) {
        // Who let go of it has told its controller what it left.
        Disconnected({.connector = drained.name,
                      .instance = drained.instance,
                      .reply = core::DisconnectReply{.connector = drained.name},
                      .unqueued = {}});
        continue;
      }
      connector->Disconnect(core::DisconnectRequest{.deadline = kDisconnect},
                            [self = shared_from_this(), drained,
                             unqueued = connector->Status().queued](
                                absl::StatusOr<core::DisconnectReply> reply) {
                              self->Disconnected({.connector = drained.name,
                                                  .instance = drained.instance,
                                                  .reply = std::move(reply),
                                                  .unqueued = unqueued});
                            });
    }
  }

  void Disconnected(core::DrainedConnector drained) {
    {
      core::MutexLock lock(mu_);
      drained_.push_back(std::move(drained));
      if (--outstanding_ > 0) return;
    }
    std::sort(
        drained_.begin(), drained_.end(),
        [](const auto& a, const auto& b) { return a.connector < b.connector; });
    done_(std::move(drained_));
  }

  std::vector<Drained> connectors_;
  const std::optional<DrainFence> by_;
  const absl::Time deadline_;
  core::Executor& executor_;
  absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done_;
  core::Mutex mu_;
  size_t outstanding_ ABSL_GUARDED_BY(mu_) = 0;
  // Guarded by mu_ until the last reply came.
  std::vector<core::DrainedConnector> drained_;
};

}  // namespace

void DrainAll(
    const std::vector<std::shared_ptr<core::Connector>>& connectors,
    core::Executor& executor, absl::Duration deadline,
    absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done) {
  std::make_shared<Drain>(connectors, std::nullopt, executor, deadline,
                          std::move(done))
      ->Start();
}

void DrainOne(const std::shared_ptr<core::Connector>& connector, DrainFence by,
              core::Executor& executor, absl::Duration deadline,
              core::Control::Reply<core::DrainedConnector> done) {
  std::make_shared<Drain>(
      std::vector{connector}, std::move(by), executor, deadline,
      [done = std::move(done)](
          std::vector<core::DrainedConnector> drained) mutable {
        done(std::move(drained.front()));
      })
      ->Start();
}

}  // namespace penstock::server
