// The kafka source beside a bare loop over librdkafka, which is what any
// program pays: the same messages of 1 KiB of one topic, from its beginning to
// its end, in one run. At the broker that PENSTOCK_BENCH_KAFKA names
// (host:port), else at a mock broker in this process, which keeps 5 MB of a
// partition, and whose work is then counted with both. Compare processor time.
//
//   PENSTOCK_BENCH_KAFKA_MESSAGES   messages (4,000)
#include "core/base/check.h"
#include "core/base/environment.h"
#include "core/base/mutex.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/kafka/kafka_handles.h"
#include "core/sources/kafka/kafka_source.h"
#include "core/sources/kafka/rdkafka_consumer.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

const std::string& Topic() {
  static const std::string topic =
      absl::StrCat("penstock-bench-", absl::ToUnixMillis(absl::Now()));
  return topic;
}
constexpr size_t kMessageBytes = 1024;

size_t Messages() {
  size_t count = 0;
  const auto text = GetEnv("PENSTOCK_BENCH_KAFKA_MESSAGES");
  if (!text.has_value() || !absl::SimpleAtoi(*text, &count)) return 4'000;
  return count;
}

// The cluster of this run, with the messages.
class Cluster {
 public:
  static const std::string& Bootstrap() {
    static Cluster cluster;
    return cluster.bootstrap_;
  }

 private:
  Cluster() {
    if (auto given = GetEnv("PENSTOCK_BENCH_KAFKA")) {
      bootstrap_ = *given;
      CreateKafkaTopic(bootstrap_, Topic(), 1);
    } else {
      mock_ = std::make_unique<KafkaMock>();
      mock_->CreateTopic(Topic(), 1);
      bootstrap_ = mock_->bootstrap();
    }
    constexpr size_t kAtOnce = 10'000;
    for (size_t from = 0; from < Messages(); from += kAtOnce) {
      std::vector<KafkaRecord> records;
      for (size_t i = from; i < std::min(from + kAtOnce, Messages()); ++i) {
        std::string value =
            absl::StrCat("{\"id\":", i, ",\"user\":{\"id\":", i % 977,
                         ",\"name\":\"n", i, "\"},\"tags\":[1,2,3],\"pad\":\"");
        value += std::string(kMessageBytes - value.size() - 2, 'x') + "\"}";
        records.push_back(
            {.key = absl::StrCat("k", i % 977), .value = std::move(value)});
      }
      WriteKafka(bootstrap_, Topic(), records);
    }
  }
  std::unique_ptr<KafkaMock> mock_;
  std::string bootstrap_;
};

void Count(benchmark::State& state) {
  const auto items = static_cast<int64_t>(Messages()) *
                     static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(items);
  state.SetBytesProcessed(items * static_cast<int64_t>(kMessageBytes));
}

void BM_Kafka_RawConsumer(benchmark::State& state) {
  for (auto _ : state) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         {std::pair("bootstrap.servers", Cluster::Bootstrap().c_str()),
          std::pair("group.id", "bench"),
          std::pair("enable.auto.commit", "false")}) {
      rd_kafka_conf_set(conf, name, value, nullptr, 0);
    }
    rd_kafka_t* const client =
        rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    const KafkaPartitionsHandle list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), Topic().c_str(), 0)->offset =
        0;
    rd_kafka_assign(client, list.get());
    {
      const KafkaQueueHandle queue(rd_kafka_queue_get_consumer(client));
      std::vector<rd_kafka_message_t*> batch(512);
      size_t bytes = 0;
      for (size_t seen = 0; seen < Messages();) {
        const ssize_t got = rd_kafka_consume_batch_queue(
            queue.get(), 100, batch.data(), batch.size());
        for (ssize_t i = 0; i < got; ++i) {
          rd_kafka_message_t* const one = batch[static_cast<size_t>(i)];
          if (one->err == RD_KAFKA_RESP_ERR_NO_ERROR) ++seen;
          bytes += one->len;
          rd_kafka_message_destroy(one);
        }
      }
      benchmark::DoNotOptimize(bytes);
    }
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
  Count(state);
}

// Counts what is flushed, and drops it. Queues are asked for as data comes.
class CountingConsumer final : public InputConsumer {
 public:
  explicit CountingConsumer(std::optional<FtModel> level) : level_(level) {}

  uint64_t MaxBatchSize() const override { return UINT64_MAX; }
  uint64_t MaxBatchBytes() const override { return uint64_t{8} << 20; }
  uint64_t MaxQueuedBytes() const override { return uint64_t{32} << 20; }
  std::optional<FtModel> PipelineFaultTolerance() const override {
    return level_;
  }
  void ParseErrors(std::vector<ParseError> errors) override {
    CHECK(errors.empty()) << errors[0].description;
  }
  void Buffered(BufferSize /*amount*/) override {
    MutexLock lock(mu_);
    has_data_ = true;
    changed_.NotifyAll();
  }
  bool Admit(const RecordBatch& /*next*/) override { return true; }
  void Flush(RecordBatch batch) override { records_ += batch.record_count(); }
  void Replayed(BufferSize /*amount*/, uint64_t /*hash*/) override {}
  void Skipped() override {}
  void Extended(BufferSize /*amount*/, std::optional<Resume> /*resume*/,
                std::vector<Watermark> /*watermarks*/) override {}
  void EndOfInput() override {}
  void RequestStep() override {}
  void StartTransaction(std::optional<absl::string_view> /*label*/) override {}
  void CommitTransaction() override {}
  void SetCustomMetrics(
      std::shared_ptr<ConnectorMetrics> /*metrics*/) override {}
  std::shared_ptr<CountWatch> CompletionWatcher() override { return nullptr; }
  std::shared_ptr<CountWatch> CheckpointWatcher() override { return nullptr; }
  void Error(bool fatal, absl::Status error,
             absl::string_view /*tag*/) override {
    CHECK(!fatal) << error;
  }
  void UpdateConnectorHealth(ConnectorHealth /*health*/) override {}

  // Blocks until something was buffered since.
  void WaitForData() {
    MutexLock lock(mu_);
    changed_.Wait(mu_, [this] {
      mu_.AssertHeld();
      return has_data_;
    });
    has_data_ = false;
  }
  // Only by who asks for steps.
  size_t records() const { return records_; }

 private:
  const std::optional<FtModel> level_;
  size_t records_ = 0;
  Mutex mu_;
  CondVar changed_;
  bool has_data_ ABSL_GUARDED_BY(mu_) = false;
};

void ReadAll(benchmark::State& state, const Parser& parser,
             std::optional<FtModel> level) {
  const PathPolicy paths({});
  ThreadPoolExecutor io("io", 2);
  const Environment environment{.files = PosixFileSystem(),
                                .io = io,
                                .clock = RealClock(),
                                .paths = paths};
  KafkaSourceConfig config;
  config.topics = {Topic()};
  config.options["bootstrap.servers"] = Cluster::Bootstrap();
  for (auto _ : state) {
    CountingConsumer consumer(level);
    KafkaSource source(config, environment, &RdKafkaConsumer::Create);
    auto opened = source.Open(consumer, parser.Fork(), {}, std::nullopt);
    CHECK(opened.ok()) << opened.status();
    InputReader& reader = *opened->reader;
    reader.Request(ExtendCommand{});
    while (consumer.records() < Messages()) {
      consumer.WaitForData();
      reader.Request(QueueCommand{});
    }
  }
  Count(state);
}

void BM_Kafka_SourceRaw(benchmark::State& state) {
  ReadAll(state, **MakeRawParser(RawConfig{}), std::nullopt);
}

void BM_Kafka_SourceJsonHashed(benchmark::State& state) {
  ReadAll(state, **MakeNdjsonParser(NdjsonConfig{}), FtModel::kExactlyOnce);
}

BENCHMARK(BM_Kafka_RawConsumer)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_Kafka_SourceRaw)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_Kafka_SourceJsonHashed)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace penstock::core
