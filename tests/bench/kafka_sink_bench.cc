// Messages of 1 KiB to a topic of four partitions: through the kafka sink's
// endpoint, in batches of 8 MiB, beside librdkafka alone with the same options,
// in one run. At the broker that PENSTOCK_BENCH_KAFKA names (host:port), else
// at mock brokers in this process, whose work is then counted with both.
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/memory.h"
#include "core/base/path_policy.h"
#include "core/sinks/kafka/kafka_sink.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/manual_executor.h"

#include <benchmark/benchmark.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kMessageBytes = 1024;
constexpr size_t kBatchMessages = 8192;
constexpr int kPartitions = 4;
constexpr absl::string_view kTopic = "penstock-bench";

// The cluster of this run.
class Cluster {
 public:
  static const std::string& Bootstrap() {
    static Cluster cluster;
    return cluster.bootstrap_;
  }

 private:
  Cluster() {
    // As the worker does.
    SetUpMalloc();
    if (auto given = GetEnv("PENSTOCK_BENCH_KAFKA")) {
      bootstrap_ = *given;
      CreateKafkaTopic(bootstrap_, std::string(kTopic), kPartitions);
      return;
    }
    mock_ = std::make_unique<KafkaMock>();
    mock_->CreateTopic(std::string(kTopic), kPartitions);
    bootstrap_ = mock_->bootstrap();
  }
  std::unique_ptr<KafkaMock> mock_;
  std::string bootstrap_;
};

// Keys are few, so that each partition has its share.
std::string KeyOf(size_t number) { return "key" + std::to_string(number % 64); }

void Finish(benchmark::State& state) {
  const auto messages =
      static_cast<int64_t>(state.iterations()) * int64_t{kBatchMessages};
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * int64_t{kMessageBytes});
}

// What an application without any wish would do. Without `flags` it keeps the
// one payload of all messages itself, so that librdkafka copies nothing; with
// RD_KAFKA_MSG_F_COPY each message has bytes of its own, as those of a pipeline
// have.
void BM_RawProducer(benchmark::State& state, int flags) {
  std::array<char, 512> error = {};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const auto set = [&](const char* name, const char* value) {
    CHECK_EQ(rd_kafka_conf_set(conf, name, value, error.data(), error.size()),
             RD_KAFKA_CONF_OK)
        << error.data();
  };
  set("bootstrap.servers", Cluster::Bootstrap().c_str());
  set("enable.idempotence", "true");
  set("partitioner", "murmur2_random");
  set("linger.ms", "5");
  set("queue.buffering.max.kbytes", "16384");
  rd_kafka_conf_set_dr_msg_cb(
      conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
        CHECK_EQ(message->err, RD_KAFKA_RESP_ERR_NO_ERROR);
      });
  rd_kafka_t* const client =
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
  CHECK(client != nullptr) << error.data();
  rd_kafka_topic_t* const topic =
      rd_kafka_topic_new(client, std::string(kTopic).c_str(), nullptr);
  std::string payload(kMessageBytes, 'x');
  for (auto _ : state) {
    for (size_t i = 0; i < kBatchMessages; ++i) {
      const std::string key = KeyOf(i);
      while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, flags,
                              payload.data(), payload.size(), key.data(),
                              key.size(), nullptr) != 0) {
        CHECK_EQ(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__QUEUE_FULL);
        rd_kafka_poll(client, 100);
      }
      if (i % 128 == 0) rd_kafka_poll(client, 0);
    }
    CHECK_EQ(rd_kafka_flush(client, 60000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  Finish(state);
  rd_kafka_topic_destroy(topic);
  rd_kafka_destroy(client);
}
BENCHMARK_CAPTURE(BM_RawProducer, one_payload, 0)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RawProducer, own_payloads, RD_KAFKA_MSG_F_COPY)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_Sink(benchmark::State& state, FtModel level) {
  static uint64_t opens = 0;
  FakeFileSystem files;
  ManualExecutor io;
  const PathPolicy paths{{}};
  KafkaSinkConfig config;
  config.topic = std::string(kTopic);
  config.options["bootstrap.servers"] = Cluster::Bootstrap();
  auto sink = MakeKafkaSink(
      config, {.files = files, .io = io, .clock = RealClock(), .paths = paths});
  CHECK_OK(sink);
  // A connector of its own, for each begins at step 0.
  const auto opened = (*sink)->Open({.incarnation = "12345678",
                                     .pipeline = "bench",
                                     .connector = "c" + std::to_string(++opens),
                                     .writer = {.epoch = 1, .open_number = 1},
                                     .first_open = true,
                                     .level = level});
  CHECK_OK(opened);
  auto endpoint = (*sink)->MakeEndpoint(0);
  CHECK_OK(endpoint);
  CHECK_OK((*endpoint)->Connect(
      [](bool /*fatal*/, const absl::Status&, absl::string_view /*tag*/) {}));
  const std::string payload(kMessageBytes, 'x');
  Step step = 0;
  for (auto _ : state) {
    CHECK_OK((*endpoint)->BatchStart({.steps = {step, step + 1}}));
    for (size_t i = 0; i < kBatchMessages; ++i) {
      CHECK_OK((*endpoint)->PushKey(KeyOf(i), payload, {}));
    }
    CHECK_OK((*endpoint)->BatchEnd());
    ++step;
  }
  Finish(state);
  CHECK_OK((*sink)->Close());
}
BENCHMARK_CAPTURE(BM_Sink, at_least_once, FtModel::kAtLeastOnce)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Sink, exactly_once, FtModel::kExactlyOnce)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
