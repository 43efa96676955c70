// Shared memory that records are views into.
#pragma once

#include "core/base/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock::core {

class BlockPool;

// A fixed piece of memory that a source reads into once and that every record
// cut from it views.
//
// Owner:     shared by the RecordBatches (and slices of them) that view it; it
//            returns to its pool with the last of them.
// Threads:   thread-compatible: one writer fills it before it is shared; from
//            then on it is only read.
// Bound:     `capacity` bytes, fixed.
class Block {
 public:
  explicit Block(size_t capacity)
      : data_(std::make_unique_for_overwrite<char[]>(capacity)),
        capacity_(capacity) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  const std::unique_ptr<char[]> data_;
  const size_t capacity_;
};

// Shared by: every batch and slice that views the block.
using BlockRef = std::shared_ptr<Block>;

// Recycles blocks of one size, so that steady reading allocates none.
//
// Owner:     a source reader; blocks may outlive it (they are then freed).
// Threads:   thread-safe.
// Bound:     keeps at most `idle_max` blocks while unused. It does not bound
//            the blocks in use: the InputQueue and the budget do.
class BlockPool {
 public:
  struct Options {
    // Bytes of a standard block.
    size_t block_bytes = size_t{1} << 20;
    size_t idle_max = 8;
  };
  explicit BlockPool(Options options);
  ~BlockPool();

  // A block of at least `bytes_min` bytes: a recycled one where the standard
  // size suffices, otherwise one of its own that is freed after use. Its bytes
  // are not initialised. Blocks: never.
  BlockRef Get(size_t bytes_min = 0);
  // Blocks kept for reuse, at most `idle_max`.
  size_t idle_count() const;

 private:
  struct Shared;
  // Shared by: this pool and the deleters of the blocks it gave out.
  std::shared_ptr<Shared> shared_;
};

}  // namespace penstock::core
