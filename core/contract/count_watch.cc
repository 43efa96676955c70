#include "core/contract/count_watch.h"

#include <utility>

namespace penstock::core {

uint64_t CountWatch::value() const {
  MutexLock lock(mu_);
  return value_;
}

void CountWatch::Advance(uint64_t value) {
  MutexLock lock(mu_);
  if (value <= value_) return;
  value_ = value;
  due_ = true;
  Notify();
}

void CountWatch::Repeat() {
  MutexLock lock(mu_);
  due_ = true;
  Notify();
}

void CountWatch::Notify() {
  // Whoever notifies already goes on to what is due now.
  if (notifying_) return;
  notifying_ = true;
  while (due_) {
    due_ = false;
    const uint64_t value = value_;
    std::vector<std::shared_ptr<Callback>> callbacks = LiveSubscribers();
    mu_.Unlock();
    for (const std::shared_ptr<Callback>& callback : callbacks) {
      (*callback)(value);
    }
    // A callback dies here if its token went meanwhile.
    callbacks.clear();
    mu_.Lock();
  }
  notifying_ = false;
}

std::shared_ptr<void> CountWatch::Subscribe(Callback callback) {
  auto token = std::make_shared<Callback>(std::move(callback));
  std::vector<std::shared_ptr<Callback>> live;
  MutexLock lock(mu_);
  // Forgets the dead ones, so that a watch without progress stays bounded.
  live = LiveSubscribers();
  subscribers_.push_back(token);
  return token;
}

std::vector<std::shared_ptr<CountWatch::Callback>>
CountWatch::LiveSubscribers() {
  std::vector<std::shared_ptr<Callback>> live;
  live.reserve(subscribers_.size());
  std::erase_if(subscribers_, [&live](const std::weak_ptr<Callback>& entry) {
    std::shared_ptr<Callback> callback = entry.lock();
    if (callback == nullptr) return true;
    live.push_back(std::move(callback));
    return false;
  });
  return live;
}

}  // namespace penstock::core
