#include "core/handoff/frame_pool.h"

#include "core/base/check.h"

namespace penstock::core {

FramePool::FramePool(Options options) : options_(options) {
  CHECK_GT(options.frame_bytes, 0u);
}

FrameBuffer FramePool::Take() {
  {
    MutexLock lock(mu_);
    ++out_;
    if (!idle_.empty()) {
      FrameBuffer buffer = std::move(idle_.back());
      idle_.pop_back();
      return buffer;
    }
  }
  return FrameBuffer(options_.frame_bytes);
}

void FramePool::Return(FrameBuffer buffer) {
  // Freed without the lock.
  std::vector<FrameBuffer> unneeded;
  MutexLock lock(mu_);
  CHECK_GT(out_, 0u);
  --out_;
  if (out_ == 0) {
    unneeded.swap(idle_);
    return;
  }
  if (buffer.capacity() < options_.frame_bytes ||
      buffer.capacity() > 2 * options_.frame_bytes ||
      idle_.size() >= options_.idle_max) {
    return;
  }
  buffer.Truncate(0);
  idle_.push_back(std::move(buffer));
}

size_t FramePool::idle() const {
  MutexLock lock(mu_);
  return idle_.size();
}

size_t FramePool::out() const {
  MutexLock lock(mu_);
  return out_;
}

SealedFrame& SealedFrame::operator=(SealedFrame&& other) noexcept {
  if (this != &other) {
    Release();
    buffer_ = std::move(other.buffer_);
    pool_ = std::move(other.pool_);
  }
  return *this;
}

void SealedFrame::Release() {
  const std::shared_ptr<FramePool> pool = std::move(pool_);
  if (pool != nullptr) pool->Return(std::move(buffer_));
  buffer_ = FrameBuffer();
}

}  // namespace penstock::core
