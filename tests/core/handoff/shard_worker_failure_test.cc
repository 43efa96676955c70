// A shard worker and trouble: retries, lost answers, fences, Stop.
#include "core/handoff/shard_worker.h"

#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::Status Down() { return MakeError(Reason::UNAVAILABLE, "down"); }

using ShardWorkerFailureTest = ShardWorkerTest;

// --- Each call may fail, or succeed and lose its answer.

struct FaultCase {
  const char* name;
  FakeDatabase::Operation operation;
  bool lost;
};

class ShardWorkerFaultTest : public ShardWorkerTest,
                             public ::testing::WithParamInterface<FaultCase> {
 protected:
  void Fault() {
    if (GetParam().lost) {
      database_.LoseNextAnswer(GetParam().operation);
    } else {
      database_.FailNext(GetParam().operation, Down());
    }
  }
};

TEST_P(ShardWorkerFaultTest, TheSameBytesAreWrittenAgainAndCommittedOnce) {
  Start({.target = {.separate_committer = true}});
  SendStep(0, {"a", "b"});
  SendStep(1, {"c"});
  executor_.RunUntilIdle();
  Fault();
  Release(2);
  EXPECT_THAT(process_->observer.retries, SizeIs(1));
  EXPECT_FALSE(AckOf(0).has_value());
  EXPECT_EQ(Snapshot().held_steps, 2u);
  EXPECT_EQ(process_->observer.recovered, 0);
  // More is released meanwhile: the attempt does not grow.
  SendStep(2, {"d"});
  Release(3);
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(Ranges(), "[0,2) [2,3)");
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(AckOf(1), AckStatus::kDelivered);
  EXPECT_EQ(AckOf(2), AckStatus::kDelivered);
  EXPECT_EQ(process_->observer.recovered, 1);
  EXPECT_EQ(Snapshot().retries, 1u);
  EXPECT_EQ(Snapshot().held_steps, 0u);
}

// With the default committer there is no commit to fail.
class ShardWorkerBatchFaultTest : public ShardWorkerFaultTest {};

TEST_P(ShardWorkerBatchFaultTest, ACommitInBatchEndIsRetriedAsWell) {
  Start();
  SendStep(0, {"a", "b"});
  executor_.RunUntilIdle();
  Fault();
  Release(1);
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(Ranges(), "[0,1)");
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

constexpr FaultCase kBatchFaults[] = {
    {"BatchStart", FakeDatabase::Operation::kBatchStart, false},
    {"Push", FakeDatabase::Operation::kPush, false},
    {"BatchEnd", FakeDatabase::Operation::kBatchEnd, false},
    {"LostBatchEnd", FakeDatabase::Operation::kBatchEnd, true},
};
constexpr FaultCase kCommitFaults[] = {
    {"Commit", FakeDatabase::Operation::kCommit, false},
    {"LostCommit", FakeDatabase::Operation::kCommit, true},
};
std::string NameOf(const ::testing::TestParamInfo<FaultCase>& value) {
  return value.param.name;
}

INSTANTIATE_TEST_SUITE_P(Batch, ShardWorkerFaultTest,
                         ::testing::ValuesIn(kBatchFaults), NameOf);
INSTANTIATE_TEST_SUITE_P(Commit, ShardWorkerFaultTest,
                         ::testing::ValuesIn(kCommitFaults), NameOf);
INSTANTIATE_TEST_SUITE_P(Batch, ShardWorkerBatchFaultTest,
                         ::testing::ValuesIn(kBatchFaults), NameOf);

// --- Back-off.

TEST_F(ShardWorkerFailureTest, RetriesBackOff) {
  Start({.worker = {.delivery = {.retry = {.initial = absl::Milliseconds(100),
                                           .max = absl::Milliseconds(300),
                                           .multiplier = 2.0,
                                           .jitter = 0}}}});
  database_.FailNext(Operation::kBatchStart, Down(), 4);
  SendStep(0, {"a"});
  Release(1);
  std::vector<absl::Duration> delays;
  while (process_->observer.recovered == 0) {
    const absl::Time now = executor_.clock().SteadyNow();
    EXPECT_EQ(process_->observer.next_attempt, executor_.NextTimer());
    delays.push_back(executor_.NextTimer() - now);
    ASSERT_TRUE(executor_.AdvanceToNextTimer());
    executor_.RunUntilIdle();
  }
  EXPECT_THAT(delays,
              ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                          absl::Milliseconds(300), absl::Milliseconds(300)));
}

TEST_F(ShardWorkerFailureTest, ASuccessEndsTheRunOfBackOff) {
  Start({.worker = {.delivery = {.retry = {.jitter = 0}}}});
  for (Step step = 0; step < 2; ++step) {
    database_.FailNext(Operation::kBatchStart, Down());
    SendStep(step, {"a"});
    Release(step + 1);
    EXPECT_EQ(executor_.NextTimer() - executor_.clock().SteadyNow(),
              absl::Milliseconds(100));
    executor_.Advance(absl::Milliseconds(100));
  }
  EXPECT_EQ(process_->observer.recovered, 2);
}

TEST_F(ShardWorkerFailureTest, TroubleIsToldWithWhatWasBeingDone) {
  Start();
  database_.FailNext(Operation::kPush, Down());
  SendStep(0, {"a"});
  Release(1);
  EXPECT_THAT(process_->observer.retries[0],
              StatusIs(absl::StatusCode::kUnavailable,
                       ::testing::HasSubstr("while pushing")));
}

// --- Fatal.

TEST_F(ShardWorkerFailureTest, AFencedWriterWritesNothingAndIsBroken) {
  Start();
  database_.Fence(kTable, {.epoch = 1, .open_number = 2});
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  Release(1);
  EXPECT_THAT(Lines(), IsEmpty());
  ASSERT_THAT(process_->observer.fatal, SizeIs(1));
  EXPECT_THAT(process_->observer.fatal[0], HasReason(Reason::WRITER_FENCED));
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(AckOf(1), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_THAT(process_->observer.retries, IsEmpty());
}

TEST_F(ShardWorkerFailureTest, ABrokenShardDrainsSoThatNothingBlocks) {
  Start();
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::INVALID_CONFIG, "refused"));
  SendStep(0, {"a"});
  Release(1);
  for (Step step = 1; step < 2'000; ++step) {
    SendStep(step, {"b"});
    executor_.RunUntilIdle();
    ASSERT_EQ(AckOf(step), AckStatus::kFailed);
  }
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_THAT(process_->observer.fatal, SizeIs(1)) << "told once";
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(ShardWorkerFailureTest, ABrokenShardAnswersLifts) {
  Start();
  Release(9);
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::WRITER_FENCED, "newer"));
  const auto during = Lift(3);
  executor_.RunUntilIdle();
  const auto after = Lift(3);
  executor_.RunUntilIdle();
  EXPECT_THAT(**during, HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(**after, HasReason(Reason::WRITER_FENCED));
}

TEST_F(ShardWorkerFailureTest, ABrokenShardStopsAtOnceAndListsWhatItLost) {
  Start();
  database_.Fence(kTable, {.epoch = 1, .open_number = 2});
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  executor_.RunUntilIdle();
  Release(1);
  const auto report = Stop(absl::Hours(1));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_THAT((*report)->dropped, ElementsAre(1));
}

// A process that was thought dead wakes behind its successor.
TEST_F(ShardWorkerFailureTest, AWokenZombieChangesNothing) {
  Start({.target = {.separate_committer = true}});
  SendStep(0, {"zombie"});
  process_->worker->SetReleased(1);
  ManualExecutor other_executor;
  WorkerProcess successor(database_, other_executor,
                          {.target = {.separate_committer = true},
                           .open_number = 2,
                           .first_open = false});
  EncodedChunk chunk;
  FrameBuffer frame;
  frame.Append("successor\n");
  chunk.frame = SealedFrame(std::move(frame));
  ASSERT_EQ(successor.queue.TrySend(std::move(chunk)), SendResult::kSent);
  ASSERT_EQ(successor.queue.TrySend(StepEnd{}), SendResult::kSent);
  successor.worker->SetReleased(1);
  other_executor.RunUntilIdle();
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("successor"));
  EXPECT_THAT(process_->observer.fatal[0], HasReason(Reason::WRITER_FENCED));
}

// --- Stop.

TEST_F(ShardWorkerFailureTest, AnIdleShardStopsAtOnce) {
  Start();
  const auto report = Stop(absl::Hours(1));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_THAT((*report)->dropped, IsEmpty());
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ShardWorkerFailureTest, StopDropsUnreleasedStepsAndCommitsReleasedOnes) {
  Start();
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  SendStep(2, {"c"});
  SendChunk(3, "open");
  process_->worker->SetReleased(2);
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_THAT((*report)->dropped, ElementsAre(2, 3));
  EXPECT_EQ(AckOf(1), AckStatus::kDelivered);
  EXPECT_EQ(AckOf(2), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerFailureTest, StopReturnsTheMemoryOfUnreleasedStepsAtOnce) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  SendStep(1, {"unreleased"});
  executor_.RunUntilIdle();
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_FALSE(report->has_value());
  EXPECT_EQ(AckOf(1), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 2u) << "only what is being committed";
}

TEST_F(ShardWorkerFailureTest, StopWithoutADeadlineWritesNothingMore) {
  Start();
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  process_->worker->SetReleased(1);
  const auto report = Stop(absl::ZeroDuration());
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_THAT((*report)->dropped, ElementsAre(1));
}

TEST_F(ShardWorkerFailureTest, StopInterruptsABackOff) {
  Start({.worker = {.delivery = {.retry = {.initial = absl::Hours(1),
                                           .max = absl::Hours(1)}}}});
  database_.FailNext(Operation::kBatchStart, Down());
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
}

// The retry's timer was due, and its task on the way, when Stop came.
TEST_F(ShardWorkerFailureTest, StopMeetsARetryThatIsDue) {
  Start();
  database_.FailNext(Operation::kBatchStart, Down());
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.AdvanceToNextTimer();
  // The timer runs, but the strand has Stop before what it posts.
  executor_.SetPick([](size_t ready) { return ready - 1; });
  ASSERT_TRUE(executor_.RunOne());
  executor_.SetPick(nullptr);
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerFailureTest, StopGivesUpAtItsDeadline) {
  Start();
  database_.FailNext(Operation::kBatchStart, Down(), 1'000);
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  Release(2);
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_FALSE(report->has_value());
  executor_.Advance(absl::Nanoseconds(1));
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0, 1));
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(AckOf(1), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ShardWorkerFailureTest, TheDeadlineCountsFromTheCall) {
  Start();
  database_.FailNext(Operation::kBatchStart, Down(), 1'000);
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  // A write blocks the thread for so long.
  executor_.fake_clock().Advance(absl::Seconds(6));
  executor_.RunUntilIdle();
  EXPECT_TRUE(report->has_value());
}

TEST_F(ShardWorkerFailureTest, StopWaitsForTheCommitUnderWay) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(4));
  EXPECT_FALSE(report->has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(ShardWorkerFailureTest, ACommitThatIsAnsweredTooLateChangesNothing) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(5));
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 2u) << "the target may still read the frame";
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_THAT(process_->observer.progress, IsEmpty());
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerFailureTest, AnAnswerThatMeetsTheDeadlineChangesNothing) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  const auto report = Stop(absl::ZeroDuration());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
}

// The endpoint of FakeTarget reads the frames only in the commit.
TEST_F(ShardWorkerFailureTest, FramesLiveUntilALateCommit) {
  ManualExecutor slow;
  Start({.target = {.separate_committer = true, .commit_executor = &slow}});
  SendStep(0, {"a rather long line, so that it lives on the heap"});
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(5));
  ASSERT_TRUE(report->has_value());
  process_->worker.reset();
  slow.RunUntilIdle();
  EXPECT_THAT(Lines(),
              ElementsAre("a rather long line, so that it lives on the heap"));
}

TEST_F(ShardWorkerFailureTest, NothingIsWrittenAfterStop) {
  Start({.worker = {.push_bytes_max = 0}});
  SendStep(0, {"a", "b", "c"});
  process_->worker->SetReleased(1);
  int pushes = 0;
  database_.SetHook([&](const FakeDatabase::Call& call) {
    pushes += call.operation == Operation::kPush ? 1 : 0;
    return std::nullopt;
  });
  while (pushes == 0) ASSERT_TRUE(executor_.RunOne());
  const auto report = Stop(absl::ZeroDuration());
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_LT(pushes, 3);
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(ShardWorkerFailureTest, AStoppedShardTakesNothingIn) {
  Start();
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_EQ(process_->queue.TrySend(StepEnd{}), SendResult::kClosed);
  const auto lifted = Lift(0);
  executor_.RunUntilIdle();
  EXPECT_THAT(**lifted, HasReason(Reason::CANCELLED));
}

TEST_F(ShardWorkerFailureTest, StopCancelsLifts) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  Release(3);
  const auto lifted = Lift(3);
  executor_.RunUntilIdle();
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_THAT(**lifted, HasReason(Reason::CANCELLED));
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_TRUE(report->has_value());
}

TEST_F(ShardWorkerFailureTest, AShardThatBreaksWhileItStopsIsDone) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  database_.FailNext(Operation::kCommit,
                     MakeError(Reason::WRITER_FENCED, "newer"));
  Release(1);
  const auto report = Stop(absl::Hours(1));
  executor_.RunUntilIdle();
  EXPECT_FALSE(report->has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_THAT(process_->observer.fatal, SizeIs(1));
}

// The StepEnd of a released step was parked when Stop began.
TEST_F(ShardWorkerFailureTest, AReleasedStepMayEndWhileTheShardStops) {
  Start();
  SendChunk(0, "a");
  Release(1);
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(1));
  EXPECT_FALSE(report->has_value());
  SendEnd(0);
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_THAT((*report)->unconfirmed, IsEmpty());
}

// What Stop's callback keeps alive may go with it, though the worker stays.
TEST_F(ShardWorkerFailureTest, NothingIsTouchedAfterStopsCallback) {
  Start();
  const std::shared_ptr<ShardWorker> worker = process_->worker;
  SendStep(0, {"a"});
  bool stopped = false;
  worker->Stop(absl::ZeroDuration(),
               [&stopped, parts = std::move(process_)](
                   const ShardStopReport& /*report*/) { stopped = true; });
  worker->SetReleased(1);
  worker->Lift(1, [](const absl::Status& status) {
    EXPECT_THAT(status, HasReason(Reason::CANCELLED));
  });
  executor_.RunUntilIdle();
  EXPECT_TRUE(stopped);
  worker->SetReleased(2);
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
}

TEST_F(ShardWorkerFailureTest, WhatStopsCallbackHoldsOutlivesTheRunningCall) {
  Start();
  SendStep(0, {"a"});
  process_->worker->SetReleased(1);
  std::weak_ptr<int> held;
  database_.SetHook([&](const FakeDatabase::Call& call)
                        -> std::optional<FakeDatabase::Fault> {
    if (call.operation != Operation::kPush) return std::nullopt;
    auto parts = std::make_shared<int>(0);
    held = parts;
    process_->worker->Stop(absl::ZeroDuration(),
                           [parts](const ShardStopReport& /*report*/) {});
    parts.reset();
    process_->worker.reset();
    EXPECT_FALSE(held.expired()) << "this call is still running";
    return std::nullopt;
  });
  executor_.RunUntilIdle();
  EXPECT_TRUE(held.expired());
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(ShardWorkerFailureTest, DroppingItWithoutStopEndsIt) {
  Start();
  SendStep(0, {"a"});
  process_->worker->SetReleased(1);
  process_->worker.reset();
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), IsEmpty());
  process_.reset();
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerFailureTest, DroppingItWithoutStopFailsWhatItHolds) {
  Start();
  SendStep(0, {"a"});
  executor_.RunUntilIdle();
  process_->worker.reset();
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerFailureTest, StopIsCalledOnce) {
  Start();
  (void)Stop(absl::Seconds(5));
  (void)Stop(absl::Seconds(5));
  EXPECT_DEATH(executor_.RunUntilIdle(), "stopped twice");
}

// A process dies between any two of its tasks; its successor is given the same
// steps again.
TEST_F(ShardWorkerFailureTest, ADeathBetweenAnyTwoTasksLosesAndDoublesNothing) {
  for (const bool separate_committer : {false, true}) {
    for (int tasks = 0; tasks < 40; ++tasks) {
      FakeDatabase database;
      uint64_t open_number = 0;
      for (const bool dies : {true, false}) {
        ManualExecutor executor;
        WorkerProcess process(
            database, executor,
            {.target = {.separate_committer = separate_committer},
             .worker = {.push_bytes_max = 0},
             .open_number = ++open_number,
             .first_open = open_number == 1});
        for (Step step = 0; step < 3; ++step) {
          for (const char* const name : {"a", "b"}) {
            EncodedChunk chunk;
            FrameBuffer frame;
            frame.Append(absl::StrCat(name, step, "\n"));
            chunk.frame = SealedFrame(std::move(frame));
            chunk.step = step;
            ASSERT_EQ(process.queue.TrySend(std::move(chunk)),
                      SendResult::kSent);
          }
          ASSERT_EQ(process.queue.TrySend(StepEnd{.step = step, .acks = {}}),
                    SendResult::kSent);
          process.worker->SetReleased(step + 1);
          if (!dies) executor.RunUntilIdle();
        }
        for (int i = 0; dies && i < tasks; ++i) executor.RunOne();
        executor.DropAll();
      }
      ASSERT_THAT(database.Lines(kTable, 0),
                  ElementsAre("a0", "b0", "a1", "b1", "a2", "b2"))
          << "died after " << tasks << " tasks";
    }
  }
}

}  // namespace
}  // namespace penstock::core
