#include "client/cli/election.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/notification.h"

#include <utility>

namespace penstock::client {

Election::Election(PostgresLeaseOptions options,
                   core::Executor& controller_executor, uint64_t random_seed)
    : lasts_(options.lasts),
      controller_executor_(controller_executor),
      lease_executor_("lease", 1),
      lease_(MakePostgresLease(std::move(options), lease_executor_)) {
  keeper_ = LeaseKeeper::Create(
      *lease_, controller_executor,
      {.on_waiting = [this](const LeaseState& lease) { OnWaiting(lease); },
       .on_held = [this](const LeaseState& lease) { OnHeld(lease); },
       .on_lost = [this](absl::Status why) { OnLost(std::move(why)); },
       .on_failed = [this](absl::Status why) { OnFailed(std::move(why)); }},
      random_seed);
  keeper_->Start();
}

Election::~Election() {
  // Shared with: the answer, which may come later than we wait.
  const auto released = std::make_shared<core::Notification>();
  keeper_->Stop([released](absl::Status status) {
    if (!status.ok()) {
      LOG(WARNING) << "the lease was not released and has to run out: "
                   << core::ErrorText(status);
    }
    released->Notify();
  });
  released->WaitForNotificationWithTimeout(lasts_ / 3);
  keeper_ = nullptr;
  // Behind this no event of it runs.
  core::Notification over;
  controller_executor_.Schedule([&over] { over.Notify(); });
  over.WaitForNotification();
}

Election::View Election::view() const {
  core::MutexLock lock(mu_);
  return view_;
}

void Election::AskAgain() {
  {
    core::MutexLock lock(mu_);
    view_.standing = Standing::kAsking;
  }
  keeper_->Start();
}

void Election::WaitForChange(absl::Duration duration) {
  core::MutexLock lock(mu_);
  changed_.WaitUntil(mu_, core::RealClock().SteadyNow() + duration,
                     [this, before = changes_] {
                       mu_.AssertHeld();
                       return changes_ != before;
                     });
}

bool Election::Lead(uint64_t reign, std::shared_ptr<Controller> controller) {
  core::MutexLock lock(mu_);
  if (view_.standing != Standing::kLeading || view_.reign != reign) {
    return false;
  }
  controller_ = std::move(controller);
  return true;
}

void Election::OnWaiting(const LeaseState& lease) {
  core::MutexLock lock(mu_);
  view_.standing = Standing::kStandby;
  view_.lease = lease;
  ++changes_;
  changed_.NotifyAll();
}

void Election::OnHeld(const LeaseState& lease) {
  core::MutexLock lock(mu_);
  view_.standing = Standing::kLeading;
  view_.lease = lease;
  ++view_.reign;
  ++changes_;
  changed_.NotifyAll();
}

void Election::OnLost(absl::Status why) {
  std::shared_ptr<Controller> controller;
  {
    core::MutexLock lock(mu_);
    view_.standing = Standing::kLost;
    view_.trouble = std::move(why);
    controller = std::move(controller_);
    ++changes_;
    changed_.NotifyAll();
  }
  // Its tasks run on this thread: none runs now, and none begins any more.
  if (controller != nullptr) controller->Drop();
}

void Election::OnFailed(absl::Status why) {
  core::MutexLock lock(mu_);
  view_.standing = Standing::kFailed;
  view_.trouble = std::move(why);
  ++changes_;
  changed_.NotifyAll();
}

}  // namespace penstock::client
