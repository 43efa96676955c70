// Bounded queues of sealed chunks, one per shard.
// See core/handoff/README.md; upholds INV-4 and INV-5.
#pragma once

#include "core/base/mutex.h"
#include "core/handoff/chunk.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

enum class SendResult { kSent, kFull, kClosed };

// One shard's queue: FIFO of chunks and StepEnds.
//
// Owner:     ShardQueues; outlives its senders and its worker.
// Threads:   thread-safe. Any handoff sends, one worker receives.
// Lifecycle: open, closed by either end, drained. It never reopens.
// Bound:     `items_max`, fixed at construction; allocates nothing later.
class ShardQueue {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // Requires: items_max > 0.
  explicit ShardQueue(size_t items_max);
  ShardQueue(const ShardQueue&) = delete;
  ShardQueue& operator=(const ShardQueue&) = delete;

  // Offers `item`. Blocks: never. kSent: moved from. Otherwise untouched, with
  // its acks and its lease. Ensures: one sender's items leave in its order.
  [[nodiscard]] SendResult TrySend(ShardItem&& item);
  std::optional<ShardItem> TryReceive();
  // Takes everything that is queued.
  std::vector<ShardItem> ReceiveAll();
  // Nothing is taken in any more; what is queued can still be received.
  void Close();
  size_t size() const;
  size_t items_max() const { return items_max_; }
  // How often an item was refused because the queue was full.
  uint64_t full_events() const;
  bool is_closed() const;

  // `on_items` runs after a send made the queue non-empty: the shard worker
  // sets it. `on_room` runs after a receive from a queue that had refused: who
  // drives the handoff sets it. Outside the lock; must only record. Each set
  // at most once, before the first send; callable from any thread.
  void SetOnItems(Callback on_items);
  void SetOnRoom(Callback on_room);

 private:
  // Requires: place < 2 * items_max.
  size_t Wrapped(size_t place) const {
    return place < items_max_ ? place : place - items_max_;
  }

  const size_t items_max_;
  Callback on_items_;
  Callback on_room_;
  mutable Mutex mu_;
  // A ring: `count_` items from `head_` on.
  std::vector<ShardItem> ring_ ABSL_GUARDED_BY(mu_);
  size_t head_ ABSL_GUARDED_BY(mu_) = 0;
  size_t count_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool refused_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t full_events_ ABSL_GUARDED_BY(mu_) = 0;
};

// Seed type: `ShardQueues` (`num_shards`, `try_send`). Owner: the connector.
class ShardQueues {
 public:
  // Requires: shards > 0, items_max > 0.
  ShardQueues(uint32_t shards, size_t items_max);
  uint32_t size() const { return static_cast<uint32_t>(queues_.size()); }
  // Requires: shard < size().
  ShardQueue& at(ShardIndex shard) { return *queues_[shard]; }
  void CloseAll();

 private:
  std::vector<std::unique_ptr<ShardQueue>> queues_;
};

}  // namespace penstock::core
