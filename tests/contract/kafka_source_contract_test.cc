// The source "kafka" under the contract of all sources: over topics in memory
// on an executor of the test, and over librdkafka and a mock broker.
#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/record/key_hash.h"
#include "core/sources/kafka/kafka_source.h"
#include "core/sources/kafka/rdkafka_consumer.h"
#include "tests/contract/source_suite.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_kafka_topics.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/manual_executor.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// One for all tests, which have topics of their own: to end one takes a second.
KafkaMock& Mock() {
  static KafkaMock mock;
  return mock;
}

std::string NextTopic() {
  static int number = 0;
  return absl::StrCat("orders-", number++);
}

struct Mode {
  bool is_json = false;
  bool ends = true;
  size_t partitions = 1;
};

// Messages with a key; what holds them is for the derived classes.
class KafkaDriver : public SourceDriver {
 public:
  explicit KafkaDriver(Mode mode) : mode_(mode) {}

  std::vector<OwnedRecord> Write(size_t count) override {
    std::vector<OwnedRecord> records;
    for (size_t i = 0; i < count; ++i) {
      const size_t number = written_++;
      OwnedRecord record;
      record.partition = static_cast<uint32_t>(number % mode_.partitions);
      record.key = absl::StrCat("user-", number % 7);
      record.value =
          mode_.is_json
              ? absl::StrCat("{\"id\":", number, "}")
              : absl::StrCat("line\n", number, std::string(number % 30, '.'));
      record.offset = Put(record.partition, *record.key, *record.value);
      records.push_back(std::move(record));
    }
    Written();
    return records;
  }
  void WriteBad() override {
    // No bytes are bad for raw, but there may be too many of them.
    Put(0, "bad",
        mode_.is_json ? "{\"id\": no JSON}"
                      : std::string(2 * kRawBytesMax, 'x'));
    Written();
  }

  Made Make(const MakeOptions& options) override {
    KafkaSourceConfig config;
    config.topics = {topic_};
    config.stop_at_end = mode_.ends;
    config.block_bytes = options.read_bytes;
    config.options["bootstrap.servers"] = bootstrap();
    config.options["fetch.wait.max.ms"] = "10";
    Made made;
    made.endpoint =
        std::make_unique<KafkaSource>(config, environment(), MakeClient());
    if (mode_.is_json) {
      made.parser = *MakeNdjsonParser(NdjsonConfig{});
    } else {
      RawConfig raw;
      raw.record_bytes_max = kRawBytesMax;
      made.parser = *MakeRawParser(raw);
    }
    return made;
  }

 protected:
  // Returns: the offset that it gets.
  virtual int64_t Put(uint32_t partition, const std::string& key,
                      const std::string& value) = 0;
  // What was Put is to be there.
  virtual void Written() {}
  virtual std::string bootstrap() const { return "unused:1"; }
  virtual Environment environment() = 0;
  virtual KafkaSource::MakeClient MakeClient() = 0;

  const Mode mode_;
  const std::string topic_ = NextTopic();
  const PathPolicy paths_{{}};
  FakeFileSystem files_;

 private:
  static constexpr size_t kRawBytesMax = 100;

  size_t written_ = 0;
};

class FakeKafkaDriver final : public KafkaDriver {
 public:
  explicit FakeKafkaDriver(Mode mode) : KafkaDriver(mode) {
    topics_.Create(topic_, mode.partitions);
  }

  SourceCapabilities capabilities() const override {
    return {.level = FtModel::kExactlyOnce, .ends = mode_.ends};
  }
  void Break() override {
    topics_.Break(MakeError(Reason::PERMISSION_DENIED, "not yours any more"));
  }
  void Tamper() override {
    std::string& value = *topics_.At(topic_, 0).messages[0].value;
    char& digit = value[mode_.is_json ? 6 : 5];
    digit = digit == '9' ? '8' : '9';
  }
  absl::AnyInvocable<void()> MakePump() override {
    return [this] { executor_.RunUntilIdle(); };
  }

 protected:
  int64_t Put(uint32_t partition, const std::string& key,
              const std::string& value) override {
    return topics_.Write(topic_, partition, {.key = key, .value = value});
  }
  Environment environment() override {
    return {.files = files_,
            .io = executor_,
            .clock = executor_.clock(),
            .paths = paths_};
  }
  KafkaSource::MakeClient MakeClient() override {
    return [this](const KafkaSourceConfig&, const Environment&) {
      return topics_.MakeConsumer();
    };
  }

 private:
  FakeKafkaTopics topics_;
  ManualExecutor executor_;
};

class MockKafkaDriver final : public KafkaDriver {
 public:
  explicit MockKafkaDriver(Mode mode)
      : KafkaDriver(mode), next_(mode.partitions) {
    Mock().CreateTopic(topic_, static_cast<int>(mode.partitions));
  }

  // What a broker holds is neither taken away nor changed.
  SourceCapabilities capabilities() const override {
    return {.level = FtModel::kExactlyOnce,
            .ends = mode_.ends,
            .can_break = false,
            .can_tamper = false};
  }

 protected:
  int64_t Put(uint32_t partition, const std::string& key,
              const std::string& value) override {
    waiting_.push_back({.partition = static_cast<int32_t>(partition),
                        .offset = next_[partition],
                        .key = key,
                        .value = value});
    return next_[partition]++;
  }
  void Written() override {
    WriteKafka(Mock().bootstrap(), topic_, waiting_);
    waiting_.clear();
  }
  std::string bootstrap() const override { return Mock().bootstrap(); }
  Environment environment() override {
    return {.files = files_,
            .io = executor_,
            .clock = executor_.clock(),
            .paths = paths_};
  }
  KafkaSource::MakeClient MakeClient() override {
    return &RdKafkaConsumer::Create;
  }

 private:
  std::vector<int64_t> next_;
  std::vector<KafkaRecord> waiting_;
  ThreadPoolExecutor executor_{"io", 2};
};

template <typename Driver>
SourceDriverFactory Factory(std::string name, Mode mode) {
  return {.name = std::move(name),
          .make = [mode] { return std::make_unique<Driver>(mode); }};
}

INSTANTIATE_TEST_SUITE_P(
    Kafka, SourceContractTest,
    testing::Values(Factory<FakeKafkaDriver>("FakeRaw", {}),
                    Factory<FakeKafkaDriver>("FakeRawPartitions",
                                             {.partitions = 3}),
                    Factory<FakeKafkaDriver>("FakeNdjson", {.is_json = true}),
                    Factory<FakeKafkaDriver>("FakeFollowed", {.ends = false})),
    SourceDriverName);

INSTANTIATE_TEST_SUITE_P(
    MockKafka, SourceContractTest,
    testing::Values(Factory<MockKafkaDriver>("Raw", {}),
                    Factory<MockKafkaDriver>("NdjsonPartitions",
                                             {.is_json = true,
                                              .partitions = 3})),
    SourceDriverName);

}  // namespace
}  // namespace penstock::core
