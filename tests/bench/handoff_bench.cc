// From batches in memory to chunks in shard queues and out of them again, on
// one thread: route, encode, seal, send, receive, deliver. The splitting of
// payloads, the writing of chunks and the making of batches are not measured.
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

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// A row is its length as u32 and its bytes.
class PrefixEncoder final : public RowEncoder {
 public:
  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    const size_t size = record.value->size();
    char* const to = out.Reserve(4 + size);
    StoreLe32(static_cast<uint32_t>(size), to);
    std::copy_n(record.value->data(), size, to + 4);
    out.Commit(4 + size);
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return records * 4 + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<PrefixEncoder>();
  }
};

// 512 payloads of 39 bytes, each already split in three: 1,536 rows of 12, 12
// and 13 bytes, 25,088 bytes when encoded.
std::vector<uint32_t> SplitRowSizes() {
  std::vector<uint32_t> sizes;
  for (int i = 0; i < 512; ++i) sizes.insert(sizes.end(), {12, 12, 13});
  return sizes;
}

// As many rows of 272 bytes: log records as they come.
std::vector<uint32_t> LogRowSizes() {
  return std::vector<uint32_t>(1'536, 272);
}

// Each row has a key of its own.
RecordBatch MakeBatch(const std::vector<uint32_t>& sizes) {
  uint32_t bytes = 0;
  for (const uint32_t size : sizes) bytes += size;
  auto block = std::make_shared<Block>(bytes);
  std::fill_n(block->data(), bytes, 'x');
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
  return std::move(builder).Build();
}

// One step per iteration. `Encoder` is PrefixEncoder, whose calls are direct,
// or RowEncoder, whose calls are virtual.
template <typename Encoder>
void PushSeal(benchmark::State& state, const std::vector<uint32_t>& sizes) {
  const auto shards = static_cast<uint32_t>(state.range(0));
  const RecordBatch batch = MakeBatch(sizes);
  const uint64_t encoded =
      PrefixEncoder().EstimateBytes(batch.record_count(), batch.size().bytes);
  ShardQueues queues(shards, 64);
  const auto budget =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  const auto tracker = std::make_shared<AckTracker>(0, RealClock(), nullptr);
  ChunkConfig config;
  config.target_bytes = static_cast<size_t>(state.range(1)) << 10;
  config.level = FtModel::kExactlyOnce;
  SinkHandoff<Encoder, KeyHashRouter> handoff(std::make_unique<PrefixEncoder>(),
                                              KeyHashRouter(), queues, budget,
                                              config, RealClock());
  Step step = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  const auto deliver = [&](std::vector<ShardItem>& items) {
    for (ShardItem& item : items) {
      if (auto* const chunk = std::get_if<EncodedChunk>(&item)) {
        rows += chunk->rows;
        bytes += chunk->frame.size();
        std::move(chunk->acks).Deliver();
      } else {
        std::move(std::get<StepEnd>(item).acks).Deliver();
      }
    }
    items.clear();
  };
  // Steps are pipelined: one is being committed while the next is encoded.
  std::vector<ShardItem> committing;
  std::vector<ShardItem> flushed;
  for (auto _ : state) {
    handoff.BeginStep(AckTracker::Register(tracker, step++),
                      *budget->TryReserve(encoded));
    handoff.PushBatch(batch);
    CHECK(handoff.EndStep() == Flow::kContinue);
    for (ShardIndex shard = 0; shard < shards; ++shard) {
      while (std::optional<ShardItem> item = queues.at(shard).TryReceive()) {
        flushed.push_back(*std::move(item));
      }
    }
    deliver(committing);
    committing.swap(flushed);
  }
  deliver(committing);
  // Every row went all the way.
  CHECK_EQ(rows, step * batch.record_count());
  CHECK_EQ(bytes, step * encoded);
  CHECK_EQ(tracker->completed(), step);
  CHECK_EQ(budget->usage(), 0u);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.counters["time/row"] = benchmark::Counter(
      static_cast<double>(rows),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Handoff_PushSeal(benchmark::State& state) {
  PushSeal<PrefixEncoder>(state, SplitRowSizes());
}
void BM_Handoff_PushSealVirtual(benchmark::State& state) {
  PushSeal<RowEncoder>(state, SplitRowSizes());
}
void BM_Handoff_PushSealLog(benchmark::State& state) {
  PushSeal<PrefixEncoder>(state, LogRowSizes());
}
void BM_Handoff_PushSealLogVirtual(benchmark::State& state) {
  PushSeal<RowEncoder>(state, LogRowSizes());
}

// Chunks of 8 KiB are sealed several times a step, those of 256 KiB at its end.
void Arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"shards", "chunk_kib"});
  for (const int64_t shards : {1, 4, 16}) {
    for (const int64_t chunk_kib : {8, 256}) {
      benchmark->Args({shards, chunk_kib});
    }
  }
}

BENCHMARK(BM_Handoff_PushSeal)->Apply(Arguments);
BENCHMARK(BM_Handoff_PushSealVirtual)->Apply(Arguments);
BENCHMARK(BM_Handoff_PushSealLog)->Apply(Arguments);
BENCHMARK(BM_Handoff_PushSealLogVirtual)->Apply(Arguments);

}  // namespace
}  // namespace penstock::core
