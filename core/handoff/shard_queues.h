// Bounded queues of sealed chunks, one per shard.
// See core/handoff/README.md; upholds INV-4 and INV-5.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/base/mutex.h"
#include "core/handoff/chunk.h"

namespace penstock::core {

enum class SendResult { kSent, kFull, kClosed };

// One shard's queue: FIFO of chunks and StepEnds.
//
// Owner:     ShardQueues; outlives its senders and its worker.
// Threads:   thread-safe. Any handoff sends, one worker receives.
// Lifecycle: open, closed by either end, drained. It never reopens.
// Bound:     `items_max`, fixed at construction.
class ShardQueue {
 public:
  explicit ShardQueue(size_t items_max);

  // Offers `item`. Blocks: never. kSent: moved from. Otherwise untouched.
  [[nodiscard]] SendResult TrySend(ShardItem&& item);
  std::optional<ShardItem> TryReceive();
  // Takes everything that is queued.
  std::vector<ShardItem> ReceiveAll();
  void Close();
  size_t size() const;
  size_t items_max() const { return items_max_; }
  uint64_t full_events() const;
  bool is_closed() const;

  // `on_items`: called after a send made the queue non-empty; `on_room`: after
  // a receive from a queue that had refused. Outside the lock; must only
  // record. Set before use.
  void SetCallbacks(absl::AnyInvocable<void()> on_items,
                    absl::AnyInvocable<void()> on_room);

 private:
  const size_t items_max_;
  absl::AnyInvocable<void()> on_items_;
  absl::AnyInvocable<void()> on_room_;
  mutable Mutex mu_;
  std::deque<ShardItem> items_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool refused_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t full_events_ ABSL_GUARDED_BY(mu_) = 0;
};

// Seed type: `ShardQueues` (`num_shards`, `try_send`). Owner: the connector.
class ShardQueues {
 public:
  ShardQueues(uint32_t shards, size_t items_max);
  uint32_t size() const { return static_cast<uint32_t>(queues_.size()); }
  ShardQueue& at(ShardIndex shard) { return *queues_[shard]; }
  void CloseAll();

 private:
  std::vector<std::unique_ptr<ShardQueue>> queues_;
};

}  // namespace penstock::core
