#include "core/base/notification.h"

#include "core/base/check.h"
#include "core/base/clock.h"

namespace penstock::core {

Notification::~Notification() {
  // Lets a Notify that has just woken us leave the mutex.
  MutexLock lock(mu_);
}

void Notification::Notify() {
  MutexLock lock(mu_);
  CHECK(!notified_) << "a notification is raised once";
  notified_ = true;
  // Under the lock: a waiter that returned may destroy this object.
  raised_.NotifyAll();
}

bool Notification::HasBeenNotified() const {
  MutexLock lock(mu_);
  return notified_;
}

void Notification::WaitForNotification() const {
  MutexLock lock(mu_);
  raised_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return notified_;
  });
}

bool Notification::WaitForNotificationWithTimeout(
    absl::Duration timeout) const {
  const absl::Time deadline = RealClock().SteadyNow() + timeout;
  MutexLock lock(mu_);
  return raised_.WaitUntil(mu_, deadline, [this] {
    mu_.AssertHeld();
    return notified_;
  });
}

}  // namespace penstock::core
