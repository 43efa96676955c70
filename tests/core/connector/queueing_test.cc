// What a Queue answers, and when.
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(QueueTest, AnswersWithoutAStepWhenNothingIsStagedAndNobodyMayWait) {
  Harness harness;
  harness.MustOpen();
  harness.MustExtend();
  const Answer<QueueReply> answer = harness.QueueStep(1);
  ASSERT_OK(answer.status());
  ASSERT_TRUE(answer->no_step.has_value());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kWaitOver);
  EXPECT_FALSE(answer->no_step->end_of_input);
  // The reader was not even asked, and no timer is left behind.
  EXPECT_THAT(harness.source.commands(), ElementsAre("Extend"));
  EXPECT_EQ(harness.executor.timer_count(), 0u);
}

TEST(QueueTest, AnswersInsideTheCallWhenTheConnectorIsIdle) {
  Harness harness;
  harness.MustOpen();
  harness.MustExtend();
  Answer<QueueReply> answer;
  QueueRequest queue;
  queue.step = 1;
  harness.connector->Queue(queue, answer.Callback());
  EXPECT_TRUE(answer.came());
  EXPECT_EQ(harness.executor.ready_count(), 0u);
}

TEST(QueueTest, MakesAStepOfWhatIsStaged) {
  Harness harness;
  harness.source.AppendNumbered("k", 25);
  harness.MustOpen();
  harness.MustExtend();
  const auto result = harness.MustQueue(7);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->step, 7u);
  EXPECT_EQ(result->amount.records, 25u);
  EXPECT_EQ(result->stopped_because, StopReason::kWaitOver);
  ASSERT_TRUE(result->hash.has_value());
  EXPECT_EQ(result->hash->count, 25u);
  EXPECT_EQ(result->resume.seek(), "{\"ranges\":[[0,25]]}");
  EXPECT_TRUE(result->position_complete);
  EXPECT_EQ(result->watermarks.size(), 1u);
  EXPECT_EQ(harness.Status().made_steps, 8u);
}

TEST(QueueTest, WritesNothingBeforeRelease) {
  Harness harness;
  harness.source.AppendNumbered("k", 25);
  harness.MustOpen();
  harness.MustExtend();
  harness.MustQueue(0);
  harness.Advance(absl::Seconds(10));
  EXPECT_THAT(harness.Lines(), IsEmpty());
  EXPECT_EQ(harness.connector->completed()->value(), 0u);
  EXPECT_OK(harness.Release(1).status());
  EXPECT_EQ(harness.Lines().size(), 25u);
  EXPECT_EQ(harness.connector->completed()->value(), 1u);
}

}  // namespace
}  // namespace penstock::core
