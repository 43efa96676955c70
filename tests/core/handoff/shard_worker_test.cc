// A shard worker in exactly-once: what it writes, when, and in which order.
#include "core/handoff/shard_worker.h"

#include "core/contract/message_frame.h"
#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ShardWorkerTest, NothingIsWrittenBeforeTheStepEnd) {
  Start();
  Release(10);
  SendChunk(0, "a");
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), IsEmpty());
  SendEnd(0);
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerTest, NothingIsWrittenBeforeRelease) {
  Start();
  SendStep(0, {"a"});
  executor_.Advance(absl::Hours(1));
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_FALSE(AckOf(0).has_value());
  Release(1);
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(ShardWorkerTest, ReleaseBeforeTheChunksCountsToo) {
  Start();
  Release(1);
  SendStep(0, {"a"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerTest, AReleaseNeverGoesBack) {
  Start();
  Release(5);
  Release(0);
  SendStep(0, {"a"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerTest, ChunksAreTakenAtOnceAndHeldInTheirLease) {
  Start();
  SendChunk(0, "abc");
  executor_.RunUntilIdle();
  EXPECT_EQ(process_->queue.size(), 0u);
  EXPECT_EQ(Snapshot().held_bytes, 4u);
  EXPECT_EQ(Snapshot().held_steps, 1u);
  EXPECT_EQ(budget_->usage(), 4u);
  SendEnd(0);
  Release(1);
  EXPECT_EQ(Snapshot().held_bytes, 0u);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerTest, ProgressMovesWithTheRows) {
  Start();
  SendStep(0, {"a", "b"});
  Release(1);
  EXPECT_EQ(database_.Progress(kTable, 0), 1u);
  EXPECT_EQ(Snapshot().progress, 1u);
  EXPECT_THAT(process_->observer.progress, ElementsAre(1));
  EXPECT_EQ(Snapshot().rows_written, 2u);
  EXPECT_EQ(Snapshot().bytes_written, 4u);
  EXPECT_EQ(Snapshot().commits, 1u);
}

TEST_F(ShardWorkerTest, OneCommitCoversEveryReleasedStep) {
  Start();
  SendStep(0, {"a"});
  SendStep(1, {"b"});
  SendStep(2, {"c"});
  SendStep(3, {"d"});
  executor_.RunUntilIdle();
  Release(3);
  EXPECT_EQ(Ranges(), "[0,3)");
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(AckOf(2), AckStatus::kDelivered);
  EXPECT_FALSE(AckOf(3).has_value());
}

TEST_F(ShardWorkerTest, ACommitIsBoundedInBytesButHasOneStepAtLeast) {
  Start({.worker = {.commit_bytes_max = 10}});
  SendStep(0, {"aaaa"});
  SendStep(1, {"bbbb"});
  SendStep(2, {"cccccccccccccccc"});
  SendStep(3, {"d"});
  executor_.RunUntilIdle();
  Release(4);
  EXPECT_EQ(Ranges(), "[0,2) [2,3) [3,4)");
  EXPECT_THAT(Lines(), ElementsAre("aaaa", "bbbb", "cccccccccccccccc", "d"));
}

TEST_F(ShardWorkerTest, ARangeBeginsAtTheProgressWhateverTheNumbers) {
  Start({.base_steps = 5});
  SendStep(700, {"a"});
  SendStep(900, {"b"});
  Release(701);
  Release(901);
  EXPECT_EQ(Ranges(), "[5,701) [701,901)");
}

TEST_F(ShardWorkerTest, AnAckWaitsForTheCommitter) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  EXPECT_THAT(Lines(), ElementsAre("a")) << "it is committed";
  EXPECT_FALSE(AckOf(0).has_value()) << "but not confirmed";
  EXPECT_EQ(Snapshot().progress, 0u);
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(Snapshot().progress, 1u);
}

TEST_F(ShardWorkerTest, TheEndpointIsToldHowItsBuffersAreCalled) {
  Start();
  SendStep(4, {"a", "b"});
  SendStep(6, {"c"});
  executor_.RunUntilIdle();
  Release(7);
  const auto transactions = database_.Transactions(kTable, 0);
  ASSERT_THAT(transactions, SizeIs(1));
  EXPECT_THAT(transactions[0].chunks,
              ElementsAre(ChunkId{4, 0}, ChunkId{4, 1}, ChunkId{6, 0}));
  EXPECT_THAT(transactions[0].id, IsEmpty());
}

TEST_F(ShardWorkerTest, OneWriteIsUnderWayAtATime) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  SendStep(1, {"b"});
  Release(2);
  EXPECT_EQ(Ranges(), "[0,1)");
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(Ranges(), "[0,1) [1,2)");
}

TEST_F(ShardWorkerTest, MemoryIsFreeWhenTheAckIsHeard) {
  Start();
  class : public AckListener {
   public:
    void OnAck(Step, AckStatus) override { usage = budget->usage(); }
    InflightBudget* budget = nullptr;
    uint64_t usage = 999;
  } listener;
  listener.budget = budget_.get();
  handles_[0] = StepHandle(
      0, std::shared_ptr<AckListener>(&listener, [](AckListener*) {}));
  SendStep(0, {"abc"});
  Release(1);
  EXPECT_EQ(listener.usage, 0u);
}

// --- What the target holds already.

TEST_F(ShardWorkerTest, StepsBelowProgressAreDeliveredAndNotWritten) {
  Start({.base_steps = 3});
  SendStep(1, {"a"});
  SendStep(2, {});
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(1), AckStatus::kDelivered);
  EXPECT_EQ(AckOf(2), AckStatus::kDelivered);
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_EQ(Snapshot().already_held_steps, 2u);
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(ShardWorkerTest, AReplayGoesOnBehindWhatIsHeld) {
  Start({.base_steps = 3});
  SendStep(2, {"held"});
  SendStep(3, {"new"});
  Release(4);
  EXPECT_EQ(Ranges(), "[3,4)");
  EXPECT_THAT(Lines(), ElementsAre("new"));
}

// --- Steps without rows.

TEST_F(ShardWorkerTest, AStepWithoutRowsIsConfirmedWithoutAWrite) {
  Start();
  SendStep(0, {});
  executor_.RunUntilIdle();
  EXPECT_FALSE(AckOf(0).has_value()) << "it is not released";
  Release(1);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_EQ(Ranges(), "");
  EXPECT_EQ(Snapshot().progress, 0u);
}

TEST_F(ShardWorkerTest, TheNextCommitLiftsTheProgressOfStepsWithoutRows) {
  Start();
  SendStep(0, {});
  SendStep(1, {});
  Release(2);
  SendStep(2, {"a"});
  SendStep(3, {});
  executor_.RunUntilIdle();
  Release(4);
  EXPECT_EQ(Ranges(), "[0,4)");
  EXPECT_EQ(AckOf(3), AckStatus::kDelivered);
}

TEST_F(ShardWorkerTest, AStepWithoutRowsDoesNotWaitForTheNextWrite) {
  Start();
  SendStep(0, {});
  SendStep(1, {"a"});
  Release(1);
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_FALSE(AckOf(1).has_value());
}

// --- Lift.

TEST_F(ShardWorkerTest, LiftMovesProgressWithoutRows) {
  Start();
  SendStep(0, {});
  Release(1);
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "[0,1)");
  EXPECT_EQ(database_.Progress(kTable, 0), 1u);
  EXPECT_THAT(process_->observer.progress, ElementsAre(1));
}

TEST_F(ShardWorkerTest, LiftWritesNothingWhereProgressIsThereAlready) {
  Start();
  SendStep(0, {"a"});
  Release(1);
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "[0,1)");
}

TEST_F(ShardWorkerTest, LiftToTheBaseIsDoneAtOnce) {
  Start({.worker = {.released = 7}, .base_steps = 7});
  const auto lifted = Lift(7);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "");
}

TEST_F(ShardWorkerTest, LiftWaitsForWhatIsHeldBelow) {
  Start({.target = {.separate_committer = true}});
  process_->target.HoldAnswers();
  SendStep(0, {"a"});
  Release(1);
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_FALSE(lifted->has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "[0,1)");
}

TEST_F(ShardWorkerTest, LiftWaitsForAStepThatHasNotEnded) {
  Start();
  SendChunk(0, "a");
  Release(1);
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_FALSE(lifted->has_value());
  EXPECT_EQ(Ranges(), "");
  SendEnd(0);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerTest, LiftPassesStepsThatAreHeldAbove) {
  Start();
  SendStep(0, {});
  SendStep(1, {"unreleased"});
  Release(1);
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "[0,1)");
  Release(2);
  EXPECT_EQ(Ranges(), "[0,1) [1,2)");
}

TEST_F(ShardWorkerTest, LiftAboveTheReleasedCountIsRefused) {
  Start();
  Release(3);
  const auto lifted = Lift(4);
  executor_.RunUntilIdle();
  ASSERT_TRUE(lifted->has_value());
  EXPECT_THAT(**lifted, HasReason(Reason::RELEASE_AHEAD));
  EXPECT_EQ(Ranges(), "");
}

TEST_F(ShardWorkerTest, ALiftIsRetriedToo) {
  Start();
  Release(3);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "down"));
  const auto lifted = Lift(3);
  executor_.RunUntilIdle();
  EXPECT_FALSE(lifted->has_value());
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_EQ(Ranges(), "[0,3)");
}

TEST_F(ShardWorkerTest, EveryLiftIsAnsweredOnce) {
  Start();
  Release(9);
  const auto three = Lift(3);
  const auto nine = Lift(9);
  const auto one = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_EQ(*three, absl::OkStatus());
  EXPECT_EQ(*nine, absl::OkStatus());
  EXPECT_EQ(*one, absl::OkStatus());
  EXPECT_EQ(database_.Progress(kTable, 0), 9u);
}

TEST_F(ShardWorkerTest, AStepThatWasLiftedOverIsNotSilentlyDropped) {
  Start();
  Release(9);
  (void)Lift(9);
  executor_.RunUntilIdle();
  SendStep(5, {"would be lost"});
  EXPECT_DEATH(executor_.RunUntilIdle(), "below the progress made since open");
}

// --- Tasks.

TEST_F(ShardWorkerTest, EveryCallIsATaskOfItsOwn) {
  Start({.target = {.separate_committer = true},
         .worker = {.push_bytes_max = 0}});
  std::vector<Operation> calls;
  database_.SetHook([&](const FakeDatabase::Call& call) {
    calls.push_back(call.operation);
    return std::nullopt;
  });
  SendStep(0, {"a", "b"});
  process_->worker->SetReleased(1);
  size_t most = 0;
  for (size_t before = 0; executor_.RunOne(); before = calls.size()) {
    most = std::max(most, calls.size() - before);
  }
  EXPECT_THAT(calls, ElementsAre(Operation::kBatchStart, Operation::kPush,
                                 Operation::kPush, Operation::kBatchEnd,
                                 Operation::kCommit));
  EXPECT_EQ(most, 1u);
}

TEST_F(ShardWorkerTest, PushesShareATaskUpToABound) {
  Start({.worker = {.push_bytes_max = 4}});
  size_t pushes = 0;
  database_.SetHook([&](const FakeDatabase::Call& call) {
    pushes += call.operation == Operation::kPush ? 1 : 0;
    return std::nullopt;
  });
  SendStep(0, {"a", "b", "c", "d", "e"});
  process_->worker->SetReleased(1);
  std::vector<size_t> per_task;
  for (size_t before = 0; executor_.RunOne(); before = pushes) {
    if (pushes > before) per_task.push_back(pushes - before);
  }
  EXPECT_THAT(per_task, ElementsAre(2, 2, 1));
}

TEST_F(ShardWorkerTest, AnIdleWorkerHasNoTaskAndNoTimer) {
  Start();
  SendStep(0, {"a"});
  Release(1);
  EXPECT_EQ(executor_.ready_count(), 0u);
  EXPECT_EQ(executor_.timer_count(), 0u);
}

// --- Messages.

TEST_F(ShardWorkerTest, FramesOfMessagesArePushedKeyByKey) {
  Start({.target = {.frames = FrameKind::kMessages}});
  EncodedChunk chunk;
  FrameBuffer frame;
  const MessageHeader headers[] = {{"h", "1"}, {"empty", std::nullopt}};
  AppendMessage("k", "v", headers, frame);
  AppendMessage(std::nullopt, std::nullopt, {}, frame);
  chunk.frame = SealedFrame(std::move(frame));
  Send(std::move(chunk));
  SendEnd(0);
  Release(1);
  EXPECT_THAT(
      database_.Messages(kTable, 0),
      ElementsAre(FakeDatabase::Message{"k", "v", {{"h", "1"}, {"empty", {}}}},
                  FakeDatabase::Message{}));
}

TEST_F(ShardWorkerTest, AFrameThatEndsInsideAMessageBreaksTheShard) {
  Start({.target = {.frames = FrameKind::kMessages}});
  SendStep(0, {"abc"});
  Release(1);
  ASSERT_THAT(process_->observer.fatal, SizeIs(1));
  EXPECT_THAT(process_->observer.fatal[0], HasReason(Reason::INTERNAL));
  EXPECT_THAT(database_.Messages(kTable, 0), IsEmpty());
}

// --- Broken invariants.

TEST_F(ShardWorkerTest, StepsMustRise) {
  Start();
  SendStep(3, {"a"});
  SendStep(2, {"b"});
  EXPECT_DEATH(executor_.RunUntilIdle(), "too early");
}

TEST_F(ShardWorkerTest, NothingFollowsAStepEnd) {
  Start();
  SendStep(3, {"a"});
  SendStep(3, {"b"});
  EXPECT_DEATH(executor_.RunUntilIdle(), "after its end");
}

}  // namespace
}  // namespace penstock::core
