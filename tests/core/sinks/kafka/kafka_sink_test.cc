// What the contract suite does not make happen, at a real broker.
#include "core/sinks/kafka/kafka_sink.h"

#include "core/base/error.h"
#include "core/contract/sink_error.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_producer.h"
#include "core/sinks/kafka/kafka_probe.h"
#include "core/sinks/kafka/kafka_progress.h"
#include "tests/core/sinks/kafka/kafka_fixture.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/kafka_proxy.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class KafkaSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEED_KAFKA();
    static int topics = 0;
    bootstrap_ = KafkaBroker::Shared().bootstrap();
    topic_ = "sink-" + std::to_string(++topics);
    CreateKafkaTopic(bootstrap_, topic_, 4, {{"max.message.bytes", "5000"}});
  }

  KafkaSinkConfig Config() const { return KafkaTestConfig(bootstrap_, topic_); }
  std::vector<KafkaRecord> Read() const {
    return ReadKafka(bootstrap_, topic_);
  }
  std::vector<std::string> Values() const {
    std::vector<std::string> values;
    for (const KafkaRecord& record : Read()) {
      values.push_back(record.value.value_or("no value"));
    }
    return values;
  }
  // A producer of shard 0's transactional id, as an open that is too late
  // would make it.
  std::unique_ptr<KafkaProducer> Knock() const {
    KafkaConf conf{.conf = KafkaConfHandle(rd_kafka_conf_new()), .secrets = {}};
    EXPECT_OK(conf.Set("bootstrap.servers", bootstrap_));
    EXPECT_OK(conf.Set("transactional.id", ProgressGroup(KafkaTestOpen(), 0)));
    EXPECT_OK(conf.Set("transaction.timeout.ms", "600000"));
    auto made = KafkaProducer::Create(std::move(conf), topic_, RealClock());
    EXPECT_OK(made);
    EXPECT_OK((*made)->Init(RealClock().SteadyNow() + absl::Minutes(1)));
    return *std::move(made);
  }
  // How often the connector's owner has been committed for this topic.
  size_t OwnerCommits() const {
    const std::string group = OwnerGroup(KafkaTestOpen());
    const std::vector<KafkaRecord> all =
        ReadKafka(bootstrap_, "__consumer_offsets");
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [&](const KafkaRecord& record) {
          const std::string key = record.key.value_or("");
          return key.find(group) != std::string::npos &&
                 key.find(topic_) != std::string::npos;
        }));
  }

  std::string bootstrap_;
  std::string topic_;
};

// Field case B079.
TEST_F(KafkaSinkTest, NullEmptyKeyAndHeadersArriveAsTheyAre) {
  KafkaProcess process(Config(), KafkaTestOpen());
  ASSERT_OK(process.opened());
  ASSERT_OK(process.Write(
      {0, 1}, {{.key = "a", .value = "v"},
               {.key = "a", .value = std::nullopt},
               {.key = "", .value = ""},
               {.value = "h", .headers = {{"name", "x"}, {"null", {}}}}}));
  const std::vector<KafkaRecord> found = Read();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].key, "a");
  EXPECT_EQ(found[1].value, std::nullopt);
  EXPECT_EQ(found[2].key, "");
  EXPECT_EQ(found[2].value, "");
  EXPECT_EQ(found[3].key, std::nullopt);
  EXPECT_THAT(found[3].headers,
              ElementsAre(Pair("name", "x"), Pair("null", std::nullopt)));
}

// Source of the hashes: Apache Kafka, UtilsTest.testMurmur2, modulo 4 without
// their sign bit.
TEST_F(KafkaSinkTest, KeysGoWhereKafkasOwnProducersPutThem) {
  KafkaSinkConfig config = Config();
  config.partition_by = KafkaPartitionBy::kKey;
  KafkaProcess process(config, KafkaTestOpen());
  ASSERT_OK(process.opened());
  ASSERT_OK(
      process.Write({0, 1}, {{.key = "21", .value = "a"},
                             {.key = "foobar", .value = "b"},
                             {.key = "a-little-bit-long-string", .value = "c"},
                             {.value = "no key"}}));
  std::map<std::string, int32_t> partitions;
  for (const KafkaRecord& record : Read()) {
    partitions[*record.value] = record.partition;
  }
  const auto partition = [](int32_t hash) { return (hash & 0x7fffffff) % 4; };
  EXPECT_EQ(partitions["a"], partition(-973932308));
  EXPECT_EQ(partitions["b"], partition(-790332482));
  EXPECT_EQ(partitions["c"], partition(-985981536));
  EXPECT_EQ(partitions["no key"], 0) << "its shard";
}

TEST_F(KafkaSinkTest, TransactionThatAnotherProducerEndedIsWrittenAgain) {
  KafkaProcess process(Config(), KafkaTestOpen());
  ASSERT_OK(process.opened());
  ASSERT_OK(process.Write({0, 1}, {{.value = "a"}}));
  const auto late = Knock();
  const absl::Status met = process.Write({1, 2}, {{.value = "b"}});
  ASSERT_THAT(met, Not(IsOk()));
  EXPECT_TRUE(IsRetryable(met)) << met;
  ASSERT_OK(process.Write({1, 2}, {{.value = "b"}}));
  EXPECT_THAT(Values(), ElementsAre("a", "b"));
}

// Only Init of its successor ends what a dead writer has begun.
TEST_F(KafkaSinkTest, OpenDoesNotWaitForADeadWritersTransaction) {
  const OutputOpen first = KafkaTestOpen();
  {
    KafkaProcess process(Config(), first);
    ASSERT_OK(process.opened());
    ASSERT_OK(process.Write({0, 1}, {{.value = "a"}}));
  }
  const absl::Time deadline = RealClock().SteadyNow() + absl::Minutes(1);
  const auto dead = Knock();
  ASSERT_OK(dead->Begin());
  ASSERT_OK(dead->SendOffset(ProgressGroup(first, 0), 7,
                             ProgressMetadata(first.writer), deadline));
  ASSERT_OK(dead->SendOffset(OwnerGroup(first), 1,
                             OwnerMetadata(first.incarnation), deadline));
  KafkaProcess next(Config(), KafkaTestOpen(2));
  ASSERT_OK(next.opened());
  EXPECT_THAT(*next.opened(), ElementsAre(1u));
  ASSERT_OK(next.Write({1, 2}, {{.value = "b"}}));
  EXPECT_THAT(Values(), ElementsAre("a", "b"));
}

TEST_F(KafkaSinkTest, CommitWithoutAnswerIsNotWrittenTwice) {
  KafkaBroker broker;
  CreateKafkaTopic(broker.bootstrap(), "t", 1);
  KafkaSinkConfig config = KafkaTestConfig(broker.bootstrap(), "t");
  KafkaProcess process(config, KafkaTestOpen());
  ASSERT_OK(process.opened());
  ASSERT_OK(process.Write({0, 1}, {{.value = "a"}}));
  broker.Freeze();
  const absl::Status met =
      process.Write({1, 2}, {{.value = "b"}}, absl::Seconds(1));
  ASSERT_THAT(met, Not(IsOk()));
  EXPECT_TRUE(IsRetryable(met)) << met;
  broker.Thaw();
  ASSERT_OK(process.Write({1, 2}, {{.value = "b"}}));
  broker.Kill();
  broker.Start();
  ASSERT_OK(process.Write({2, 3}, {{.value = "c"}}));
  std::vector<std::string> values;
  for (const KafkaRecord& record : ReadKafka(broker.bootstrap(), "t")) {
    values.push_back(*record.value);
  }
  EXPECT_THAT(values, ElementsAre("a", "b", "c"));
}

// The cluster has committed, and nobody heard it; nor does this writer ever get
// to ask. The next open finds how far the shard is, and nothing is doubled.
TEST_F(KafkaSinkTest, CommitWhoseAnswerIsLostIsSettledByTheNextOpen) {
  KafkaProxy proxy;
  KafkaBroker broker({"advertised.listeners=PLAINTEXT://" + proxy.address()});
  proxy.ForwardTo(broker.bootstrap());
  CreateKafkaTopic(proxy.address(), "t", 1);
  KafkaSinkConfig config = KafkaTestConfig(proxy.address(), "t");
  config.options["reconnect.backoff.max.ms"] = "100";
  {
    KafkaProcess process(config, KafkaTestOpen());
    ASSERT_OK(process.opened());
    ASSERT_OK(process.Write({0, 1}, {{.value = "a"}}));
    proxy.CutAtAnswer(KafkaRequest::kEndTxn);
    const absl::Status met =
        process.Write({1, 2}, {{.value = "b"}}, absl::Seconds(2));
    ASSERT_THAT(met, Not(IsOk()));
    EXPECT_TRUE(IsRetryable(met)) << met;
    EXPECT_TRUE(proxy.is_cut());
  }
  proxy.Mend();
  KafkaProcess next(config, KafkaTestOpen(2));
  ASSERT_OK(next.opened());
  EXPECT_THAT(*next.opened(), ElementsAre(2u));
  ASSERT_OK(next.Write({2, 3}, {{.value = "c"}}));
  std::vector<std::string> values;
  for (const KafkaRecord& record : ReadKafka(proxy.address(), "t")) {
    values.push_back(*record.value);
  }
  EXPECT_THAT(values, ElementsAre("a", "b", "c"));
}

TEST_F(KafkaSinkTest, MessageThatTheClusterRefusesIsABadRow) {
  KafkaProcess process(Config(), KafkaTestOpen());
  ASSERT_OK(process.opened());
  const std::vector<TestMessage> bad = {
      {.value = "a"}, {.value = std::string(6000, 'x')}, {.value = "b"}};
  const absl::Status probed = process.Probe({0, 1}, bad);
  ASSERT_THAT(probed, Not(IsOk()));
  EXPECT_EQ(KindOfSinkError(probed), SinkErrorKind::kBadRow) << probed;
  EXPECT_EQ(RefusedRow(probed), 1u) << "it was alone";
  EXPECT_THAT(std::string(probed.message()), Not(HasSubstr("xxx")));
  EXPECT_OK(process.Probe({0, 1}, {{.value = "a"}, {.value = "b"}}));
  EXPECT_THAT(Values(), IsEmpty());
  ASSERT_OK(process.Write({0, 1}, {{.value = "a"}, {.value = "b"}}));
  EXPECT_THAT(Values(), ElementsAre("a", "b"));
}

TEST_F(KafkaSinkTest, MessageThatTheClientRefusesIsNamed) {
  KafkaSinkConfig config = Config();
  config.options["message.max.bytes"] = "2000";
  KafkaProcess process(config, KafkaTestOpen());
  ASSERT_OK(process.opened());
  const absl::Status refused = process.Write(
      {0, 1}, {{.value = "a"}, {.value = std::string(2001, 'x')}});
  EXPECT_THAT(refused, HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(RefusedRow(refused), 1u);
}

// Offsets are forgotten after offsets.retention.minutes.
TEST_F(KafkaSinkTest, ProgressIsRenewedWhileNothingHappens) {
  KafkaProcess process(Config(), KafkaTestOpen());
  ASSERT_OK(process.opened());
  ASSERT_OK(process.Write({0, 3}, {{.value = "a"}}));
  const auto offsets = [this] {
    return ReadKafka(bootstrap_, "__consumer_offsets").size();
  };
  const size_t before = offsets();
  process.Advance(absl::Hours(23));
  EXPECT_GE(offsets(), before + 2) << "the shard's and the connector's";
  ASSERT_OK(process.Write({3, 4}, {{.value = "b"}}));
  EXPECT_THAT(Values(), ElementsAre("a", "b"));
}

// A connector that is never open for as long as the timer's interval.
TEST_F(KafkaSinkTest, EachOpenRenewsTheOwner) {
  {
    const KafkaProcess process(Config(), KafkaTestOpen());
    ASSERT_OK(process.opened());
  }
  const size_t before = OwnerCommits();
  EXPECT_EQ(before, 1u);
  const KafkaProcess process(Config(), KafkaTestOpen(2));
  ASSERT_OK(process.opened());
  EXPECT_EQ(OwnerCommits(), before + 1);
}

// Each would be taken, and so is not over the topic's limit what is sent
// together.
TEST_F(KafkaSinkTest, BatchBeyondTheTopicsLimitIsTaken) {
  KafkaProcess process(Config(), KafkaTestOpen());
  ASSERT_OK(process.opened());
  const std::vector<TestMessage> many(100, {.value = std::string(1000, 'x')});
  ASSERT_OK(process.Write({0, 1}, many));
  EXPECT_EQ(Read().size(), many.size());
}

// A mock that does not tell its topics' limits.
TEST(KafkaSinkMockTest, WhatIsRefusedTogetherIsWrittenOneByOne) {
  KafkaMock mock;
  mock.CreateTopic("t", 1);
  OutputOpen open = KafkaTestOpen();
  open.level = FtModel::kAtLeastOnce;
  KafkaSinkConfig config = KafkaTestConfig(mock.bootstrap(), "t");
  config.options["linger.ms"] = "500";
  KafkaProcess process(config, open);
  ASSERT_OK(process.opened());
  const std::vector<TestMessage> good = {
      {.value = "a"}, {.value = "b"}, {.value = "c"}};
  mock.FailNext(KafkaRequest::kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  const absl::Status met = process.Write({0, 1}, good);
  ASSERT_THAT(met, Not(IsOk()));
  EXPECT_TRUE(IsRetryable(met)) << met;
  ASSERT_OK(process.Write({0, 1}, good));
  std::vector<std::string> values;
  for (const KafkaRecord& record : ReadKafka(mock.bootstrap(), "t")) {
    values.push_back(*record.value);
  }
  EXPECT_THAT(values, ElementsAre("a", "b", "c"));
  mock.FailNext(KafkaRequest::kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  EXPECT_THAT(process.Write({1, 2}, {{.value = "d"}}),
              HasReason(Reason::ROW_REFUSED));
}

TEST_F(KafkaSinkTest, TopicThatIsNotThereIsSaid) {
  KafkaSinkConfig config = Config();
  config.topic = "nobody-made-it";
  config.options["allow.auto.create.topics"] = "false";
  const KafkaProcess process(config, KafkaTestOpen());
  EXPECT_THAT(process.opened(), HasReason(Reason::NOT_FOUND));
}

// It is asked as one who would write asks, and all the same nothing is made.
TEST_F(KafkaSinkTest, ALookLeavesNoTrace) {
  FakeFileSystem files;
  ManualExecutor io;
  const PathPolicy paths{{}};
  const auto probe = [&](const std::string& topic) {
    KafkaSinkConfig config = Config();
    config.topic = topic;
    return ProbeKafkaSink(
        config, FtModel::kExactlyOnce, {},
        {.files = files, .io = io, .clock = RealClock(), .paths = paths});
  };
  EXPECT_OK(probe(topic_));
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(OwnerCommits(), 0u);
  // Asked again and again for seconds: had the first question made it, the
  // next would find it.
  EXPECT_THAT(probe("never-made"), HasReason(Reason::NOT_FOUND));
}

// More than are taken at once.
TEST_F(KafkaSinkTest, ManyShardsAreTakenOver) {
  OutputOpen open = KafkaTestOpen();
  open.shards = 20;
  KafkaProcess first(Config(), open);
  ASSERT_OK(first.opened());
  EXPECT_THAT(*first.opened(), Each(0u));
  ASSERT_OK(first.Write({0, 1}, {{.value = "a"}}));
  OutputOpen again = KafkaTestOpen(2);
  again.shards = 20;
  KafkaProcess second(Config(), again);
  ASSERT_OK(second.opened());
  ASSERT_EQ(second.opened()->size(), 20u);
  EXPECT_EQ(second.opened()->front(), 1u);
  EXPECT_THAT(first.Write({1, 2}, {{.value = "b"}}),
              HasReason(Reason::WRITER_FENCED));
  ASSERT_OK(second.Write({1, 2}, {{.value = "b"}}));
  EXPECT_THAT(Values(), ElementsAre("a", "b"));
  // Not all stand at the checkpoint: their number stays.
  OutputOpen fewer = KafkaTestOpen(3);
  fewer.shards = 3;
  const KafkaProcess third(Config(), fewer);
  EXPECT_THAT(third.opened(), HasReason(Reason::PROGRESS_AHEAD));
  ASSERT_OK(second.Write({2, 3}, {{.value = "c"}}));
}

TEST_F(KafkaSinkTest, MoreThanItsQueueHoldsIsWrittenAllTheSame) {
  KafkaSinkConfig config = Config();
  config.options["queue.buffering.max.kbytes"] = "1000";
  config.options["compression.codec"] = "zstd";
  KafkaProcess process(config, KafkaTestOpen());
  ASSERT_OK(process.opened());
  const std::vector<TestMessage> many(5000, {.value = std::string(1000, 'x')});
  ASSERT_OK(process.Write({0, 1}, many));
  EXPECT_EQ(process.endpoint().MemoryBytes(), 0u);
  EXPECT_EQ(Read().size(), many.size());
}

}  // namespace
}  // namespace penstock::core
