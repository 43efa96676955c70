// The suite over a real broker, and over mock brokers what does not need
// transactions to be more than answered (tests/support/kafka_mock.h).
#include "core/base/clock.h"
#include "core/base/path_policy.h"
#include "core/sinks/kafka/kafka_sink.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr int kPartitions = 4;
constexpr size_t kMessageBytesMax = 2000;

// Shards have a partition each.
class KafkaDriver : public SinkDriver {
 public:
  KafkaDriver(std::string bootstrap, std::string topic)
      : bootstrap_(std::move(bootstrap)), topic_(std::move(topic)) {}

  std::unique_ptr<OutputTarget> Make() override {
    KafkaSinkConfig config;
    config.topic = topic_;
    config.partition_by = KafkaPartitionBy::kShard;
    config.options["bootstrap.servers"] = bootstrap_;
    config.options["message.max.bytes"] = absl::StrCat(kMessageBytesMax);
    auto made = MakeKafkaSink(
        config,
        {.files = files_, .io = io_, .clock = RealClock(), .paths = paths_});
    EXPECT_OK(made);
    return *std::move(made);
  }
  std::string RefusedRow() override {
    return std::string(kMessageBytesMax + 1, 'x');
  }

 protected:
  const std::string bootstrap_;
  const std::string topic_;

 private:
  FakeFileSystem files_;
  ManualExecutor io_;
  const PathPolicy paths_{{}};
};

// A topic of its own for each test.
class RealKafkaDriver final : public KafkaDriver {
 public:
  RealKafkaDriver()
      : KafkaDriver(KafkaBroker::Shared().bootstrap(), NextTopic()) {
    CreateKafkaTopic(bootstrap_, topic_, kPartitions);
  }

  // Whatever is produced is queued first, so no call of a batch fails at once:
  // tests/core/sinks/kafka makes commits and messages fail.
  SinkCapabilities capabilities() const override {
    return {
        .has_committer = false, .can_fail = false, .tells_rows_apart = true};
  }
  std::vector<std::string> ReadBack(ShardIndex shard) override {
    std::vector<std::string> rows;
    for (const KafkaRecord& record : ReadKafka(
             bootstrap_, topic_, {.partition = static_cast<int32_t>(shard)})) {
      rows.push_back(record.value.value_or("no value"));
    }
    return rows;
  }
  // With its topic a group's offsets go, too.
  void Forget() override {
    DeleteKafkaTopic(bootstrap_, topic_);
    CreateKafkaTopic(bootstrap_, topic_, kPartitions);
  }

 private:
  static std::string NextTopic() {
    static int topics = 0;
    return absl::StrCat("contract-", ++topics);
  }
};

class MockKafkaDriver final : public KafkaDriver {
 public:
  MockKafkaDriver() : MockKafkaDriver(std::make_unique<KafkaMock>()) {}

  SinkCapabilities capabilities() const override {
    return {.keeps = false,
            .has_committer = false,
            .can_fail = false,
            .tells_rows_apart = true};
  }

 private:
  explicit MockKafkaDriver(std::unique_ptr<KafkaMock> mock)
      : KafkaDriver(mock->bootstrap(), "contract"), mock_(std::move(mock)) {
    mock_->CreateTopic(topic_, kPartitions);
  }
  const std::unique_ptr<KafkaMock> mock_;
};

std::vector<SinkDriverFactory> Drivers() {
  std::vector<SinkDriverFactory> drivers = {
      {"Mock", std::make_unique<MockKafkaDriver>}};
  if (!KafkaBroker::Missing().has_value()) {
    drivers.push_back({"Real", std::make_unique<RealKafkaDriver>});
  }
  return drivers;
}

// Says it where only the mock brokers are below.
TEST(KafkaSinkContractTest, HasABroker) { PENSTOCK_NEED_KAFKA(); }

INSTANTIATE_TEST_SUITE_P(Kafka, SinkContractTest, testing::ValuesIn(Drivers()),
                         SinkDriverName);

}  // namespace
}  // namespace penstock::core
