// A controller that starts where connectors live: it goes on with those that
// agree with its journal, and with no others.
#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::SizeIs;

class ControllerAdoptTest : public ControllerTest {
 protected:
  ControllerAdoptTest() {
    options_.adopt_living = true;
    options_.checkpoint_interval = absl::ZeroDuration();
  }
  // 30 records are in the target, none of their 3 steps is checkpointed; the
  // controller is gone, the connector lives.
  void RunThreeStepsAndCrash() {
    AddConnector(30).ends = false;
    Start();
    ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 3; }));
    RunFor(absl::Seconds(30));
    Crash();
  }
  void RunTwoStepsAndCrashBeforeTheSecondIsJournaled() {
    AddConnector(30).ends = false;
    hook_ = [this](FaultPoint point, const std::string&) {
      if (point == FaultPoint::kResultReceived && ends_ == 0 &&
          ++received_ == 2) {
        Crash();
      }
    };
    Start();
    ASSERT_TRUE(RunUntil([&] { return controller_ == nullptr; }));
    hook_ = nullptr;
    RunFor(absl::Seconds(30));
    ASSERT_THAT(Stored().journal, SizeIs(1));
  }
  void FinishAndExpectExactlyOnce() {
    AddRecords(30);
    Outside().ends = true;
    worker_.LookAgain();
    ASSERT_TRUE(RunToEnd());
    EXPECT_THAT(*end_, IsOk());
    ExpectExactlyOnce();
  }
  // Results that came while the first controller lived.
  int received_ = 0;
  // What was made is replayed, in a life of its own.
  void ExpectReopened(const std::string& why) {
    EXPECT_FALSE(Progress().adopted);
    EXPECT_EQ(Progress().not_adopted, why);
    EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
    EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 3u);
  }
  void StartAndRun() {
    Start();
    ASSERT_TRUE(RunUntil([&] { return Progress().state == "running"; }));
  }
};

TEST_F(ControllerAdoptTest, ALivingConnectorIsNeitherReopenedNorReplayed) {
  RunThreeStepsAndCrash();
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(Progress().not_adopted, "");
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kDelete), 1u) << "before the open";
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 0u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kExtend), 1u) << "it is running";
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, WhatWasMadeAndNotJournaledIsFetched) {
  RunTwoStepsAndCrashBeforeTheSecondIsJournaled();
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps >= 2; }));
  FinishAndExpectExactlyOnce();
}

// The worker was looked at while the step came to its end.
TEST_F(ControllerAdoptTest, AStepThatIsBothRunningAndRetainedIsFetchedOnce) {
  RunTwoStepsAndCrashBeforeTheSecondIsJournaled();
  worker_.EditStatuses([](core::ConnectorStatus& status) {
    if (status.made_steps != 2) return;
    status.made_steps = 1;
    status.running_step = 1;
  });
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps >= 2; }));
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, AStepThatRunsIsAwaitedAndJournaled) {
  AddConnector(10).ends = false;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 1; }));
  RunFor(absl::Seconds(1));
  Crash();
  const size_t asked = worker_.CountOf(ControlVerb::kQueue);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) > asked; }));
  EXPECT_EQ(Progress().state, "adopting");
  EXPECT_FALSE(Progress().adopted) << "a step runs";
  AddRecords(10);
  worker_.LookAgain();
  ASSERT_TRUE(RunUntil([&] { return Progress().state == "running"; }));
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 2; }));
  EXPECT_THAT(Stored().journal, SizeIs(2));
  FinishAndExpectExactlyOnce();
}

// It is asked again, not reopened: that worker would refuse the open, too.
TEST_F(ControllerAdoptTest, OneThatDrainsWithItsWorkerIsAdoptedAndAskedAgain) {
  RunThreeStepsAndCrash();
  disk_.state.connectors.at("c").user_paused = true;
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kPause) == 1; }));
  Crash();
  disk_.state.connectors.at("c").user_paused = false;
  const size_t extended = worker_.CountOf(ControlVerb::kExtend);
  worker_.FailNext(ControlVerb::kExtend, 2,
                   MakeError(Reason::SHUTTING_DOWN, "this worker drains"));
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kExtend), extended + 3);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, OneThatFailedIsReopened) {
  RunThreeStepsAndCrash();
  worker_.Fail("c");
  StartAndRun();
  EXPECT_FALSE(Progress().adopted);
  EXPECT_EQ(Progress().not_adopted, "other_state");
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 3u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, OneOfAnotherOpenIsReopened) {
  RunThreeStepsAndCrash();
  // A controller reserved another writer and died before it could open.
  ++disk_.state.connectors.at("c").open_number;
  StartAndRun();
  EXPECT_FALSE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, OneOfAnotherIncarnationIsReopened) {
  RunThreeStepsAndCrash();
  worker_.EditStatuses([](core::ConnectorStatus& status) {
    status.incarnation = "of another store";
  });
  StartAndRun();
  ExpectReopened("other_life");
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, OneWithAnotherSpecIsReopened) {
  RunThreeStepsAndCrash();
  options_.check_spec_change = [](const std::string&, const std::string&) {
    return TakesEffect::kAtOnce;
  };
  options_.connectors[0].spec_bytes += "#a comment";
  StartAndRun();
  EXPECT_FALSE(Progress().adopted);
  EXPECT_EQ(Progress().not_adopted, "other_specification");
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, AnotherLifeOfTheWorkerIsReopenedInTheMiddle) {
  RunThreeStepsAndCrash();
  worker_.FailNext(ControlVerb::kRelease, 1,
                   MakeError(Reason::INSTANCE_MISMATCH, "opened anew"));
  StartAndRun();
  EXPECT_FALSE(Progress().adopted);
  EXPECT_EQ(Progress().not_adopted, "instance_mismatch");
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 3u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, LostAnswersAreAskedForAgain) {
  RunThreeStepsAndCrash();
  worker_.LoseReplies(ControlVerb::kGet, 1);
  worker_.LoseReplies(ControlVerb::kRelease, 1);
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, AWorkerThatIsAwayIsWaitedForAndReopened) {
  RunThreeStepsAndCrash();
  worker_.SetAway(true);
  Start();
  RunFor(absl::Minutes(1));
  worker_.SetAway(false);
  ASSERT_TRUE(RunUntil([&] { return Progress().state == "running"; }));
  ExpectReopened("unavailable");
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, AUsersPauseHolds) {
  RunThreeStepsAndCrash();
  disk_.state.connectors.at("c").user_paused = true;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().adopted; }));
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kPause) == 1; }));
  controller_->SetUserPaused("c", false, [](const absl::Status&) {});
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, BelowExactlyOnceItIsReopened) {
  AddConnector(30).ends = false;
  Outside().level = core::FtModel::kAtLeastOnce;
  options_.connectors[0].level = core::FtModel::kAtLeastOnce;
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 3; }));
  Crash();
  StartAndRun();
  EXPECT_FALSE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
}

TEST_F(ControllerAdoptTest, WhatIsComparedAndAgreesIsAdopted) {
  worker_.SetReconciles();
  RunThreeStepsAndCrash();
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReconcile), 2u) << "one a start";
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kList), 0u) << "nothing to sweep";
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, WhatIsMissingIsNotLookedForAgain) {
  worker_.SetReconciles();
  RunThreeStepsAndCrash();
  worker_.Restart();
  const size_t looks = worker_.CountOf(ControlVerb::kGet);
  options_.status_interval = absl::ZeroDuration();
  StartAndRun();
  EXPECT_EQ(worker_.CountOf(ControlVerb::kGet), looks);
  ExpectReopened("no_such_connector");
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, WhatNobodyDesiresIsDropped) {
  worker_.SetReconciles();
  RunThreeStepsAndCrash();
  outside_.connectors["left"] = {};
  core::OpenRequest stranger;
  stranger.fence = {.pipeline = options_.pipeline,
                    .controller_id = "c",
                    .epoch = 1,
                    .nonce = options_.nonce};
  stranger.spec.name = "left";
  stranger.first_open = true;
  stranger.writer = {.epoch = 1, .open_number = 1};
  worker_.Open(stranger, [](const auto&) {});
  RunFor(absl::Seconds(1));
  ASSERT_NE(worker_.InstanceOf("left"), nullptr);
  StartAndRun();
  EXPECT_EQ(worker_.InstanceOf("left"), nullptr);
  EXPECT_TRUE(Progress().adopted);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, WhereNothingIsComparedItIsLookedFor) {
  worker_.SetReconciles();
  RunThreeStepsAndCrash();
  worker_.LoseReplies(ControlVerb::kReconcile, 1);
  StartAndRun();
  EXPECT_TRUE(Progress().adopted);
  EXPECT_GT(worker_.CountOf(ControlVerb::kList), 0u) << "it sweeps by itself";
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerAdoptTest, AStopWhileItComparesEndsIt) {
  worker_.SetReconciles();
  RunThreeStepsAndCrash();
  worker_.SetLostAnswerDelay(absl::Minutes(5));
  worker_.LoseReplies(ControlVerb::kReconcile, 1);
  Start();
  RunFor(absl::Seconds(1));
  EXPECT_EQ(Progress().state, "idle");
  controller_->Stop();
  EXPECT_TRUE(RunToEnd());
}

}  // namespace
}  // namespace penstock::client
