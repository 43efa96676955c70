// What happens to each record between parser and handoff: the step hash, the
// view, the split, the queue. One block of 1 MiB holds about 4,000 records of
// 272 bytes.
#include "core/contract/consumer.h"
#include "core/queue/input_queue.h"
#include "core/record/block.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch.h"
#include "core/record/record_batch_builder.h"
#include "core/record/step_hash.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <benchmark/benchmark.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr uint32_t kKeyBytes = 12;

// A full block of records of `record_bytes`, the key being the first bytes.
std::shared_ptr<const RecordStorage> MakeStorage(uint32_t record_bytes,
                                                 bool has_key) {
  auto block = std::make_shared<Block>(kBlockBytes);
  for (size_t i = 0; i < kBlockBytes; ++i) {
    block->data()[i] = static_cast<char>(i * 31 + i / 1000);
  }
  auto storage = std::make_shared<RecordStorage>();
  storage->block = std::move(block);
  for (uint32_t at = 0; at + record_bytes <= kBlockBytes; at += record_bytes) {
    RecordEntry entry;
    entry.value_begin = at;
    entry.value_size = record_bytes;
    if (has_key) {
      entry.key_begin = at;
      entry.key_size = kKeyBytes;
    }
    entry.offset = at;
    storage->entries.push_back(entry);
  }
  return storage;
}

RecordBatch MakeBatch(uint32_t record_bytes, bool has_key) {
  return RecordBatch(MakeStorage(record_bytes, has_key));
}

void SetCounters(benchmark::State& state, const RecordBatch& batch) {
  const BufferSize size = batch.size();
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(size.records));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(size.bytes));
}

void BM_StepHash_HashInto(benchmark::State& state) {
  const RecordBatch batch =
      MakeBatch(static_cast<uint32_t>(state.range(0)), state.range(1) != 0);
  for (auto _ : state) {
    StepHasher hasher;
    batch.HashInto(hasher);
    benchmark::DoNotOptimize(hasher.Finish());
  }
  SetCounters(state, batch);
}
BENCHMARK(BM_StepHash_HashInto)
    ->ArgNames({"record_bytes", "key"})
    ->ArgsProduct({{32, 272, 1024, 65536}, {0, 1}});

// The floor: XXH3 over the same block in one call.
void BM_StepHash_OneCall(benchmark::State& state) {
  const RecordBatch batch = MakeBatch(272, false);
  const char* const data = batch.At(0).value->data();
  for (auto _ : state) {
    benchmark::DoNotOptimize(XXH3_64bits(data, batch.size().bytes));
  }
  SetCounters(state, batch);
}
BENCHMARK(BM_StepHash_OneCall);

void BM_RecordBatch_At(benchmark::State& state) {
  const RecordBatch batch = MakeBatch(272, true);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (size_t i = 0; i < batch.record_count(); ++i) {
      const Record record = batch.At(i);
      sum += record.value->size() + record.key->size();
    }
    benchmark::DoNotOptimize(sum);
  }
  SetCounters(state, batch);
}
BENCHMARK(BM_RecordBatch_At);

void BM_RecordBatch_TakeSome(benchmark::State& state) {
  const std::shared_ptr<const RecordStorage> storage = MakeStorage(272, true);
  const auto records = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    // Sums the sizes of all records, as a parser's end does.
    RecordBatch batch(storage);
    while (!batch.IsEmpty()) {
      benchmark::DoNotOptimize(batch.TakeSome(records));
    }
  }
  SetCounters(state, RecordBatch(storage));
}
BENCHMARK(BM_RecordBatch_TakeSome)->ArgName("records")->Arg(1)->Arg(100);

void BM_RecordBatchBuilder_Add(benchmark::State& state) {
  const auto block = std::make_shared<Block>(kBlockBytes);
  const auto records = static_cast<uint32_t>(kBlockBytes / 272);
  for (auto _ : state) {
    RecordBatchBuilder builder(block, 0);
    for (uint32_t i = 0; i < records; ++i) {
      RecordEntry entry;
      entry.value_begin = i * 272;
      entry.value_size = 271;
      builder.Add(entry);
    }
    benchmark::DoNotOptimize(std::move(builder).Build());
  }
  state.SetItemsProcessed(state.iterations() * int64_t{records});
}
BENCHMARK(BM_RecordBatchBuilder_Add);

void BM_KeyHash(benchmark::State& state) {
  const std::string key(static_cast<size_t>(state.range(0)), 'k');
  for (auto _ : state) benchmark::DoNotOptimize(KeyHash(key));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_KeyHash)->ArgName("key_bytes")->Arg(12)->Arg(36);

// A consumer that takes everything and remembers nothing.
class NullConsumer final : public InputConsumer {
 public:
  uint64_t MaxBatchSize() const override { return UINT64_MAX; }
  uint64_t MaxBatchBytes() const override { return uint64_t{8} << 20; }
  uint64_t MaxQueuedBytes() const override { return uint64_t{32} << 20; }
  std::optional<FtModel> PipelineFaultTolerance() const override {
    return std::nullopt;
  }
  void ParseErrors(std::vector<ParseError> /*errors*/) override {}
  void Buffered(BufferSize /*amount*/) override {}
  bool Admit(const RecordBatch& /*next*/) override { return true; }
  void Flush(RecordBatch batch) override {
    benchmark::DoNotOptimize(batch.size());
  }
  void Replayed(BufferSize /*amount*/, uint64_t /*hash*/) override {}
  void Skipped() override {}
  void Extended(BufferSize /*amount*/, std::optional<Resume> /*resume*/,
                std::vector<Watermark> /*watermarks*/) override {}
  void EndOfInput() override {}
  void RequestStep() override {}
  void StartTransaction(std::optional<absl::string_view> /*label*/) override {}
  void CommitTransaction() override {}
  void SetCustomMetrics(std::shared_ptr<ConnectorMetrics> /*m*/) override {}
  std::shared_ptr<CountWatch> CompletionWatcher() override { return nullptr; }
  std::shared_ptr<CountWatch> CheckpointWatcher() override { return nullptr; }
  void Error(bool /*fatal*/, absl::Status /*error*/,
             absl::string_view /*tag*/) override {}
  void UpdateConnectorHealth(ConnectorHealth /*health*/) override {}
};

// Pushes `buffers` buffers and flushes them as one step, without a hash.
void BM_InputQueue_PushFlush(benchmark::State& state) {
  NullConsumer consumer;
  InputQueue<int64_t> queue(consumer);
  const auto buffers = state.range(0);
  const std::shared_ptr<const RecordStorage> storage =
      MakeStorage(65536, false);
  for (auto _ : state) {
    for (int64_t i = 0; i < buffers; ++i) {
      queue.PushWithAux(RecordBatch(storage), {}, absl::UnixEpoch(), 0);
    }
    benchmark::DoNotOptimize(queue.FlushWithAux());
  }
  state.SetItemsProcessed(state.iterations() * buffers);
}
BENCHMARK(BM_InputQueue_PushFlush)->ArgName("buffers")->Arg(1)->Arg(8);

}  // namespace
}  // namespace penstock::core
