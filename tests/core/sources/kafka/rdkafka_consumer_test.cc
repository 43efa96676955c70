// The source over librdkafka: a mock broker that is slow, away, or full; and a
// real one, where it can be had, for what the mock has not: transactions,
// topics that are deleted, grown, cut off.
#include "core/sources/kafka/rdkafka_consumer.h"

#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/filesystem.h"
#include "core/base/memory.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/raw/raw_format.h"
#include "core/kafka/kafka_group_offset.h"
#include "core/kafka/kafka_handles.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_reaper.h"
#include "core/sources/kafka/kafka_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Transcript = RecordingConsumer::Transcript;

std::string NextTopic() {
  static int number = 0;
  return absl::StrCat("topic-", number++);
}

// One connector after the other, on real threads.
class RdKafkaConsumerTest : public testing::Test {
 protected:
  RdKafkaConsumerTest() { config_.topics = {topic_}; }
  ~RdKafkaConsumerTest() override { Close(); }

  absl::Status Open(const std::string& bootstrap,
                    std::optional<std::string> resume = std::nullopt) {
    Close();
    config_.options["bootstrap.servers"] = bootstrap;
    consumer_ = std::make_unique<RecordingConsumer>(FtModel::kExactlyOnce);
    KafkaSource source(config_, environment_, &RdKafkaConsumer::Create);
    absl::StatusOr<OpenedInput> opened = source.Open(
        *consumer_, *MakeRawParser(RawConfig{}), {}, std::move(resume));
    if (!opened.ok()) return opened.status();
    position_ = opened->position;
    reader_ = std::move(opened->reader);
    return absl::OkStatus();
  }
  void Close() {
    reader_.reset();
    consumer_.reset();
  }
  void Extend() { reader_->Request(ExtendCommand{}); }
  // What was staged, once `records` are.
  RecordingConsumer::RecordedStep QueueWhen(uint64_t records) {
    EXPECT_TRUE(consumer_->WaitUntil([&](const Transcript& seen) {
      return seen.buffered.records >= records || seen.HasFatal();
    }));
    return Ask(QueueCommand{});
  }
  RecordingConsumer::RecordedStep Ask(InputReaderCommand command) {
    const size_t steps = consumer_->transcript().steps.size();
    reader_->Request(std::move(command));
    EXPECT_TRUE(consumer_->WaitUntil([&](const Transcript& seen) {
      return seen.steps.size() > steps || seen.HasFatal();
    }));
    const auto all = consumer_->transcript().steps;
    return all.size() > steps ? all.back() : RecordingConsumer::RecordedStep{};
  }
  void Write(const std::string& bootstrap,
             const std::vector<std::string>& values, int32_t partition = 0) {
    std::vector<KafkaRecord> records;
    for (const std::string& value : values) {
      records.push_back({.partition = partition, .value = value});
    }
    WriteKafka(bootstrap, topic_, records);
  }
  // Whether the source's group comes to stand at `offset` of partition 0.
  bool WaitForGroup(const std::string& bootstrap, int64_t offset) const {
    const absl::Time end = RealClock().SteadyNow() + absl::Minutes(1);
    std::optional<KafkaGroupOffset> found;
    while (!found.has_value() || found->offset != offset) {
      KafkaConf conf{.conf = KafkaConfHandle(rd_kafka_conf_new()),
                     .secrets = {}};
      EXPECT_OK(conf.Set("bootstrap.servers", bootstrap));
      const auto read =
          ReadKafkaGroupOffset(std::move(conf), config_.options.at("group.id"),
                               topic_, KafkaOffsetRead::kAny, RealClock(), end);
      EXPECT_OK(read);
      if (!read.ok() || RealClock().SteadyNow() >= end) return false;
      found = *read;
    }
    return true;
  }
  static std::vector<std::string> ValuesOf(
      const RecordingConsumer::RecordedStep& step) {
    std::vector<std::string> values;
    for (const OwnedRecord& record : step.records) {
      values.push_back(record.value.value_or("(null)"));
    }
    return values;
  }

  const std::string topic_ = NextTopic();
  KafkaSourceConfig config_;
  FakeFileSystem files_;
  ThreadPoolExecutor executor_{"io", 2};
  const PathPolicy paths_{{}};
  const Environment environment_{.files = files_,
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
  std::unique_ptr<RecordingConsumer> consumer_;
  std::unique_ptr<InputReader> reader_;
  std::string position_;
};

TEST_F(RdKafkaConsumerTest, ABrokerThatIsAwayIsWaitedForAndSaid) {
  KafkaMock mock;
  mock.CreateTopic(topic_, 1);
  ASSERT_OK(Open(mock.bootstrap()));
  Extend();
  mock.SetDown();
  EXPECT_TRUE(consumer_->WaitUntil([](const Transcript& seen) {
    return !seen.health.empty() &&
           seen.health.back().condition == Condition::kDegraded;
  }));
  mock.SetUp();
  Write(mock.bootstrap(), {"a"});
  EXPECT_THAT(ValuesOf(QueueWhen(1)), ElementsAre("a"));
  EXPECT_TRUE(consumer_->WaitUntil([](const Transcript& seen) {
    return seen.health.back().condition == Condition::kOk;
  }));
  EXPECT_FALSE(consumer_->transcript().HasFatal());
}

TEST_F(RdKafkaConsumerTest, NoBrokerAtOpenIsAnErrorThatMayPass) {
  std::string bootstrap;
  {
    KafkaMock mock;
    bootstrap = mock.bootstrap();
  }
  config_.options["socket.connection.setup.timeout.ms"] = "1000";
  config_.open_timeout = absl::Seconds(1);
  const absl::Status status = Open(bootstrap);
  EXPECT_TRUE(HasReason(status, Reason::UNAVAILABLE) ||
              HasReason(status, Reason::DEADLINE))
      << status;
}

// B063: many partitions, large messages, and nobody takes them.
TEST_F(RdKafkaConsumerTest, MemoryIsBoundedOverAllPartitionsWhilePaused) {
  constexpr int kPartitions = 20;
  constexpr uint64_t kBound = (uint64_t{1} + 2) << 20;
  KafkaMock mock;
  mock.CreateTopic(topic_, kPartitions);
  const std::string value(200'000, 'x');
  for (int i = 0; i < kPartitions; ++i) {
    Write(mock.bootstrap(), std::vector<std::string>(5, value), i);
  }
  config_.options["queued.max.messages.kbytes"] = "1024";
  config_.options["fetch.max.bytes"] = "1000000";
  config_.options["message.max.bytes"] = "300000";
  ASSERT_OK(Open(mock.bootstrap()));
  Extend();
  reader_->Request(PauseCommand{});
  uint64_t most = 0;
  // Until statistics have come that show it, and a few more.
  EXPECT_FALSE(consumer_->WaitUntil(
      [&](const Transcript&) {
        most = std::max(most, reader_->MemoryBytes());
        return most > kBound;
      },
      absl::Milliseconds(2'500)));
  EXPECT_LE(most, kBound);
  Extend();
  EXPECT_EQ(QueueWhen(5 * kPartitions).records.size(), 5u * kPartitions);
}

// A hundred partitions of messages of a megabyte, which nobody takes for as
// long as PENSTOCK_KAFKA_PAUSE_S says (2 seconds), longer than a group would
// wait for a member: what the process takes is what it may, the group stands
// where it was, and then all of it comes.
TEST_F(RdKafkaConsumerTest, ALongPauseCostsNoMemoryAndLosesNothing) {
  PENSTOCK_NEED_KAFKA();
  constexpr int kPartitions = 100;
  constexpr uint64_t kEach = 2;
  const std::string& bootstrap = KafkaBroker::Shared().bootstrap();
  CreateKafkaTopic(bootstrap, topic_, kPartitions);
  Write(bootstrap, {"first"});
  config_.options["group.id"] = topic_;
  config_.options["session.timeout.ms"] = "1000";
  config_.options["max.poll.interval.ms"] = "1000";
  ASSERT_OK(Open(bootstrap));
  Extend();
  EXPECT_EQ(QueueWhen(1).records.size(), 1u);
  consumer_->CheckpointWatcher()->Advance(1);
  consumer_->CompletionWatcher()->Advance(1);
  EXPECT_TRUE(WaitForGroup(bootstrap, 1));

  const uint64_t before = *ResidentBytes(PosixFileSystem());
  for (uint64_t i = 0; i < kEach; ++i) {
    std::vector<KafkaRecord> records;
    for (int one = 0; one < kPartitions; ++one) {
      records.push_back(
          {.partition = one, .value = std::string(1'000'000, 'x')});
    }
    WriteKafka(bootstrap, topic_, records);
  }
  ::malloc_trim(0);
  // Of the queue, of librdkafka's, and one fetch; for the allocator the last.
  const uint64_t bound = consumer_->MaxQueuedBytes() + (16 << 20) + (8 << 20) +
                         (1 << 20) + (24 << 20);
  static_assert(kPartitions * kEach * 1'000'000 > 2 * (81 << 20));
  reader_->Request(PauseCommand{});
  uint64_t most = 0;
  const absl::Duration pause =
      absl::Seconds(std::stoi(GetEnv("PENSTOCK_KAFKA_PAUSE_S").value_or("2")));
  const bool is_beyond = consumer_->WaitUntil(
      [&](const Transcript& seen) {
        most = std::max(most, *ResidentBytes(PosixFileSystem()));
        return most > before + bound || seen.HasFatal();
      },
      pause);
  EXPECT_FALSE(is_beyond) << most - before << " of " << bound << " bytes";
  RecordProperty("bytes", static_cast<int>(most - before));
  EXPECT_TRUE(WaitForGroup(bootstrap, 1)) << "the group stands where it was";
  EXPECT_LE(reader_->MemoryBytes(), uint64_t{16 + 8} << 20);

  Extend();
  uint64_t count = 0;
  while (count < kPartitions * kEach && !HasFailure()) {
    count +=
        QueueWhen(consumer_->transcript().extended.records + 1).records.size();
  }
  EXPECT_EQ(count, kPartitions * kEach);
}

// Messages in a transaction that is committed or not.
void WriteInTransaction(const std::string& bootstrap, const std::string& topic,
                        const std::vector<std::string>& values, bool commits) {
  std::array<char, 512> error{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap.c_str(), nullptr, 0);
  rd_kafka_conf_set(conf, "transactional.id", topic.c_str(), nullptr, 0);
  const KafkaOwner<rd_kafka_t, rd_kafka_destroy> producer(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size()));
  ASSERT_NE(producer, nullptr) << error.data();
  const auto ok = [](rd_kafka_error_t* result) {
    const KafkaErrorHandle owned(result);
    ASSERT_EQ(result, nullptr) << rd_kafka_error_string(result);
  };
  ok(rd_kafka_init_transactions(producer.get(), 30'000));
  ok(rd_kafka_begin_transaction(producer.get()));
  {
    const KafkaTopicHandle to(
        rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr));
    for (std::string value : values) {
      ASSERT_EQ(rd_kafka_produce(to.get(), 0, RD_KAFKA_MSG_F_COPY, value.data(),
                                 value.size(), nullptr, 0, nullptr),
                0);
    }
  }
  ASSERT_EQ(rd_kafka_flush(producer.get(), 30'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  ok(commits ? rd_kafka_commit_transaction(producer.get(), 30'000)
             : rd_kafka_abort_transaction(producer.get(), 30'000));
}

// B081, B082, on a broker that makes the marks itself.
TEST_F(RdKafkaConsumerTest, TransactionsLeaveGapsThatAStepSpans) {
  PENSTOCK_NEED_KAFKA();
  const std::string& bootstrap = KafkaBroker::Shared().bootstrap();
  CreateKafkaTopic(bootstrap, topic_, 1);
  WriteInTransaction(bootstrap, topic_, {"a", "b"}, true);
  WriteInTransaction(bootstrap, topic_, {"no", "no", "no"}, false);
  WriteInTransaction(bootstrap, topic_, {"c"}, true);
  WriteInTransaction(bootstrap, topic_, {"no"}, false);
  config_.stop_at_end = true;
  ASSERT_OK(Open(bootstrap));
  const std::string base = position_;
  Extend();
  EXPECT_TRUE(consumer_->WaitUntil(
      [](const Transcript& seen) { return seen.end_of_inputs == 1; }));
  const auto step = Ask(QueueCommand{});
  EXPECT_THAT(ValuesOf(step), ElementsAre("a", "b", "c"));
  // 2 and a mark, 3 and a mark, 1 and a mark, 1 and a mark.
  EXPECT_THAT(step.seek(), HasSubstr("[0,0,11,4,"));
  ASSERT_OK(Open(bootstrap, base));
  const auto again = Ask(ReplayCommand{.metadata = step.seek()});
  EXPECT_EQ(again.records, step.records);
  EXPECT_EQ(again.replay_hash, step.hash.value);
}

// librdkafka 2.0.2 does not end a client whose topic went while it was
// assigned, unless it is emptied of what it has to say of it:
// RdKafkaConsumer::Empty.
class GoneTopicTest : public RdKafkaConsumerTest {
 protected:
  // Reads a message of each partition, has `remove` remove the topic, and waits
  // until the client has been told.
  template <typename Remove>
  std::unique_ptr<TopicConsumer> ReadUntilGone(const std::string& bootstrap,
                                               Remove remove) {
    config_.options["bootstrap.servers"] = bootstrap;
    config_.options["topic.metadata.refresh.interval.ms"] = "50";
    auto made = RdKafkaConsumer::Create(config_, environment_);
    EXPECT_OK(made);
    std::unique_ptr<TopicConsumer> consumer = *std::move(made);
    EXPECT_OK(consumer->Assign(All()));
    const absl::Time end = absl::Now() + absl::Minutes(1);
    size_t seen = 0;
    while (seen < size_t{kPartitions} && absl::Now() < end) {
      for (const KafkaEvent& event : consumer->Receive(10)) {
        if (event.kind == KafkaEvent::Kind::kMessage) ++seen;
      }
    }
    EXPECT_EQ(seen, size_t{kPartitions});
    remove();
    bool is_there = true;
    while (is_there && absl::Now() < end) {
      auto topics = consumer->ListTopics(config_.topics, end);
      EXPECT_OK(topics);
      is_there = !topics.ok() || !topics->empty();
    }
    EXPECT_FALSE(is_there);
    return consumer;
  }
  void Fill(const std::string& bootstrap) {
    for (int i = 0; i < kPartitions; ++i) Write(bootstrap, {"a"}, i);
  }
  std::vector<TopicConsumer::Assignment> All() const {
    std::vector<TopicConsumer::Assignment> all;
    for (int i = 0; i < kPartitions; ++i) all.push_back({Place(i), 0, 0});
    return all;
  }
  TopicConsumer::TopicPartition Place(int32_t partition) const {
    return {.topic = topic_, .partition = partition};
  }
  // That nobody waited for it in vain.
  static void ExpectEnds(std::unique_ptr<TopicConsumer> consumer) {
    consumer.reset();
    EXPECT_EQ(KafkaReaper::Shared().Left(), 0u);
  }

  static constexpr int kPartitions = 4;
};

TEST_F(GoneTopicTest, AClientEnds) {
  KafkaMock mock;
  mock.CreateTopic(topic_, kPartitions);
  Fill(mock.bootstrap());
  ExpectEnds(ReadUntilGone(mock.bootstrap(), [&] { mock.Forget(topic_); }));
}

TEST_F(GoneTopicTest, AClientThatHasFinishedItEnds) {
  KafkaMock mock;
  mock.CreateTopic(topic_, kPartitions);
  Fill(mock.bootstrap());
  auto consumer = ReadUntilGone(mock.bootstrap(), [&] { mock.Forget(topic_); });
  consumer->Finish(Place(0));
  consumer->Finish(Place(0));
  const auto all = All();
  EXPECT_OK(consumer->Assign(std::span(all).subspan(0, 2)));
  consumer->Finish(Place(1));
  ExpectEnds(std::move(consumer));
}

TEST_F(GoneTopicTest, AClientOfARealBrokerEnds) {
  PENSTOCK_NEED_KAFKA();
  const std::string& bootstrap = KafkaBroker::Shared().bootstrap();
  CreateKafkaTopic(bootstrap, topic_, kPartitions);
  Fill(bootstrap);
  ExpectEnds(
      ReadUntilGone(bootstrap, [&] { DeleteKafkaTopic(bootstrap, topic_); }));
}

TEST_F(RdKafkaConsumerTest, ATopicMadeAnewIsNoticed) {
  PENSTOCK_NEED_KAFKA();
  const std::string& bootstrap = KafkaBroker::Shared().bootstrap();
  CreateKafkaTopic(bootstrap, topic_, 1);
  Write(bootstrap, {"a", "b"});
  ASSERT_OK(Open(bootstrap));
  Extend();
  const std::string seek = QueueWhen(2).seek();
  Close();
  DeleteKafkaTopic(bootstrap, topic_);
  EXPECT_THAT(Open(bootstrap, seek), HasReason(Reason::NOT_FOUND));
  CreateKafkaTopic(bootstrap, topic_, 1);
  Write(bootstrap, {"c"});
  EXPECT_THAT(Open(bootstrap, seek), HasReason(Reason::POSITION_EXPIRED));
}

}  // namespace
}  // namespace penstock::core
