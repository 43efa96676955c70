#include "server/rpc/session_outbound.h"

namespace penstock::server {

void SessionOutbound::Push(v1::WorkerMessage message) {
  const size_t bytes = message.ByteSizeLong();
  {
    core::MutexLock lock(mu_);
    if (closed_ || overflowed_) return;
    if (bytes_ + bytes > bytes_max_ && !items_.empty()) {
      overflowed_ = true;
    } else {
      bytes_ += bytes;
      items_.push_back({.message = std::move(message), .bytes = bytes});
    }
    if (std::exchange(woken_, true)) return;
  }
  wake_();
}

void SessionOutbound::Wake() { wake_(); }

bool SessionOutbound::Take(v1::SessionResponse& batch) {
  batch.clear_messages();
  core::MutexLock lock(mu_);
  woken_ = false;
  size_t taken = 0;
  while (!items_.empty() && taken < kBatchBytes) {
    taken += items_.front().bytes;
    *batch.add_messages() = std::move(items_.front().message);
    items_.pop_front();
  }
  bytes_ -= taken;
  return taken > 0;
}

void SessionOutbound::Close() {
  core::MutexLock lock(mu_);
  closed_ = true;
  items_.clear();
  bytes_ = 0;
}

size_t SessionOutbound::bytes() const {
  core::MutexLock lock(mu_);
  return bytes_;
}

bool SessionOutbound::overflowed() const {
  core::MutexLock lock(mu_);
  return overflowed_;
}

}  // namespace penstock::server
