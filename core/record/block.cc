#include "core/record/block.h"

#include "core/base/check.h"

#include <utility>
#include <vector>

namespace penstock::core {

struct BlockPool::Shared {
  explicit Shared(const Options& pool_options) : options(pool_options) {}

  const Options options;
  Mutex mu;
  std::vector<std::unique_ptr<Block>> idle ABSL_GUARDED_BY(mu);
  bool closed ABSL_GUARDED_BY(mu) = false;
};

BlockPool::BlockPool(Options options)
    : shared_(std::make_shared<Shared>(options)) {
  CHECK_GT(options.block_bytes, size_t{0});
}

BlockPool::~BlockPool() {
  // Blocks in use are freed by their last holder from now on; the idle ones
  // here, outside the lock.
  std::vector<std::unique_ptr<Block>> idle;
  MutexLock lock(shared_->mu);
  shared_->closed = true;
  idle.swap(shared_->idle);
}

BlockRef BlockPool::Get(size_t bytes_min) {
  if (bytes_min > shared_->options.block_bytes) {
    return std::make_shared<Block>(bytes_min);
  }
  std::unique_ptr<Block> block;
  {
    MutexLock lock(shared_->mu);
    if (!shared_->idle.empty()) {
      block = std::move(shared_->idle.back());
      shared_->idle.pop_back();
    }
  }
  if (block == nullptr) {
    block = std::make_unique<Block>(shared_->options.block_bytes);
  }
  return BlockRef(block.release(), [shared = shared_](Block* used) {
    std::unique_ptr<Block> owned(used);
    MutexLock lock(shared->mu);
    if (shared->closed || shared->idle.size() >= shared->options.idle_max) {
      return;
    }
    shared->idle.push_back(std::move(owned));
  });
}

size_t BlockPool::idle_count() const {
  MutexLock lock(shared_->mu);
  return shared_->idle.size();
}

}  // namespace penstock::core
