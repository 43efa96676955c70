// Which of several `penstock run` of one pipeline leads.
#pragma once

#include "client/controller/controller.h"
#include "client/controller/lease.h"
#include "client/controller/lease_keeper.h"
#include "client/controller/postgres_lease.h"
#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/thread_pool_executor.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>

namespace penstock::client {

// Asks for the lease from construction to destruction, until it is lost.
//
// Owner:     the run command; outlived by `controller_executor`, which has one
//            thread. Threads: thread-safe.
// Lifecycle: destruction frees the lease if it is ours. Blocks: a third of it
//            at most. The controller that led must be gone by then.
class Election {
 public:
  enum class Standing {
    // No answer yet.
    kAsking,
    kStandby,
    kLeading,
    // Nothing is asked until AskAgain.
    kLost,
    // A person must look at `trouble`.
    kFailed,
  };
  struct View {
    Standing standing = Standing::kAsking;
    // Counts how often the lease was given to us.
    uint64_t reign = 0;
    // As it was seen last.
    LeaseState lease;
    // Why it failed, or why the last reign ended.
    absl::Status trouble;
  };

  Election(PostgresLeaseOptions options, core::Executor& controller_executor,
           uint64_t random_seed);
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;
  ~Election();

  View view() const ABSL_LOCKS_EXCLUDED(mu_);
  // After a reign was lost.
  void AskAgain() ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: until the view may have changed, at most `duration`.
  void WaitForChange(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mu_);
  // `controller`, which was not started, leads in that reign: it is dropped the
  // moment that ends. False: it has ended.
  [[nodiscard]] bool Lead(uint64_t reign,
                          std::shared_ptr<Controller> controller)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void OnWaiting(const LeaseState& lease) ABSL_LOCKS_EXCLUDED(mu_);
  void OnHeld(const LeaseState& lease) ABSL_LOCKS_EXCLUDED(mu_);
  void OnLost(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  void OnFailed(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);

  const absl::Duration lasts_;
  core::Executor& controller_executor_;
  // A thread of its own: nothing delays a renewal.
  core::ThreadPoolExecutor lease_executor_;
  const std::unique_ptr<Lease> lease_;

  mutable core::Mutex mu_;
  core::CondVar changed_;
  View view_ ABSL_GUARDED_BY(mu_);
  uint64_t changes_ ABSL_GUARDED_BY(mu_) = 0;
  // Shared with: the run command.
  std::shared_ptr<Controller> controller_ ABSL_GUARDED_BY(mu_);

  std::shared_ptr<LeaseKeeper> keeper_;
};

}  // namespace penstock::client
