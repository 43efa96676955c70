// A flag that is raised once and can be waited for.
#pragma once

#include "core/base/mutex.h"

#include <absl/time/time.h>

namespace penstock::core {

// Threads:   thread-safe. It may be destroyed as soon as every wait returned,
//            also while Notify has not.
// Lifecycle: raised once, never lowered.
class Notification {
 public:
  Notification() = default;
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;
  ~Notification();

  // Requires: not called before. Everything done before it is visible to those
  // who saw the notification.
  void Notify() ABSL_LOCKS_EXCLUDED(mu_);
  bool HasBeenNotified() const ABSL_LOCKS_EXCLUDED(mu_);

  // Blocks: until Notify.
  void WaitForNotification() const ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: until Notify, at most for `timeout` of real time.
  // Returns: whether it has been notified.
  bool WaitForNotificationWithTimeout(absl::Duration timeout) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  mutable CondVar raised_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::core
