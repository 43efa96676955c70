// End of input: exactly one final step.
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace penstock::core {
namespace {

using testing::ElementsAre;

class EndOfInputTest : public testing::Test {
 protected:
  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void ExpectOver(Step step) {
    const Answer<QueueReply> answer = harness_.QueueStep(step);
    ASSERT_OK(answer.status());
    ASSERT_TRUE(answer->no_step.has_value());
    EXPECT_EQ(answer->no_step->reason, NoStepReason::kEndOfInput);
    EXPECT_TRUE(answer->no_step->end_of_input);
  }

  Harness harness_;
};

TEST_F(EndOfInputTest, LastRecordsMakeTheFinalStep) {
  harness_.source.AppendNumbered("k", 5);
  harness_.source.End();
  Start();
  const auto result = harness_.MustQueue(0);
  EXPECT_EQ(result->amount.records, 5u);
  EXPECT_TRUE(result->end_of_input);
  EXPECT_EQ(result->stopped_because, StopReason::kEndOfInput);
  ExpectOver(1);
  ExpectOver(1);
  EXPECT_EQ(harness_.made_steps(), 1u);
}

TEST_F(EndOfInputTest, EndBehindTheLastRecordsMakesAnEmptyStep) {
  harness_.source.AppendNumbered("k", 5);
  Start();
  EXPECT_FALSE(harness_.MustQueue(0)->end_of_input);
  harness_.source.End();
  const auto result = harness_.MustQueue(1);
  EXPECT_TRUE(result->amount.IsEmpty());
  EXPECT_TRUE(result->end_of_input);
  ExpectOver(2);
}

TEST_F(EndOfInputTest, EmptyInputMakesOneEmptyStep) {
  harness_.source.End();
  Start();
  const auto result = harness_.MustQueue(0);
  EXPECT_TRUE(result->amount.IsEmpty());
  EXPECT_TRUE(result->end_of_input);
  EXPECT_EQ(result->hash->count, 0u);
  ExpectOver(1);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
}

TEST_F(EndOfInputTest, EndsAWait) {
  Start();
  QueueRequest queue;
  queue.step = 0;
  queue.wait = absl::Seconds(100);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.End();
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->result->end_of_input);
}

TEST_F(EndOfInputTest, LimitedStepBeforeTheEndIsNotFinal) {
  harness_.source.AppendNumbered("k", 15);
  harness_.source.End();
  Start();
  QueueRequest queue;
  queue.step = 0;
  queue.max_records = 10;
  EXPECT_FALSE(harness_.MustQueue(queue)->end_of_input);
  EXPECT_TRUE(harness_.MustQueue(1)->end_of_input);
}

TEST_F(EndOfInputTest, IsAFlagAndPauseAndExtendStayLegal) {
  harness_.source.End();
  Start();
  harness_.MustQueue(0);
  harness_.MustPause();
  ExpectOver(1);
  harness_.MustExtend();
  ExpectOver(1);
  EXPECT_TRUE(harness_.Status().end_of_input);
}

TEST_F(EndOfInputTest, ReplayedFinalStepIsNotMadeAgain) {
  harness_.source.AppendNumbered("k", 5);
  harness_.source.End();
  Start();
  const auto result = harness_.MustQueue(0);
  harness_.MustClose();
  harness_.request.journaled_steps = 1;
  harness_.MustOpen();
  EXPECT_OK(harness_.Replay(*result, 0).status());
  harness_.MustExtend();
  ExpectOver(1);
}

TEST_F(EndOfInputTest, ClosedReaderNeedsNotAnswerBehindTheEnd) {
  harness_.source.AppendNumbered("k", 5);
  Start();
  EXPECT_FALSE(harness_.MustQueue(0)->end_of_input);
  harness_.source.End();
  harness_.source.Die();
  // Nobody can say how to replay an empty step, so none is made.
  ExpectOver(1);
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
}

TEST_F(EndOfInputTest, ClosedReaderBelowExactlyOnceStillEndsWithAStep) {
  harness_.request.spec.level = FtModel::kAtLeastOnce;
  harness_.source.AppendNumbered("k", 5);
  Start();
  const auto last = harness_.MustQueue(0);
  harness_.source.End();
  harness_.source.Die();
  const auto result = harness_.MustQueue(1);
  EXPECT_TRUE(result->end_of_input);
  EXPECT_TRUE(result->amount.IsEmpty());
  EXPECT_EQ(result->resume, last->resume);
  ExpectOver(2);
}

// A step would offer what the last one changed as a place to begin at.
TEST_F(EndOfInputTest, ClosedReaderBehindAChangeEndsWithoutAStep) {
  harness_.request.spec.level = FtModel::kAtLeastOnce;
  harness_.source.AppendNumbered("k", 5);
  Start();
  harness_.source.GiveChanges();
  EXPECT_FALSE(harness_.MustQueue(0)->position_complete);
  harness_.source.End();
  harness_.source.Die();
  ExpectOver(1);
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(10));
  queue.checkpoint_requested = true;
  const Answer<QueueReply> answer = harness_.Queue(queue);
  ASSERT_OK(answer.status());
  ASSERT_TRUE(answer->no_step.has_value());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kEndOfInput);
  EXPECT_EQ(harness_.made_steps(), 1u);
}

}  // namespace
}  // namespace penstock::core
