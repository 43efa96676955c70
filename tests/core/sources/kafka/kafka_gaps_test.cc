// What is between messages: offsets without one, messages that expired, topics
// made anew.
#include "core/kafka/kafka_error.h"
#include "tests/core/sources/kafka/kafka_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using KafkaGapsTest = KafkaFixture;

// B081: 0, 1, a mark at 2, 3 and 4 compacted, 5, a mark at 6.
void WriteWithGaps(FakeKafkaTopics& topics) {
  topics.Write("t", 0, {.value = "0"});
  topics.Write("t", 0, {.value = "1"});
  topics.WriteHidden("t", 0, 3);
  topics.Write("t", 0, {.value = "5"});
  topics.WriteHidden("t", 0, 1);
}

TEST_F(KafkaGapsTest, ABoundedInputEndsBehindMarks) {
  config_.stop_at_end = true;
  WriteWithGaps(topics_);
  ASSERT_OK(Open());
  Extend();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("0", "1", "5"));
  EXPECT_THAT(step.seek(), HasSubstr("[0,0,7,2,1000]"));
  EXPECT_EQ(consumer_->transcript().end_of_inputs, 1u);
}

TEST_F(KafkaGapsTest, AReplayEndsBehindMarks) {
  WriteWithGaps(topics_);
  ASSERT_OK(Open());
  const std::string base = position_;
  Extend();
  const RecordedStep step = Queue();
  ASSERT_OK(Open(base));
  const RecordedStep again = Replay(step);
  EXPECT_EQ(again.records, step.records);
  EXPECT_EQ(again.replay_hash, step.hash.value);
}

// B082.
TEST_F(KafkaGapsTest, ThePositionMovesThroughARunOfAbortedMessages) {
  topics_.WriteHidden("t", 0, 10'000);
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(Queue().seek(), HasSubstr("[0,0,10000]"));
  topics_.Write("t", 0, {.value = "only"});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("only"));
}

// B084.
TEST_F(KafkaGapsTest, ExpiredMessagesAreAnErrorThatNamesThem) {
  topics_.WriteHidden("t", 0, 1000);
  ASSERT_OK(Open(R"({"version":1,"topics":[{"topic":"t",)"
                 R"("ranges":[[0,50,100]]}]})"));
  topics_.Expire("t", 0, 500);
  Extend();
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
  const ErrorMetadata metadata = GetErrorInfo(Fatal())->metadata;
  EXPECT_EQ(metadata.at("partition"), "t/0");
  EXPECT_EQ(metadata.at("wanted"), "100");
  EXPECT_EQ(metadata.at("available"), "500");
}

TEST_F(KafkaGapsTest, ExpiredMessagesAreACountedGapByChoice) {
  config_.expired = KafkaExpired::kSkip;
  topics_.WriteHidden("t", 0, 1000);
  topics_.Write("t", 0, {.value = "next"});
  ASSERT_OK(Open(R"({"version":1,"topics":[{"topic":"t",)"
                 R"("ranges":[[0,50,100]]}]})"));
  topics_.Expire("t", 0, 500);
  Extend();
  EXPECT_OK(Fatal());
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("next"));
  EXPECT_EQ(Metric("kafka_skipped_offsets_total"), 400);
}

TEST_F(KafkaGapsTest, AReplayNeverPassesAGap) {
  config_.expired = KafkaExpired::kSkip;
  topics_.Write("t", 0, {.value = "0"});
  topics_.Write("t", 0, {.value = "1"});
  ASSERT_OK(Open());
  const std::string base = position_;
  Extend();
  const RecordedStep step = Queue();
  topics_.Expire("t", 0, 1);
  ASSERT_OK(Open(base));
  Replay(step);
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, ATopicMadeAnewIsNoticedAtOpen) {
  topics_.Write("t", 0, {.value = "0"});
  topics_.Write("t", 0, {.value = "1"});
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  Close();
  topics_.Delete("t");
  EXPECT_THAT(Open(seek), HasReason(Reason::NOT_FOUND));
  topics_.Create("t", 1);
  topics_.Write("t", 0, {.value = "another"});
  EXPECT_THAT(Open(seek), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, ATopicMadeAnewThatHasGrownIsNoticed) {
  for (const char* const value : {"0", "1"}) {
    topics_.Write("t", 0, {.value = value, .timestamp_ms = 1'000});
  }
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  topics_.At("t", 0) = {};
  for (int i = 0; i < 5; ++i) {
    topics_.Write("t", 0, {.value = "another", .timestamp_ms = 2'000});
  }
  ASSERT_OK(Open(seek));
  Extend();
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
  const ErrorMetadata metadata = GetErrorInfo(Fatal())->metadata;
  EXPECT_EQ(metadata.at("partition"), "t/0");
  EXPECT_EQ(metadata.at("offset"), "1");
  EXPECT_EQ(metadata.at("expected_timestamp_ms"), "1000");
  EXPECT_EQ(metadata.at("found_timestamp_ms"), "2000");
}

TEST_F(KafkaGapsTest, ATopicMadeAnewThatGrowsOnlyThenIsNoticed) {
  topics_.Write("t", 0, {.value = "0"});
  topics_.Write("t", 0, {.value = "1"});
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  ASSERT_OK(Open(seek));
  // Behind the look at its end.
  topics_.At("t", 0) = {};
  topics_.Write("t", 0, {.value = "another"});
  Extend();
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, ATopicMadeAnewIsNoticedBehindReplays) {
  topics_.Write("t", 0, {.value = "0", .timestamp_ms = 1'000});
  ASSERT_OK(Open());
  const std::string base = position_;
  Extend();
  const RecordedStep step = Queue();
  topics_.At("t", 0) = {};
  for (int i = 0; i < 2; ++i) {
    topics_.Write("t", 0, {.value = "another", .timestamp_ms = 2'000});
  }
  ASSERT_OK(Open(base));
  Skip(step);
  Extend();
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, TheLastMessageIsNotReadTwice) {
  topics_.Write("t", 0, {.value = "0"});
  topics_.WriteHidden("t", 0, 3);
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  EXPECT_THAT(seek, HasSubstr("[0,0,4,4,1000]"));
  topics_.Write("t", 0, {.value = "1"});
  ASSERT_OK(Open(seek));
  Extend();
  EXPECT_OK(Fatal());
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("1"));
}

TEST_F(KafkaGapsTest, TheLastMessageMayHaveExpiredMeanwhile) {
  topics_.Write("t", 0, {.value = "0"});
  ASSERT_OK(Open());
  Extend();
  const std::string seek = Queue().seek();
  topics_.Write("t", 0, {.value = "1"});
  ASSERT_OK(Open(seek));
  topics_.Expire("t", 0, 1);
  Extend();
  EXPECT_OK(Fatal());
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("1"));
}

TEST_F(KafkaGapsTest, ATopicMadeAnewIsNoticedWhileItIsRead) {
  config_.expired = KafkaExpired::kSkip;
  topics_.WriteHidden("t", 0, 10);
  ASSERT_OK(Open());
  Extend();
  topics_.At("t", 0) = {};
  executor_.RunUntilIdle();
  Send(PauseCommand{});
  topics_.Write("t", 0, {.value = "another"});
  Extend();
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
  EXPECT_THAT(std::string(Fatal().message()), HasSubstr("made anew"));
}

TEST_F(KafkaGapsTest, ATopicThatIsDeletedIsNoticedWhileItIsRead) {
  ASSERT_OK(Open());
  Extend();
  topics_.Delete("t");
  Pass(config_.discovery_interval);
  Pass(config_.discovery_interval);
  EXPECT_OK(Fatal());
  Pass(config_.discovery_interval);
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, ATopicThatIsDeletedIsNoticedInABoundedInput) {
  config_.stop_at_end = true;
  topics_.Write("t", 0, {.value = "0"});
  ASSERT_OK(Open());
  topics_.Delete("t");
  Extend();
  for (int i = 0; i < 3; ++i) Pass(config_.discovery_interval);
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(KafkaGapsTest, APartitionThatIsDeletedIsNoticedWhileItIsRead) {
  topics_.Create("t", 1);
  ASSERT_OK(Open());
  Extend();
  topics_.Delete("t");
  topics_.Create("t", 1);
  for (int i = 0; i < 3; ++i) Pass(config_.discovery_interval);
  EXPECT_THAT(Fatal(), HasReason(Reason::POSITION_EXPIRED));
}

// Brokers answer so when their metadata is out of date.
TEST_F(KafkaGapsTest, ABrokerThatDoesNotKnowTheTopicForNowIsNotBelieved) {
  ASSERT_OK(Open());
  Extend();
  topics_.Break(
      MakeKafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "read"));
  Pass(absl::Seconds(1));
  EXPECT_OK(Fatal());
  topics_.Break(absl::OkStatus());
  topics_.Write("t", 0, {.value = "0"});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("0"));
}

}  // namespace
}  // namespace penstock::core
