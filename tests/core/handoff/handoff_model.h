// What a handoff must do, said in the plainest way: lists, and no memory, locks
// or encodings. For the property test to compare with.
#pragma once

#include "core/handoff/sink_handoff.h"
#include "core/record/step.h"

#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace penstock::core {

// Threads: confined to a test.
class HandoffModel {
 public:
  enum class Encoding { kRows, kBlocks, kMessages };
  // What an encoder does with a row. kHalf and kNowhere as in the fixtures:
  // refused by a columnar encoder that keeps a part; no shard is named.
  enum class Fault { kNone, kBad, kThrow, kBroken, kHalf, kNowhere };
  struct Options {
    uint32_t shards = 1;
    size_t queue_items = 1;
    ChunkConfig config;
    Encoding encoding = Encoding::kRows;
    uint64_t reserve = 0;
  };
  struct Row {
    Step step = 0;
    std::string text;
  };
  // A chunk, or without rows a StepEnd.
  struct Item {
    std::vector<Row> rows;
    // Ascending: the last one is the item's.
    std::vector<Step> steps;
    uint32_t index = 0;
    uint64_t lease = 0;
    absl::Time oldest;
  };

  explicit HandoffModel(Options options);

  void BeginStep(Step step);
  void Push(ShardIndex shard, std::string text, Fault fault, absl::Time now);
  Flow EndStep();
  Flow Relieve();
  Flow FlushTerminal();
  absl::Time FlushAged(absl::Time now);
  // The finish after `finishes` - 1 further ones fails.
  void FailFinish(int finishes) { fail_finish_ = finishes; }
  void Close(ShardIndex shard) { shards_[shard].closed = true; }
  // Requires: something is queued.
  Item Receive(ShardIndex shard);
  // What was received is delivered, or dropped.
  void Settle(const Item& item, bool delivered);
  void DropHandoff();
  void DropQueues();

  const HandoffCounters& counters() const { return counters_; }
  bool fatal() const { return fatal_; }
  bool in_step() const { return in_step_; }
  size_t parked(ShardIndex shard) const { return shards_[shard].parked.size(); }
  size_t queued(ShardIndex shard) const { return shards_[shard].queue.size(); }
  uint64_t usage() const { return usage_; }
  uint64_t overdrafts() const { return overdrafts_; }
  size_t begun() const { return steps_.size(); }
  size_t made() const { return made_; }
  size_t resolved() const { return resolved_; }
  // Requires: it is resolved.
  AckStatus FateOf(Step step) const;

 private:
  struct StepState {
    // Chunks, StepEnds, unsealed rows of a shard, and the driver's handle.
    int holders = 0;
    bool failed = false;
  };
  struct Shard {
    std::vector<Row> open;
    std::vector<Step> open_steps;
    uint64_t open_bytes = 0;
    absl::Time open_since;
    uint64_t lease = 0;
    uint64_t accepted = 0;
    uint32_t chunks_of_step = 0;
    std::deque<Item> parked;
    std::deque<Item> queue;
    bool closed = false;
  };

  bool exactly_once() const;
  uint64_t RowBytes(const Shard& shard, const std::string& text) const;
  void Refuse(const Shard& shard, Fault fault);
  void Seal(Shard& shard);
  uint64_t TakeLease(Shard& shard, uint64_t bytes);
  void Send(Shard& shard, Item item);
  void Poison();
  void Hold(Step step) { ++steps_[step].holders; }
  void LetGo(Step step, bool failed);
  void DropOpen(Shard& shard);
  void DropAll(std::deque<Item>& items);
  size_t parked_total() const;

  const Options options_;
  std::vector<Shard> shards_;
  std::map<Step, StepState> steps_;
  HandoffCounters counters_;
  bool fatal_ = false;
  bool in_step_ = false;
  bool has_handle_ = false;
  Step step_ = 0;
  uint64_t reservation_ = 0;
  uint64_t usage_ = 0;
  uint64_t overdrafts_ = 0;
  int fail_finish_ = 0;
  size_t made_ = 0;
  size_t resolved_ = 0;
};

}  // namespace penstock::core
