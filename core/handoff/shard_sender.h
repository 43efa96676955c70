// Sends to shard queues in order, and parks what they do not take.
// See core/handoff/README.md; upholds INV-4 and INV-5.
#pragma once

#include "core/handoff/chunk.h"
#include "core/handoff/shard_queues.h"
#include "core/record/step.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace penstock::core {

// Ours: the seed parks in one list for all shards, and sends past it. Here each
// shard has its own, and nothing is sent to a shard while older items of it are
// parked: neither a chunk nor a StepEnd overtakes (INV-4), and a full shard
// holds back no other.
//
// Owner:   a handoff. Threads: confined to it.
// Bound:   what is parked is within its lease (StepEnds: one per shard and
//          outstanding step). Dropping this fails the acks of what is parked.
class ShardSender {
 public:
  // `queues` outlives this.
  explicit ShardSender(ShardQueues& queues);

  // kSent; kFull: parked; kClosed: refused, for nobody will ever take it: the
  // caller drops it, and its acks fail. Blocks: never.
  SendResult Send(ShardIndex shard, ShardItem&& item);
  // Sends what is parked, each shard by itself as far as its queue takes it.
  // kSent: nothing is parked any more; kFull: something is; kClosed: a queue
  // with something parked is closed, and that was dropped.
  SendResult Relieve();
  // Drops what is parked of `step`, the last one sent: its acks fail.
  void DropLast(Step step);

  size_t parked(ShardIndex shard) const { return parked_[shard].size(); }
  size_t parked_total() const { return parked_total_; }

 private:
  SendResult RelieveShard(ShardIndex shard);

  ShardQueues& queues_;
  std::vector<std::deque<ShardItem>> parked_;
  size_t parked_total_ = 0;
};

}  // namespace penstock::core
