// From batches in memory to chunks in shard queues and out of them again:
// route, encode, seal, send, receive, deliver. The splitting of payloads, the
// writing of chunks and the making of batches are not measured.
#include "core/base/byte_order.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack_tracker.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/handoff/budget.h"
#include "core/handoff/shard_queues.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch_builder.h"
#include "core/record/step_hash.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// A row is its length as u32 and its bytes.
inline void AppendRow(absl::string_view value, FrameBuffer& out) {
  char* const to = out.Reserve(4 + value.size());
  StoreLe32(static_cast<uint32_t>(value.size()), to);
  std::copy_n(value.data(), value.size(), to + 4);
  out.Commit(4 + value.size());
}

class PrefixEncoder : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    AppendRow(*record.value, out);
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 4 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<PrefixEncoder>();
  }
};

// Its calls are direct.
class DirectEncoder final : public PrefixEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    AppendRow(*record.value, out);
    return absl::OkStatus();
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<DirectEncoder>();
  }
};

// Copies and drops a handle with each row, as a handoff must whose records
// carry one each. Ours shares one with each chunk.
class AckingEncoder final : public PrefixEncoder {
 public:
  explicit AckingEncoder(const AckRef& step) : step_(step) {}
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    const AckRef share = step_;
    AppendRow(*record.value, out);
    return absl::OkStatus();
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<AckingEncoder>(step_);
  }

 private:
  const AckRef& step_;
};

struct Corpus {
  RecordBatch batch;
  uint64_t encoded_bytes = 0;
};

// Rows of these sizes, each with a key of its own. `digest` is the step hash: a
// corpus that drifted fails instead of being measured.
Corpus MakeCorpus(const std::vector<uint32_t>& sizes, uint64_t digest) {
  uint32_t bytes = 0;
  for (const uint32_t size : sizes) bytes += size;
  auto block = std::make_shared<Block>(bytes);
  for (uint32_t i = 0; i < bytes; ++i) {
    block->data()[i] = static_cast<char>('a' + i % 23);
  }
  RecordBatchBuilder builder(block, 0);
  uint32_t at = 0;
  int64_t number = 0;
  for (const uint32_t size : sizes) {
    RecordEntry entry;
    entry.value_begin = at;
    entry.value_size = size;
    entry.offset = number;
    entry.key_hash = KeyHash(std::to_string(number++));
    entry.has_key_hash = true;
    builder.Add(entry);
    at += size;
  }
  Corpus corpus{.batch = std::move(builder).Build()};
  corpus.encoded_bytes = PrefixEncoder().EstimateBytes(
      corpus.batch.record_count(), corpus.batch.size().bytes);
  StepHasher hasher;
  corpus.batch.HashInto(hasher);
  CHECK_EQ(hasher.Finish().value, digest);
  return corpus;
}

// 512 payloads of 39 bytes, each already split in three: 1,536 rows of 12, 12
// and 13 bytes, 25,088 bytes when encoded.
Corpus SplitCorpus() {
  std::vector<uint32_t> sizes;
  for (int i = 0; i < 512; ++i) sizes.insert(sizes.end(), {12, 12, 13});
  return MakeCorpus(sizes, 7914439599994197780u);
}

// As many rows of 272 bytes: log records as they come.
Corpus LogCorpus() {
  return MakeCorpus(std::vector<uint32_t>(1'536, 272), 11917349006874545349u);
}

// What drivers on several threads share: queues, and behind them a sink that
// takes everything at once.
struct Shared {
  explicit Shared(uint32_t shards)
      : queues(shards, 128), rows_of_shard(shards) {}

  ShardQueues queues;
  std::shared_ptr<InflightBudget> budget =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  std::vector<std::atomic<uint64_t>> rows_of_shard;
};

// What a connector has: an encoder whose calls are virtual.
std::unique_ptr<Handoff> Make(Shared& shared, size_t target_bytes,
                              std::unique_ptr<RowEncoder> encoder) {
  return MakeHandoff(
      std::move(encoder), RouteKind::kKeyHash, shared.queues, shared.budget,
      {.target_bytes = target_bytes, .level = FtModel::kExactlyOnce},
      RealClock());
}

std::unique_ptr<Handoff> MakeDirect(Shared& shared, size_t target_bytes) {
  return std::make_unique<SinkHandoff<DirectEncoder, KeyHashRouter>>(
      std::make_unique<DirectEncoder>(), KeyHashRouter(), shared.queues,
      shared.budget,
      ChunkConfig{.target_bytes = target_bytes, .level = FtModel::kExactlyOnce},
      RealClock());
}

// One driver: its handoff, and its part of the null sink.
class Lane {
 public:
  Lane(Shared& shared, const Corpus& corpus, std::unique_ptr<Handoff> handoff)
      : shared_(shared), corpus_(corpus), handoff_(std::move(handoff)) {}

  // `current`, if any, holds a share of the step while it is encoded.
  [[gnu::noinline]] void RunStep(AckRef* current = nullptr) {
    StepHandle handle = AckTracker::Register(tracker_, steps_++);
    if (current != nullptr) *current = handle.Share();
    handoff_->BeginStep(std::move(handle),
                        *shared_.budget->TryReserve(corpus_.encoded_bytes));
    handoff_->PushBatch(corpus_.batch);
    CHECK(handoff_->EndStep() == Flow::kContinue);
    if (current != nullptr) *current = AckRef();
    // Steps are pipelined: one is being committed while the next is encoded.
    Receive();
    Deliver(committing_);
    committing_.swap(received_);
  }
  void Finish() { Deliver(committing_); }

  Step steps() const { return steps_; }
  Step completed() const { return tracker_->completed(); }
  const HandoffCounters& counters() const { return handoff_->counters(); }

 private:
  void Receive() {
    for (ShardIndex shard = 0; shard < shared_.queues.size(); ++shard) {
      uint64_t rows = 0;
      // As a shard worker does.
      std::vector<ShardItem> items = shared_.queues.at(shard).ReceiveAll();
      for (const ShardItem& item : items) {
        if (const auto* const chunk = std::get_if<EncodedChunk>(&item)) {
          rows += chunk->rows;
        }
      }
      received_.push_back(std::move(items));
      shared_.rows_of_shard[shard].fetch_add(rows, std::memory_order_relaxed);
    }
  }
  static void Deliver(std::vector<std::vector<ShardItem>>& received) {
    for (std::vector<ShardItem>& items : received) {
      for (ShardItem& item : items) {
        std::visit([](auto& any) { std::move(any.acks).Deliver(); }, item);
      }
    }
    received.clear();
  }

  Shared& shared_;
  const Corpus& corpus_;
  const std::shared_ptr<AckTracker> tracker_ =
      std::make_shared<AckTracker>(0, RealClock(), nullptr);
  const std::unique_ptr<Handoff> handoff_;
  Step steps_ = 0;
  // Of each shard, as they were received.
  std::vector<std::vector<ShardItem>> committing_;
  std::vector<std::vector<ShardItem>> received_;
};

void Report(benchmark::State& state, uint64_t rows, uint64_t bytes) {
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.counters["time/row"] = benchmark::Counter(
      static_cast<double>(rows),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Every row went all the way, and every shard had some.
void CheckLane(const Lane& lane, const Corpus& corpus) {
  CHECK_EQ(lane.counters().records_out,
           lane.steps() * corpus.batch.record_count());
  CHECK_EQ(lane.counters().bytes_out, lane.steps() * corpus.encoded_bytes);
}
void CheckShared(const Shared& shared, uint64_t rows) {
  for (const std::atomic<uint64_t>& of_shard : shared.rows_of_shard) {
    CHECK_GT(of_shard.load(), 0u);
    rows -= of_shard.load();
  }
  CHECK_EQ(rows, 0u);
  CHECK_EQ(shared.budget->usage(), 0u);
}

// One step per iteration.
void RunLane(benchmark::State& state, const Corpus& corpus, Shared& shared,
             std::unique_ptr<Handoff> handoff, AckRef* current = nullptr) {
  Lane lane(shared, corpus, std::move(handoff));
  for (auto _ : state) lane.RunStep(current);
  lane.Finish();
  CheckLane(lane, corpus);
  CheckShared(shared, lane.counters().records_out);
  CHECK_EQ(lane.completed(), lane.steps());
  Report(state, lane.counters().records_out, lane.counters().bytes_out);
}

uint32_t Shards(const benchmark::State& state) {
  return static_cast<uint32_t>(state.range(0));
}
// That makes about so many chunks a step and shard.
size_t TargetBytes(const benchmark::State& state, const Corpus& corpus) {
  const auto chunks = static_cast<size_t>(state.range(0) * state.range(1));
  return corpus.encoded_bytes / chunks + 1;
}

void BM_Handoff_Split(benchmark::State& state) {
  const Corpus corpus = SplitCorpus();
  Shared shared(Shards(state));
  RunLane(state, corpus, shared,
          Make(shared, TargetBytes(state, corpus),
               std::make_unique<PrefixEncoder>()));
}
void BM_Handoff_SplitDirect(benchmark::State& state) {
  const Corpus corpus = SplitCorpus();
  Shared shared(Shards(state));
  RunLane(state, corpus, shared,
          MakeDirect(shared, TargetBytes(state, corpus)));
}
void BM_Handoff_SplitAckPerRow(benchmark::State& state) {
  const Corpus corpus = SplitCorpus();
  Shared shared(Shards(state));
  AckRef current;
  RunLane(state, corpus, shared,
          Make(shared, TargetBytes(state, corpus),
               std::make_unique<AckingEncoder>(current)),
          &current);
}
// The same number of steps whatever the time: for counting instructions.
void BM_Handoff_Counted(benchmark::State& state) { BM_Handoff_Split(state); }

void BM_Handoff_Log(benchmark::State& state) {
  const Corpus corpus = LogCorpus();
  Shared shared(Shards(state));
  RunLane(state, corpus, shared,
          Make(shared, static_cast<size_t>(state.range(1)) << 10,
               std::make_unique<PrefixEncoder>()));
}

// The least that can be done: the rows' bytes, copied one after the other into
// as much memory as two steps of chunks take.
void BM_Handoff_LogFloor(benchmark::State& state) {
  const Corpus corpus = LogCorpus();
  std::vector<FrameBuffer> frames;
  for (int i = 0; i < 2; ++i) frames.emplace_back(corpus.encoded_bytes);
  uint64_t steps = 0;
  for (auto _ : state) {
    FrameBuffer& frame = frames[steps++ % 2];
    frame.Truncate(0);
    for (size_t i = 0; i < corpus.batch.record_count(); ++i) {
      AppendRow(*corpus.batch.At(i).value, frame);
    }
    benchmark::DoNotOptimize(frame.view().data());
  }
  CHECK_EQ(frames[0].size(), corpus.encoded_bytes);
  Report(state, steps * corpus.batch.record_count(),
         steps * corpus.encoded_bytes);
}

// Two drivers, whose chunks go to the same queues and out of the same budget;
// what one of them sent the other may receive. Processor time, of both.
std::unique_ptr<Shared> g_shared;

void BM_Handoff_Threads(benchmark::State& state) {
  const Corpus corpus = SplitCorpus();
  Lane lane(*g_shared, corpus,
            Make(*g_shared, TargetBytes(state, corpus),
                 std::make_unique<PrefixEncoder>()));
  for (auto _ : state) lane.RunStep();
  lane.Finish();
  CheckLane(lane, corpus);
  Report(state, lane.counters().records_out, lane.counters().bytes_out);
}
void SetUpThreads(const benchmark::State& state) {
  g_shared = std::make_unique<Shared>(Shards(state));
}
void TearDownThreads(const benchmark::State& /*state*/) {
  for (const std::atomic<uint64_t>& rows : g_shared->rows_of_shard) {
    CHECK_GT(rows.load(), 0u);
  }
  g_shared.reset();
}

// Shards, and chunks a step and shard.
void Split(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"shards", "seals"});
  benchmark->Args({1, 1})->Args({1, 2})->Args({1, 16})->Args({4, 1});
  benchmark->Args({16, 1});
}
// Chunks of 8 KiB are sealed several times a step, those of 256 KiB at its end.
void Log(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"shards", "chunk_kib"});
  benchmark->ArgsProduct({{1, 4, 16}, {8, 256}});
}

BENCHMARK(BM_Handoff_Split)->Apply(Split);
BENCHMARK(BM_Handoff_SplitDirect)->Apply(Split);
BENCHMARK(BM_Handoff_SplitAckPerRow)->Apply(Split);
BENCHMARK(BM_Handoff_Counted)->Apply(Split)->Iterations(100);
BENCHMARK(BM_Handoff_Log)->Apply(Log);
BENCHMARK(BM_Handoff_LogFloor);
BENCHMARK(BM_Handoff_Threads)
    ->ArgNames({"shards", "seals"})
    ->Args({2, 1})
    ->Args({2, 16})
    ->Threads(1)
    ->Threads(2)
    ->Setup(SetUpThreads)
    ->Teardown(TearDownThreads);

}  // namespace
}  // namespace penstock::core
