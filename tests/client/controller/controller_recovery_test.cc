#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ControllerRecoveryTest : public ControllerTest {
 protected:
  // 30 records are in the target, none of their 3 steps is checkpointed.
  void RunThreeSteps() {
    options_.checkpoint_interval = absl::ZeroDuration();
    AddConnector(30).ends = false;
    Start();
    ASSERT_TRUE(RunUntil([&] { return Progress().released_steps == 3; }));
  }
  bool RunToSecondExtend() {
    return RunUntil([&] { return worker_.CountOf(ControlVerb::kExtend) == 2; });
  }
  void FinishAndExpectExactlyOnce() {
    AddRecords(30);
    Outside().ends = true;
    worker_.LookAgain();
    ASSERT_TRUE(RunToEnd());
    EXPECT_THAT(*end_, IsOk());
    ExpectExactlyOnce();
  }
};

TEST_F(ControllerRecoveryTest, ARestartedWorkerIsReopenedAndReplayed) {
  RunThreeSteps();
  worker_.Restart();
  ASSERT_TRUE(RunToSecondExtend());
  const core::OpenRequest open = *CallsOf(ControlVerb::kOpen)[1].open;
  EXPECT_FALSE(open.first_open);
  EXPECT_EQ(open.base_steps, 0u);
  EXPECT_EQ(open.journaled_steps, 3u);
  EXPECT_EQ(open.position, "{\"at\":0}");
  EXPECT_EQ(open.writer, (core::Writer{.epoch = 1, .open_number = 2}));
  const auto replays = CallsOf(ControlVerb::kReplay);
  ASSERT_THAT(replays, SizeIs(3));
  EXPECT_EQ(replays[0].step, 0u);
  EXPECT_EQ(replays[2].step, 2u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, TheCheckpointIsCommittedAgainAfterAReopen) {
  RunThreeSteps();
  worker_.Restart();
  ASSERT_TRUE(RunToSecondExtend());
  const auto commits = CallsOf(ControlVerb::kCommitCheckpoint);
  ASSERT_THAT(commits, SizeIs(2));
  EXPECT_EQ(commits[1].step, 0u);
}

TEST_F(ControllerRecoveryTest, ALostUnjournaledResultsNumberIsNotUsedAgain) {
  AddConnector(20);
  worker_.LoseReplies(ControlVerb::kQueue, 1);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 1; }));
  executor_.RunUntilIdle();
  worker_.Restart();
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
  const auto queues = CallsOf(ControlVerb::kQueue);
  EXPECT_EQ(queues[0].step, 0u);
  // The first asks in vain, the restarted worker knows nothing, then 1, 2.
  EXPECT_EQ(queues[1].step, 0u);
  EXPECT_EQ(queues[2].step, 1u);
}

TEST_F(ControllerRecoveryTest, AResultThatArrivedIsJournaledBeforeTheReopen) {
  options_.step_block = 1024;
  AddConnector(1000);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 2; }));
  store_->Hold(true);
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 5; }));
  worker_.Restart();
  RunFor(absl::Seconds(10));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u) << "the store decides";
  store_->Hold(false);
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) == 2; }));
  const auto opens = CallsOf(ControlVerb::kOpen);
  EXPECT_GE(opens[1].open->journaled_steps, 3u);
  EXPECT_EQ(opens[1].open->journaled_steps, Stored().journal.back().step + 1);
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, WhatWaitsForTheNextTransactionIsReplayedToo) {
  options_.step_block = 1024;
  AddConnector(1000);
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 1; }));
  // One result is in the transaction under way, others wait for the next.
  store_->SetDelay(absl::Milliseconds(300));
  ASSERT_TRUE(RunUntil([&] { return Progress().made_steps >= 5; }));
  const core::Step made = Progress().made_steps;
  worker_.Restart();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) == 2; }));
  EXPECT_GE(CallsOf(ControlVerb::kOpen)[1].open->journaled_steps, made);
  ASSERT_TRUE(RunToEnd());
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, EachReasonToReopenLeadsToTheOnePath) {
  for (Reason reason :
       {Reason::INSTANCE_MISMATCH, Reason::NO_SUCH_CONNECTOR,
        Reason::CONNECTOR_FAILED, Reason::WRITER_FENCED, Reason::STEP_GAP,
        Reason::ILLEGAL_TRANSITION, Reason::INTERNAL}) {
    worker_.FailNext(ControlVerb::kQueue, 1, MakeError(reason, "once"));
  }
  AddConnector(100);
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 8u);
  EXPECT_EQ(CallsOf(ControlVerb::kOpen)[7].open->writer.open_number, 8u);
}

TEST_F(ControllerRecoveryTest, ATroubleWithReleaseOrPrepareReopensToo) {
  AddConnector(100);
  worker_.FailNext(ControlVerb::kRelease, 1,
                   MakeError(Reason::CONNECTOR_FAILED, "once"));
  worker_.FailNext(ControlVerb::kPrepareCheckpoint, 1,
                   MakeError(Reason::CONNECTOR_FAILED, "once"));
  worker_.FailNext(ControlVerb::kCommitCheckpoint, 1,
                   MakeError(Reason::INSTANCE_MISMATCH, "once"));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, LostReplayRepliesAreAskedAgain) {
  RunThreeSteps();
  worker_.LoseReplies(ControlVerb::kReplay, 2);
  worker_.LoseRequests(ControlVerb::kReplay, 1);
  worker_.Restart();
  ASSERT_TRUE(RunToSecondExtend());
  EXPECT_EQ(worker_.CountOf(ControlVerb::kReplay), 6u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, AWorkerThatIsAwayIsAskedWithBackOff) {
  RunThreeSteps();
  const size_t before = worker_.calls().size();
  worker_.SetAway(true);
  worker_.Restart();
  RunFor(absl::Minutes(5));
  const size_t tries = worker_.calls().size() - before;
  EXPECT_GT(tries, 100u);
  EXPECT_LT(tries, 700u) << "every 1 s to 2 s, and the status once a second";
  EXPECT_FALSE(end_.has_value());
  worker_.SetAway(false);
  ASSERT_TRUE(RunUntil([&] { return Progress().state == "running"; },
                       absl::Seconds(10)));
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, OneLostWorkerHoldsBackNobody) {
  AddConnector(200, "a", 0);
  AddConnector(200, "b", 1);
  options_.stop_at_end_of_input = false;
  worker_.SetAway(true);
  Start();
  RunFor(absl::Minutes(1));
  ExpectExactlyOnce("b");
  EXPECT_EQ(Stored("b").base_steps, 20u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kQueue), 0u);
}

TEST_F(ControllerRecoveryTest, ASlowOpenIsJoinedAndNotInterrupted) {
  AddConnector(10);
  worker_.FailNext(ControlVerb::kOpen, 2,
                   MakeError(Reason::DEADLINE, "still opening"));
  Start();
  ASSERT_TRUE(RunToEnd());
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(3));
  EXPECT_EQ(opens[2].request_id, opens[0].request_id);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kDelete), 2u) << "one is the end's";
}

TEST_F(ControllerRecoveryTest, AnOpenThatStaysUnansweredGetsTheNextWriter) {
  AddConnector(10);
  worker_.FailNext(ControlVerb::kOpen, 5,
                   MakeError(Reason::UNAVAILABLE, "target is away"));
  Start();
  ASSERT_TRUE(RunToEnd());
  const auto opens = CallsOf(ControlVerb::kOpen);
  ASSERT_THAT(opens, SizeIs(6));
  EXPECT_EQ(opens[3].open->writer.open_number, 1u);
  EXPECT_EQ(opens[4].open->writer.open_number, 2u);
  EXPECT_NE(opens[4].request_id, opens[3].request_id);
}

TEST_F(ControllerRecoveryTest, AConnectorThatFailsForEverEndsTheController) {
  options_.recoveries_max = 5;
  AddConnector(10);
  worker_.FailNext(ControlVerb::kQueue, 1000,
                   MakeError(Reason::CONNECTOR_FAILED, "a bad record"));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::CONNECTOR_FAILED));
  EXPECT_THAT(std::string(end_->message()), HasSubstr("a bad record"));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 6u);
}

TEST_F(ControllerRecoveryTest, FailuresWithStepsInBetweenDoNotAddUp) {
  options_.recoveries_max = 2;
  AddConnector(100);
  Start();
  for (int i = 0; i < 6; ++i) {
    const core::Step made = Progress().made_steps;
    worker_.FailNext(ControlVerb::kQueue, 1,
                     MakeError(Reason::CONNECTOR_FAILED, "again"));
    ASSERT_TRUE(RunUntil([&] { return Progress().made_steps > made; }));
  }
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_GE(Progress().recoveries, 5u);
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, AWorkerThatRestartsForEverDoesNotEndIt) {
  options_.recoveries_max = 5;
  AddConnector(10);
  worker_.FailNext(ControlVerb::kQueue, 50,
                   MakeError(Reason::NO_SUCH_CONNECTOR, "restarted"));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
}

// Every step was journaled when the controller died, so the next one releases
// nothing: the worker itself does, with the replay.
TEST_F(ControllerRecoveryTest, WhatWasReplayedIsShownAsReleased) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(10);
  bool crashed = false;
  hook_ = [&](FaultPoint at, const std::string&) {
    if (at != FaultPoint::kBeforePrepare || crashed) return;
    crashed = true;
    Crash();
  };
  Start();
  ASSERT_TRUE(RunUntil([&] { return controller_ == nullptr; }));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_GT(Progress().made_steps, 0u);
  EXPECT_EQ(Progress().released_steps, Progress().made_steps);
}

// It had failed before it was asked, which must make no difference.
TEST_F(ControllerRecoveryTest, AFailedConnectorIsJudgedByWhatItFailedOf) {
  AddConnector(10);
  worker_.FailNext(
      ControlVerb::kQueue, 1,
      core::WithCause(MakeError(Reason::ILLEGAL_TRANSITION, "not in FAILED"),
                      MakeError(Reason::MALFORMED_FRAME, "line 3 is bad")));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::MALFORMED_FRAME));
  EXPECT_THAT(std::string(end_->message()), HasSubstr("line 3 is bad"));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
}

TEST_F(ControllerRecoveryTest, NothingOfAFailedConnectorIsWaitedFor) {
  AddConnector(10);
  worker_.FailNext(
      ControlVerb::kQueue, 1,
      core::WithCause(MakeError(Reason::ILLEGAL_TRANSITION, "not in FAILED"),
                      MakeError(Reason::UNAVAILABLE, "the broker was away")));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 2u);
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, AFullDiskIsWaitedForAndShown) {
  options_.recoveries_max = 5;
  AddConnector(10);
  worker_.FailNext(ControlVerb::kOpen, 50,
                   MakeError(Reason::STORAGE_FULL, "no room for the claim"));
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kOpen) == 40; }));
  EXPECT_EQ(Progress().health, "DEGRADED: STORAGE_FULL: no room for the claim");
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  EXPECT_EQ(Progress().health, "OK");
  ExpectExactlyOnce();
}

// Reasons that a person must decide on end the controller.
class ControllerNeedsPersonTest : public ControllerTest,
                                  public ::testing::WithParamInterface<Reason> {
};

TEST_P(ControllerNeedsPersonTest, EndsWithTheErrorOfOpen) {
  AddConnector(10);
  worker_.FailNext(ControlVerb::kOpen, 1000,
                   MakeError(GetParam(), "look at this"));
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(GetParam()));
  EXPECT_THAT(std::string(end_->message()), HasSubstr("connector 'c'"));
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, ControllerNeedsPersonTest,
    ::testing::Values(Reason::REPLAY_MISMATCH, Reason::POSITION_EXPIRED,
                      Reason::PROGRESS_BEHIND, Reason::PROGRESS_AHEAD,
                      Reason::PROGRESS_LOST, Reason::FOREIGN_PROGRESS,
                      Reason::LEVEL_REFUSED, Reason::INVALID_CONFIG,
                      Reason::PATH_NOT_ALLOWED, Reason::NOT_OWNER),
    [](const auto& param) {
      return std::string(core::ReasonName(param.param));
    });

TEST_F(ControllerRecoveryTest, ATamperedSourceIsAMismatchAndLeftToLookAt) {
  options_.checkpoint_interval = absl::ZeroDuration();
  AddConnector(30).held = true;
  AddConnector(30, "other");
  Start();
  ASSERT_TRUE(RunUntil([&] {
    return Progress().journaled_steps == 3 &&
           Progress("other").released_steps == 3;
  }));
  Outside().records[12] = "tampered";
  worker_.Restart();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::REPLAY_MISMATCH));
  EXPECT_THAT(Outside().rows, SizeIs(0));
  EXPECT_NE(worker_.InstanceOf("c"), nullptr) << "frozen, but there";
  EXPECT_EQ(worker_.InstanceOf("other"), nullptr);
  EXPECT_EQ(Stored("other").position, "{\"at\":30}")
      << "the others are checkpointed";
}

TEST_F(ControllerRecoveryTest, AHigherEpochEndsTheOldController) {
  RunThreeSteps();
  FakeStateStore store(executor_, disk_);
  ControllerOptions options = options_;
  options.nonce = "another";
  options.stop_at_end_of_input = false;
  std::optional<absl::Status> new_end;
  auto newer =
      Controller::Create(options, executor_, store, {&worker_, &other_worker_},
                         [&](absl::Status s) { new_end = s; });
  newer->Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::STALE_EPOCH));
  RunFor(absl::Seconds(10));
  EXPECT_FALSE(new_end.has_value());
  EXPECT_EQ(newer->Snapshot().epoch, 2u);
  AddRecords(10);
  worker_.LookAgain();
  ASSERT_TRUE(RunUntil([&] { return Outside().rows.size() == 40; }));
}

TEST_F(ControllerRecoveryTest, AWorkerLedFromAnotherStoreEndsIt) {
  AddConnector(10);
  outside_.fences["pipeline"] = {.epoch = 57, .nonce = "of another store"};
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(std::string(end_->message()), HasSubstr("another store"));
}

TEST_F(ControllerRecoveryTest, AnEpochTakenByAnotherStoreEndsIt) {
  AddConnector(10);
  outside_.fences["pipeline"] = {.epoch = 1, .nonce = "of another store"};
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::EPOCH_TAKEN));
}

TEST_F(ControllerRecoveryTest, AFencedWriterOfOursIsReopenedWithTheNext) {
  RunThreeSteps();
  // A higher writer of the same epoch, as a late Open would leave it.
  Outside().writer.open_number = 2;
  worker_.Restart();
  ASSERT_TRUE(RunToSecondExtend());
  EXPECT_EQ(CallsOf(ControlVerb::kOpen).back().open->writer.open_number, 3u);
  FinishAndExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, AStoreThatIsAwayIsAskedUntilItIsBack) {
  AddConnector(100);
  Start();
  store_->FailNext(5, MakeError(Reason::UNAVAILABLE, "locked"));
  ASSERT_TRUE(
      RunUntil([&] { return worker_.CountOf(ControlVerb::kQueue) == 4; }));
  store_->FailNext(5, MakeError(Reason::STORAGE_FULL, "no space"));
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, LostAnswersOfTheStoreDoNoHarm) {
  AddConnector(200);
  Start();
  for (int i = 0; i < 12 && !end_.has_value(); ++i) {
    store_->LoseAnswers(1);
    RunFor(absl::Milliseconds(70));
  }
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, IsOk());
  ExpectExactlyOnce();
}

TEST_F(ControllerRecoveryTest, ADamagedStoreIsAClearStop) {
  AddConnector(10);
  Start();
  store_->FailNext(1, MakeError(Reason::STATE_DAMAGED, "flipped byte"));
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::STATE_DAMAGED));
  EXPECT_THAT(worker_.calls(), SizeIs(0));
}

TEST_F(ControllerRecoveryTest, JournaledStepsAreNotReplayedAtALowerLevel) {
  RunThreeSteps();
  Outside().level = core::FtModel::kAtLeastOnce;
  worker_.Restart();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(*end_, HasReason(Reason::LEVEL_REFUSED));
}

// Each life makes a step, but nothing is ever committed.
TEST_F(ControllerRecoveryTest, LivesThatLeadNowhereBeginEverMoreSeldom) {
  AddConnector(100'000).held = true;
  hook_ = [&](FaultPoint point, const std::string& name) {
    if (point == FaultPoint::kAfterJournal) worker_.Fail(name);
  };
  Start();
  RunFor(absl::Minutes(2));
  const size_t before = worker_.CountOf(ControlVerb::kOpen);
  RunFor(absl::Minutes(1));
  EXPECT_LE(worker_.CountOf(ControlVerb::kOpen) - before, 60u);
  EXPECT_GE(worker_.CountOf(ControlVerb::kOpen) - before, 25u);
}

}  // namespace
}  // namespace penstock::client
