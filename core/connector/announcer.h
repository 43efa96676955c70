// Tells a connector's observer that there is news, once until it looked.
#pragma once

#include "core/connector/connector.h"

#include <atomic>
#include <memory>
#include <utility>

namespace penstock::core {

// Owner:   shared by the driver and its consumer's callback, which may come
//          after the driver is gone.
// Threads: thread-safe; the rest of the observer is called by the driver only.
class Announcer {
 public:
  explicit Announcer(std::unique_ptr<ConnectorObserver> observer)
      : observer_(std::move(observer)) {}

  // Counters or state changed. Says so unless it was said since Seen.
  void Changed() {
    if (observer_ == nullptr) return;
    if (!said_.exchange(true, std::memory_order_acq_rel)) {
      observer_->OnChanged();
    }
  }
  // A snapshot is being taken: later changes are news again.
  void Seen() { said_.exchange(false, std::memory_order_acq_rel); }

  // May be null.
  ConnectorObserver* observer() { return observer_.get(); }

 private:
  const std::unique_ptr<ConnectorObserver> observer_;
  std::atomic<bool> said_{false};
};

}  // namespace penstock::core
