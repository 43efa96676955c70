// The blocks that one source reads into.
#pragma once

#include "core/record/block.h"

#include <cstddef>
#include <memory>

namespace penstock::core {

// A pool that is there only while it is used.
//
// Owner:   a reader. Threads: thread-compatible; blocks may outlive it.
// Bound:   kIdleMax blocks kept: a step gives back up to this many at once.
class Blocks {
 public:
  static constexpr size_t kIdleMax = 16;

  explicit Blocks(size_t block_bytes) : block_bytes_(block_bytes) {}

  // A block of at least `bytes`: a recycled one, or, where much of that would
  // stay empty, a small one of its own: whoever reads many short files holds
  // what is in them.
  BlockRef Get(size_t bytes) {
    if (bytes < block_bytes_ / 4) return std::make_shared<Block>(bytes);
    if (pool_ == nullptr) {
      pool_ = std::make_unique<BlockPool>(BlockPool::Options{
          .block_bytes = block_bytes_, .idle_max = kIdleMax});
    }
    return pool_->Get(bytes);
  }
  size_t block_bytes() const { return block_bytes_; }
  // Frees those kept for reuse.
  void Release() { pool_.reset(); }

 private:
  const size_t block_bytes_;
  std::unique_ptr<BlockPool> pool_;
};

}  // namespace penstock::core
