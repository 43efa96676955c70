// Encoders, routers, batches and listeners for the tests of the handoff.
#pragma once

#include "core/base/error.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack.h"
#include "core/handoff/budget.h"
#include "core/handoff/chunk.h"
#include "core/handoff/shard_queues.h"
#include "core/handoff/sink_handoff.h"
#include "core/record/record_batch.h"
#include "tests/support/fake_clock.h"

#include <absl/strings/string_view.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Remembers what became of each step.
// Threads: confined to the test, except where the test says otherwise.
class RecordingAckListener final : public AckListener {
 public:
  void OnMade(Step step) override { made.push_back(step); }
  void OnAck(Step step, AckStatus worst) override {
    acks.emplace_back(step, worst);
  }
  // nullopt: not resolved. CHECKs that it was resolved once.
  std::optional<AckStatus> Of(Step step) const;

  std::vector<Step> made;
  std::vector<std::pair<Step, AckStatus>> acks;
};

// One record of a batch.
struct TestRow {
  std::string value;
  std::optional<std::string> key = std::nullopt;
  int64_t event_time_ms = RecordMeta::kNoEventTime;
};

// Offsets count from `first_offset`.
RecordBatch MakeBatch(const std::vector<TestRow>& records,
                      uint32_t partition = 0, int64_t first_offset = 0);
RecordBatch MakeBatch(std::initializer_list<const char*> values);

// A row is its length as u32 and its bytes. The length is written before the
// value is looked at, so that a refusal leaves half a row behind:
// "BAD…" is refused, "BROKEN…" breaks the encoder, "THROW…" throws.
class PrefixEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 4 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<PrefixEncoder>();
  }
};

// The rows of a frame of PrefixEncoder. CHECKs that it decodes.
std::vector<std::string> DecodeRows(absl::string_view frame);

// Shared by a BlockEncoder and its clones, for a test to set and look at.
struct BlockEncoderState {
  int fail_finish = 0;
  int throw_finish = 0;
  int finished = 0;
};

// A columnar encoder: holds rows, and writes each block as the number of rows
// and then the rows as PrefixEncoder does. A failing finish writes first.
// "BAD…" is refused, and nothing of it is held; "THROW…" throws before and
// "HALF…" is refused after a part of it is held.
class BlockEncoder final : public ColumnarEncoder {
 public:
  explicit BlockEncoder(std::shared_ptr<BlockEncoderState> state)
      : state_(std::move(state)) {}
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t BufferedBytes() const override { return held_bytes_; }
  absl::Status FinishChunk(FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return 4 + records * 4 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<BlockEncoder>(state_);
  }

 private:
  const std::shared_ptr<BlockEncoderState> state_;
  std::vector<std::string> held_;
  size_t held_bytes_ = 0;
};

// Writes messages: key and value as they stand, and which one of its shard it
// is as the header "n". "BAD…" is refused when half of it is written.
class MessagingEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 64 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<MessagingEncoder>();
  }

 private:
  uint64_t number_ = 0;
};

// The blocks of a frame of BlockEncoder. CHECKs that it decodes.
std::vector<std::vector<std::string>> DecodeBlocks(absl::string_view frame);

// The shard is the first digit of the value; others go to `fallback`.
struct DigitRouter {
  ShardIndex Route(const Record& record, uint32_t /*shards*/) const {
    const char first = record.value->empty() ? 'x' : record.value->front();
    if (first < '0' || first > '9') return fallback;
    return static_cast<ShardIndex>(first - '0');
  }
  ShardIndex fallback = 0;
};

// A handoff with everything around it. Steps are begun with a reservation of
// `reserve` bytes unless told otherwise.
class HandoffHarness {
 public:
  struct Options {
    uint32_t shards = 1;
    size_t queue_items = 8;
    ChunkConfig config;
    uint64_t limit = uint64_t{1} << 20;
    uint64_t reserve = 0;
    // Not null: BlockEncoder encodes.
    std::shared_ptr<BlockEncoderState> blocks = nullptr;
    // MessagingEncoder does.
    bool messages = false;
  };
  explicit HandoffHarness(Options options);

  Handoff& operator*() { return *handoff; }
  Handoff* operator->() { return handoff.get(); }

  void BeginStep(Step step);
  // Pushes values of partition 0, offsets counting on.
  void Push(const std::vector<std::string>& values);
  // A whole step.
  Flow RunStep(Step step, const std::vector<std::string>& values);
  // The next item of a shard. CHECKs that there is one, and of which kind.
  EncodedChunk TakeChunk(ShardIndex shard = 0);
  StepEnd TakeEnd(ShardIndex shard = 0);
  // Everything queued for a shard, as text: "row" per row, "|" between chunks,
  // "#n" for the end of step n. The acks of all of it are delivered.
  std::string Drain(ShardIndex shard = 0);

  const Options options;
  FakeClock clock;
  std::shared_ptr<RecordingAckListener> acks =
      std::make_shared<RecordingAckListener>();
  std::shared_ptr<InflightBudget> budget;
  ShardQueues queues;
  std::unique_ptr<Handoff> handoff;

 private:
  int64_t next_offset_ = 0;
};

}  // namespace penstock::core
