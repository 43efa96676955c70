// Release: what it permits and what it frees (`protocol.md` rule 4).
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ReleaseTest : public testing::Test {
 protected:
  ReleaseTest() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void MakeSteps(Step begin, Step end) {
    for (Step step = begin; step < end; ++step) {
      harness_.source.AppendNumbered("k", 10, 10 * step);
      harness_.MustQueue(step);
    }
  }

  Harness harness_;
};

TEST_F(ReleaseTest, NothingIsVisibleBefore) {
  MakeSteps(0, 2);
  harness_.Advance(absl::Seconds(60));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.connector->completed()->value(), 0u);
}

TEST_F(ReleaseTest, PermitsTheStepsBelowAndNoOther) {
  MakeSteps(0, 3);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(20));
  EXPECT_EQ(harness_.connector->completed()->value(), 2u);
  EXPECT_THAT(harness_.Status().retained_steps, ElementsAre(2));
}

TEST_F(ReleaseTest, AboveTheLastStepIsRefusedWithoutEffect) {
  MakeSteps(0, 2);
  const Answer<Nothing> answer = harness_.Release(3);
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasReason(Reason::RELEASE_AHEAD)));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.Status().released_steps, 0u);
}

TEST_F(ReleaseTest, LowerThanBeforeIsFine) {
  MakeSteps(0, 2);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.Status().released_steps, 2u);
}

// Every command comes with one, and most release nothing.
TEST_F(ReleaseTest, OfNothingNewWakesNoShard) {
  MakeSteps(0, 2);
  EXPECT_OK(harness_.Release(2).status());
  for (const Step released : {2, 1, 0}) {
    bool came = false;
    harness_.connector->Release(released,
                                [&](const absl::Status&) { came = true; });
    EXPECT_EQ(harness_.executor.RunUntilIdle(), 0u);
    EXPECT_TRUE(came);
  }
}

TEST_F(ReleaseTest, OvertakesARunningQueueAndWhatWaitsBehindIt) {
  MakeSteps(0, 1);
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 10, 10);
  const Answer<QueueReply> queue = harness_.QueueStep(1);
  const Answer<Nothing> pause = harness_.Pause();
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
  EXPECT_FALSE(queue.came());
  EXPECT_FALSE(pause.came());
}

TEST_F(ReleaseTest, RunningStepIsNotReleasable) {
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 10);
  const Answer<QueueReply> queue = harness_.QueueStep(0);
  EXPECT_THAT(harness_.Release(1).status(), HasReason(Reason::RELEASE_AHEAD));
  EXPECT_FALSE(queue.came());
}

TEST_F(ReleaseTest, ReleasedStepIsGoneForQueue) {
  MakeSteps(0, 2);
  EXPECT_OK(harness_.Release(1).status());
  QueueRequest again;
  again.step = 0;
  EXPECT_THAT(harness_.Queue(again).status(), HasReason(Reason::STEP_RELEASED));
  EXPECT_EQ(harness_.connector->Retained(0), nullptr);
  EXPECT_NE(harness_.connector->Retained(1), nullptr);
}

TEST_F(ReleaseTest, StepsWithJumpingNumbersCompleteAsCounts) {
  harness_.source.AppendNumbered("k", 10);
  harness_.MustQueue(100);
  harness_.source.AppendNumbered("k", 10, 10);
  harness_.MustQueue(500);
  EXPECT_EQ(harness_.connector->completed()->value(), 100u);
  EXPECT_OK(harness_.Release(101).status());
  EXPECT_EQ(harness_.connector->completed()->value(), 500u);
  EXPECT_OK(harness_.Release(501).status());
  EXPECT_EQ(harness_.connector->completed()->value(), 501u);
}

TEST_F(ReleaseTest, StepIsCompletedOnlyWhenEveryShardConfirmed) {
  harness_.source.AppendNumbered("k", 10);
  harness_.MustQueue(0);
  // Shard 1 does not get through for a while.
  harness_.Unreachable(1);
  EXPECT_OK(harness_.Release(1).status());
  harness_.Advance(absl::Seconds(5));
  EXPECT_FALSE(harness_.database.Lines(harness_.table(), 0).empty());
  EXPECT_EQ(harness_.connector->completed()->value(), 0u);
  harness_.Reachable();
  harness_.Advance(absl::Seconds(30));
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
}

TEST(ReleaseBelowExactlyOnceTest, OnlyFreesResults) {
  Harness harness;
  harness.request.spec.level = FtModel::kAtLeastOnce;
  harness.source.AppendNumbered("k", 10);
  harness.MustOpen();
  harness.MustExtend();
  harness.MustQueue(0);
  harness.Advance(absl::Seconds(1));
  EXPECT_EQ(harness.connector->completed()->value(), 1u);
  EXPECT_NE(harness.connector->Retained(0), nullptr);
  EXPECT_OK(harness.Release(1).status());
  EXPECT_EQ(harness.connector->Retained(0), nullptr);
}

}  // namespace
}  // namespace penstock::core
