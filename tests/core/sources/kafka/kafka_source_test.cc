#include "core/sources/kafka/kafka_source.h"

#include "tests/core/sources/kafka/kafka_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using KafkaSourceTest = KafkaFixture;

TEST_F(KafkaSourceTest, LatestIsResolvedAtOpen) {
  config_.start = KafkaStart::kLatest;
  topics_.Write("t", 0, {.value = "old"});
  ASSERT_OK(Open());
  EXPECT_THAT(position_, HasSubstr("[0,1,1]"));
  topics_.Write("t", 0, {.value = "new"});
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("new"));
}

TEST_F(KafkaSourceTest, StartsAtATime) {
  config_.start = KafkaStart::kTimestamp;
  config_.start_time = absl::FromUnixMillis(200);
  topics_.Write("t", 0, {.value = "a", .timestamp_ms = 100});
  topics_.Write("t", 0, {.value = "b", .timestamp_ms = 200});
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("b"));
}

TEST_F(KafkaSourceTest, StartsAtOffsets) {
  config_.start = KafkaStart::kOffsets;
  config_.start_offsets = {{.topic = "t", .partition = 0, .offset = 1}};
  topics_.Write("t", 0, {.value = "a"});
  topics_.Write("t", 0, {.value = "b"});
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("b"));
}

TEST_F(KafkaSourceTest, AStartOffsetThatIsNotThereIsAnError) {
  config_.start = KafkaStart::kOffsets;
  config_.start_offsets = {{.topic = "t", .partition = 0, .offset = 7}};
  const absl::Status status = Open();
  EXPECT_THAT(status, HasReason(Reason::POSITION_EXPIRED));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("offsets 0 to 0, not 7"));
}

TEST_F(KafkaSourceTest, ATopicThatIsNotThereIsNamed) {
  config_.topics = {"t", "gone"};
  const absl::Status status = Open();
  EXPECT_THAT(status, HasReason(Reason::NOT_FOUND));
  EXPECT_THAT(std::string(status.message()), HasSubstr("gone"));
}

TEST_F(KafkaSourceTest, SharesAreDisjointAndWhole) {
  topics_.Create("t", 4);
  for (size_t i = 0; i < 5; ++i) {
    topics_.Write("t", i, {.value = absl::StrCat(i)});
  }
  config_.share_count = 2;
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), UnorderedElementsAre("0", "2", "4"));
  config_.share_index = 1;
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), UnorderedElementsAre("1", "3"));
}

TEST_F(KafkaSourceTest, PartitionsThatAppearAreReadFromTheirBeginning) {
  config_.start = KafkaStart::kLatest;
  ASSERT_OK(Open());
  Extend();
  topics_.Create("t", 1);
  topics_.Write("t", 1, {.value = "new"});
  Pass(config_.discovery_interval);
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("new"));
  EXPECT_EQ(step.records[0].partition, 1u);
  EXPECT_THAT(step.seek(), HasSubstr("[[0,0,0],[1,0,1,1,1000]]"));
}

TEST_F(KafkaSourceTest, PartitionsAddedWhileNobodyReadAreRead) {
  topics_.Write("t", 0, {.value = "a"});
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  Close();
  topics_.Create("t", 1);
  topics_.Write("t", 1, {.value = "b"});
  ASSERT_OK(Open(seek));
  Extend();
  Pass(absl::Seconds(1));
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("b"));
}

TEST_F(KafkaSourceTest, AStepWithAPartitionThatAppearedIsReplayed) {
  ASSERT_OK(Open());
  const std::string base = position_;
  Extend();
  topics_.Create("t", 1);
  topics_.Write("t", 1, {.value = "new"});
  Pass(config_.discovery_interval);
  const RecordedStep step = Queue();
  ASSERT_OK(Open(base));
  const RecordedStep again = Replay(step);
  EXPECT_EQ(again.records, step.records);
  EXPECT_EQ(again.replay_hash, step.hash.value);
}

// Topics are numbered in the order in which steps named them.
TEST_F(KafkaSourceTest, WhatABoundedInputAddedIsReplayedWhenMoreAppeared) {
  config_.topics = {};
  config_.topic_pattern = "*";
  config_.stop_at_end = true;
  topics_.Write("t", 0, {.value = "t"});
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  topics_.Create("b", 1);
  topics_.Write("b", 0, {.value = "b"});
  ASSERT_OK(Open(seek));
  Extend();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("b"));
  topics_.Create("a", 1);
  topics_.Write("a", 0, {.value = "a"});
  ASSERT_OK(Open(seek));
  const RecordedStep again = Replay(step);
  EXPECT_OK(Fatal());
  EXPECT_EQ(again.records, step.records);
  EXPECT_EQ(again.replay_hash, step.hash.value);
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("a"));
  EXPECT_EQ(consumer_->transcript().end_of_inputs, 1);
}

TEST_F(KafkaSourceTest, APatternFindsTopicsButNotKafkasOwn) {
  config_.topics = {};
  config_.topic_pattern = "*";
  topics_.Create("__consumer_offsets", 1);
  topics_.Write("__consumer_offsets", 0, {.value = "own"});
  topics_.Create("u", 1);
  topics_.Write("t", 0, {.value = "t"});
  topics_.Write("u", 0, {.value = "u"});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), UnorderedElementsAre("t", "u"));
  topics_.Create("a", 1);
  topics_.Write("a", 0, {.value = "a"});
  Pass(config_.discovery_interval);
  const RecordedStep next = Queue();
  EXPECT_THAT(ValuesOf(next), ElementsAre("a"));
  // Behind those that were known.
  EXPECT_EQ(next.records[0].partition, KafkaPosition::IdOf(2, 0));
}

TEST_F(KafkaSourceTest, KeysTimesAndWholeMessagesAreKept) {
  topics_.Write("t", 0, {.key = "k", .value = "two\nlines"});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  ASSERT_EQ(step.records.size(), 1u);
  EXPECT_EQ(step.records[0].key, "k");
  EXPECT_EQ(step.records[0].value, "two\nlines");
}

// B079.
TEST_F(KafkaSourceTest, TombstonesAreIgnoredAndEmptyIsNotNull) {
  is_raw_ = false;
  topics_.Write("t", 0, {.value = "{\"id\":1}"});
  topics_.Write("t", 0, {.key = "a"});
  topics_.Write("t", 0, {.value = ""});
  topics_.Write("t", 0, {.value = "{\"id\":3}"});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("{\"id\":1}", "{\"id\":3}"));
  EXPECT_THAT(step.seek(), HasSubstr("[0,0,4,1,1000]"));
  EXPECT_THAT(consumer_->transcript().parse_errors, IsEmpty());
  EXPECT_EQ(Metric("kafka_ignored_messages_total"), 2);
}

TEST_F(KafkaSourceTest, TombstonesAreDeletesByChoice) {
  config_.tombstones = KafkaTombstones::kPass;
  topics_.Write("t", 0, {.key = "a"});
  topics_.Write("t", 0, {.key = "a", .value = ""});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  ASSERT_EQ(step.records.size(), 2u);
  EXPECT_EQ(step.records[0].value, std::nullopt);
  EXPECT_EQ(step.records[0].op, Op::kDelete);
  EXPECT_EQ(step.records[0].key, "a");
  EXPECT_EQ(step.records[1].value, "");
}

TEST_F(KafkaSourceTest, HeadersChooseMessages) {
  config_.header_filter = {{.name = "type", .value = "order"},
                           {.name = "test", .is_negated = true}};
  topics_.Write("t", 0, {.value = "a", .headers = {{"type", "order"}}});
  topics_.Write("t", 0, {.value = "b", .headers = {{"type", "other"}}});
  topics_.Write("t", 0, {.value = "c", .headers = {{"type", std::nullopt}}});
  topics_.Write("t", 0,
                {.value = "d", .headers = {{"type", "order"}, {"test", "1"}}});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("a"));
  EXPECT_THAT(step.seek(), HasSubstr("[0,0,4,1,1000]"));
}

TEST_F(KafkaSourceTest, ABadMessageCostsItselfOnly) {
  is_raw_ = false;
  topics_.Write("t", 0, {.value = "{\"open\": \"quote"});
  topics_.Write("t", 0, {.value = "{\"id\":1}"});
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("{\"id\":1}"));
  const auto errors = consumer_->transcript().parse_errors;
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].input, "t/0");
  EXPECT_EQ(errors[0].byte_offset, 0u);
}

TEST_F(KafkaSourceTest, RecordsOfOneMessageShareItsOffset) {
  is_raw_ = false;
  topics_.Write("t", 0, {.key = "k", .value = "{\"id\":1}\n{\"id\":2}"});
  topics_.Write("t", 0, {.value = "{\"id\":3}"});
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  ASSERT_EQ(step.records.size(), 3u);
  EXPECT_EQ(step.records[1].offset, 0);
  EXPECT_EQ(step.records[1].key, "k");
  EXPECT_EQ(step.records[2].offset, 1);
  EXPECT_EQ(step.records[2].key, std::nullopt);
}

// What is committed shows how far the connector came: never further.
TEST_F(KafkaSourceTest, CommitsWhatIsCheckpointed) {
  config_.options["group.id"] = "mine";
  topics_.Write("t", 0, {.value = "a"});
  ASSERT_OK(Open());
  Extend();
  Queue(5);
  Pass(absl::Seconds(1));
  EXPECT_THAT(topics_.committed(), IsEmpty());
  consumer_->CheckpointWatcher()->Advance(5);
  Pass(absl::Seconds(1));
  EXPECT_THAT(topics_.committed(), IsEmpty());
  consumer_->CheckpointWatcher()->Advance(6);
  Pass(absl::Seconds(1));
  EXPECT_THAT(topics_.committed(), ElementsAre(testing::Pair("t/0", 1)));
}

TEST_F(KafkaSourceTest, LagIsWhatIsThereAndNotRead) {
  ASSERT_OK(Open());
  Extend();
  Send(PauseCommand{});
  topics_.Write("t", 0, {.value = "a"});
  topics_.Write("t", 0, {.value = "b"});
  Pass(absl::Seconds(1));
  EXPECT_EQ(Metric("kafka_lag_offsets"), 2);
  Extend();
  Pass(absl::Seconds(1));
  EXPECT_EQ(Metric("kafka_lag_offsets"), 0);
}

TEST_F(KafkaSourceTest, TheClientsHealthIsReportedWhenItChanges) {
  ASSERT_OK(Open());
  Extend();
  topics_.SetHealth({.condition = Condition::kDegraded, .reason = "down"});
  executor_.RunUntilIdle();
  Pass(absl::Seconds(1));
  topics_.SetHealth({});
  executor_.RunUntilIdle();
  const auto health = consumer_->transcript().health;
  ASSERT_EQ(health.size(), 2u);
  EXPECT_EQ(health[0].condition, Condition::kDegraded);
  EXPECT_EQ(health[1].condition, Condition::kOk);
}

// Partition after partition, each in its order: how partitions are interleaved
// is no promise from one step to several.
std::vector<OwnedRecord> ByPartition(std::vector<OwnedRecord> records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const OwnedRecord& one, const OwnedRecord& other) {
                     return one.partition < other.partition;
                   });
  return records;
}

// The records of the steps from `first` on.
std::vector<OwnedRecord> RecordsFrom(
    const std::vector<RecordingConsumer::RecordedStep>& steps, size_t first) {
  std::vector<OwnedRecord> records;
  for (size_t i = first; i < steps.size(); ++i) {
    records.insert(records.end(), steps[i].records.begin(),
                   steps[i].records.end());
  }
  return records;
}

// From any place, after any number of replayed steps, the rest comes in one.
TEST_F(KafkaSourceTest, AnySeekAndAnyNumberOfReplaysLeaveTheSameRest) {
  topics_.Create("t", 1);
  for (int i = 0; i < 12; ++i) {
    topics_.Write("t", static_cast<size_t>(i % 2),
                  {.key = absl::StrCat("k", i % 3), .value = absl::StrCat(i)});
    if (i % 5 == 0) topics_.WriteHidden("t", 0, 1);
  }
  config_.block_bytes = 1;
  limits_.batch_records_max = 2;
  ASSERT_OK(Open());
  std::vector<std::string> seeks = {position_};
  std::vector<RecordedStep> steps;
  Extend();
  while (steps.size() < 6) {
    steps.push_back(Queue());
    seeks.push_back(steps.back().seek());
  }
  limits_ = {};
  for (size_t from = 0; from <= steps.size(); ++from) {
    for (size_t to = from; to <= steps.size(); ++to) {
      ASSERT_OK(Open(seeks[from]));
      for (size_t i = from; i < to; ++i) {
        ASSERT_EQ(Replay(steps[i]).replay_hash, steps[i].hash.value);
      }
      Extend();
      const RecordedStep rest = Queue();
      EXPECT_EQ(ByPartition(rest.records), ByPartition(RecordsFrom(steps, to)))
          << from << " to " << to;
      EXPECT_THAT(rest.seek(), HasSubstr("[1,")) << from;
    }
  }
}

TEST_F(KafkaSourceTest, AColumnThatIsNotThereIsNamed) {
  is_raw_ = false;
  schema_.columns = {{.name = "id", .type = SqlType::kBigint}};
  config_.columns.offset = "at";
  const absl::Status status = Open();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"),
            "source.kafka.columns.offset");
}

TEST(KafkaConfigTest, FieldsAreChecked) {
  KafkaSourceConfig config;
  EXPECT_THAT(CheckKafkaSourceConfig(config),
              HasReason(Reason::INVALID_CONFIG));
  config.topics = {"orders"};
  EXPECT_THAT(std::string(CheckKafkaSourceConfig(config).message()),
              HasSubstr("bootstrap.servers"));
  config.options["bootstrap.servers"] = "a:1";
  EXPECT_OK(CheckKafkaSourceConfig(config));
  config.options["auto.offset.reset"] = "latest";
  EXPECT_THAT(std::string(CheckKafkaSourceConfig(config).message()),
              HasSubstr("auto.offset.reset"));
  config.options.erase("auto.offset.reset");
  config.options["isolation.level"] = "read_uncommitted";
  EXPECT_THAT(std::string(CheckKafkaSourceConfig(config).message()),
              HasSubstr("isolation.level"));
  config.options.erase("isolation.level");
  config.topic_pattern = "*";
  EXPECT_THAT(CheckKafkaSourceConfig(config),
              HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
