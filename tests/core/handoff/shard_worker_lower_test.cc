// A shard worker below exactly-once: batches by size and age.
#include "core/handoff/shard_worker.h"

#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShardWorkerLowerTest : public ShardWorkerTest {
 protected:
  void StartLower(uint64_t batch_bytes_max = 1'000,
                  bool separate_committer = false) {
    Start({.target = {.level = FtModel::kAtLeastOnce,
                      .separate_committer = separate_committer},
           .worker = {.delivery = {.batch_bytes_max = batch_bytes_max,
                                   .batch_linger = absl::Milliseconds(100)},
                      .run_id = "run"}});
  }
  // Every chunk is a batch.
  void StartWriters(uint32_t writers) {
    Start({.target = {.level = FtModel::kAtLeastOnce, .writers_max = writers},
           .worker = {.delivery = {.batch_bytes_max = 1}}});
  }
  uint64_t Flushes(FlushReason reason) const {
    return Snapshot().flushes[static_cast<size_t>(reason)];
  }
};

TEST_F(ShardWorkerLowerTest, ABatchIsWrittenWithoutRelease) {
  StartLower(/*batch_bytes_max=*/2);
  SendChunks(0, {"a"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
  EXPECT_THAT(process_->observer.progress, IsEmpty());
}

TEST_F(ShardWorkerLowerTest, ASmallBatchLingers) {
  StartLower();
  SendChunks(0, {"a"});
  executor_.Advance(absl::Milliseconds(60));
  SendChunks(1, {"b"});
  executor_.Advance(absl::Milliseconds(39));
  EXPECT_THAT(Lines(), IsEmpty());
  executor_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(Ranges(), "[0,2)") << "one batch";
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ShardWorkerLowerTest, BatchesAreCutBySize) {
  StartLower(/*batch_bytes_max=*/4);
  SendChunks(0, {"a", "b", "c", "ddddddd", "e"});
  executor_.RunUntilIdle();
  EXPECT_THAT(database_.Transactions(kTable, 0), SizeIs(3));
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "ddddddd"));
  executor_.Advance(absl::Milliseconds(100));
  EXPECT_THAT(Lines(), ElementsAre("a", "b", "c", "ddddddd", "e"));
}

TEST_F(ShardWorkerLowerTest, AcksComeAfterTheCommit) {
  StartLower(1, /*separate_committer=*/true);
  process_->target.HoldAnswers();
  SendChunks(0, {"a"});
  executor_.RunUntilIdle();
  EXPECT_FALSE(AckOf(0).has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(ShardWorkerLowerTest, OneWriteIsUnderWayAtATime) {
  StartLower(1, /*separate_committer=*/true);
  process_->target.HoldAnswers();
  SendChunks(0, {"a", "b"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a"));
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
}

TEST_F(ShardWorkerLowerTest, ABatchIsWrittenAgainAfterTrouble) {
  StartLower(4);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "down"));
  SendChunks(0, {"a", "b"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), IsEmpty());
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerLowerTest, LiftFlushesWhatIsHeldAndQueued) {
  StartLower();
  SendChunks(0, {"a"});
  executor_.RunUntilIdle();
  SendChunks(1, {"b"});
  const auto lifted = Lift(2);
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(*lifted, absl::OkStatus());
}

TEST_F(ShardWorkerLowerTest, LiftIsAnsweredOnlyWhenTheWriteIsConfirmed) {
  StartLower(1'000, /*separate_committer=*/true);
  process_->target.HoldAnswers();
  SendChunks(0, {"a"});
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  EXPECT_FALSE(lifted->has_value());
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
}

TEST_F(ShardWorkerLowerTest, LiftDoesNotFlushWhatCameLater) {
  StartLower(1'000, /*separate_committer=*/true);
  process_->target.HoldAnswers();
  SendChunks(0, {"a"});
  const auto lifted = Lift(1);
  executor_.RunUntilIdle();
  SendChunks(1, {"b"});
  process_->target.AnswerAll();
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_THAT(Lines(), ElementsAre("a"));
}

TEST_F(ShardWorkerLowerTest, LiftOfAnEmptyShardIsAnsweredAtOnce) {
  StartLower();
  const auto lifted = Lift(9);
  executor_.RunUntilIdle();
  EXPECT_EQ(*lifted, absl::OkStatus());
  EXPECT_THAT(database_.Transactions(kTable, 0), IsEmpty());
}

TEST_F(ShardWorkerLowerTest, StopWritesWhatIsHeld) {
  StartLower();
  SendChunks(0, {"a"});
  const auto report = Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT(Lines(), ElementsAre("a"));
  EXPECT_THAT((*report)->dropped, IsEmpty());
}

TEST_F(ShardWorkerLowerTest, StopListsWhatWasBegunAndWhatWasNot) {
  StartLower(1);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "down"), 1'000);
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  SendChunks(2, {"c"});
  executor_.RunUntilIdle();
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(5));
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0));
  EXPECT_THAT((*report)->dropped, ElementsAre(1, 2));
  EXPECT_EQ(AckOf(2), AckStatus::kFailed);
}

TEST_F(ShardWorkerLowerTest, BatchesAreCutByRows) {
  Start({.target = {.level = FtModel::kAtLeastOnce},
         .worker = {.delivery = {.batch_rows_max = 2}}});
  SendChunks(0, {"a", "b", "c"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("a", "b"));
  EXPECT_EQ(Flushes(FlushReason::kRows), 1u);
}

TEST_F(ShardWorkerLowerTest, EachFlushIsCountedWithItsReason) {
  StartLower(/*batch_bytes_max=*/4);
  SendChunks(0, {"a", "b"});
  executor_.RunUntilIdle();
  EXPECT_EQ(Flushes(FlushReason::kBytes), 1u);
  SendChunks(1, {"c"});
  executor_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(Flushes(FlushReason::kLinger), 1u);
  SendChunks(2, {"d"});
  (void)Lift(3);
  executor_.RunUntilIdle();
  EXPECT_EQ(Flushes(FlushReason::kLift), 1u);
  SendChunks(3, {"e"});
  (void)Stop(absl::Seconds(5));
  executor_.RunUntilIdle();
  EXPECT_EQ(Flushes(FlushReason::kDrain), 1u);
  EXPECT_EQ(Flushes(FlushReason::kRows), 0u);
}

TEST_F(ShardWorkerLowerTest, ABatchKeepsItsIdWhenItIsWrittenAgain) {
  StartLower(/*batch_bytes_max=*/2);
  database_.LoseNextAnswer(Operation::kBatchEnd);
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  executor_.Advance(absl::Seconds(1));
  const auto transactions = database_.Transactions(kTable, 0);
  ASSERT_THAT(transactions, SizeIs(3));
  EXPECT_EQ(transactions[0].id, "run-0-0");
  EXPECT_EQ(transactions[1].id, "run-0-0");
  EXPECT_EQ(transactions[2].id, "run-0-1");
}

// --- Several writers.

TEST_F(ShardWorkerLowerTest, WritesMayOvertakeEachOther) {
  StartWriters(2);
  bool looked = false;
  InNext(Operation::kBatchEnd, [&] {
    executor_.RunUntilIdle();
    EXPECT_THAT(Lines(), ElementsAre("b"));
    EXPECT_EQ(AckOf(1), AckStatus::kDelivered);
    EXPECT_FALSE(AckOf(0).has_value());
    looked = true;
  });
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  executor_.RunUntilIdle();
  EXPECT_TRUE(looked);
  EXPECT_THAT(Lines(), ElementsAre("b", "a"));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(ShardWorkerLowerTest, NoMoreWritesAreUnderWayThanThereAreWriters) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "down"), 1'000);
  SendChunks(0, {"a", "b", "c", "d"});
  executor_.RunUntilIdle();
  EXPECT_EQ(Snapshot().writes_under_way, 2u);
  EXPECT_EQ(Snapshot().writes_max, 2u);
  EXPECT_EQ(Snapshot().held_bytes, 8u);
}

TEST_F(ShardWorkerLowerTest, AFailedWriteHoldsUpNoOther) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::UNAVAILABLE, "down"));
  SendChunks(0, {"a", "b", "c", "d"});
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("b", "c", "d"));
  EXPECT_FALSE(AckOf(0).has_value());
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("b", "c", "d", "a"));
  EXPECT_EQ(AckOf(0), AckStatus::kDelivered);
}

TEST_F(ShardWorkerLowerTest, ItHasRecoveredWhenNoWriteIsInTrouble) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::UNAVAILABLE, "down"), 3);
  SendChunks(0, {"a", "b"});
  executor_.RunUntilIdle();
  EXPECT_EQ(process_->observer.recovered, 0);
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(process_->observer.recovered, 1);
}

TEST_F(ShardWorkerLowerTest, LiftWaitsForEveryWriteThatBeganBefore) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::UNAVAILABLE, "down"));
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  const auto lifted = Lift(2);
  executor_.RunUntilIdle();
  EXPECT_THAT(Lines(), ElementsAre("b"));
  EXPECT_FALSE(lifted->has_value());
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(*lifted, absl::OkStatus());
}

TEST_F(ShardWorkerLowerTest, StopListsEveryWriteThatWasUnderWay) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchEnd,
                     MakeError(Reason::UNAVAILABLE, "down"), 1'000);
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  SendChunks(2, {"c"});
  executor_.RunUntilIdle();
  const auto report = Stop(absl::Seconds(5));
  executor_.Advance(absl::Seconds(5));
  ASSERT_TRUE(report->has_value());
  EXPECT_THAT((*report)->unconfirmed, ElementsAre(0, 1));
  EXPECT_THAT((*report)->dropped, ElementsAre(2));
}

TEST_F(ShardWorkerLowerTest, AFatalErrorOfOneWriterBreaksTheShard) {
  StartWriters(2);
  database_.FailNext(Operation::kBatchStart,
                     MakeError(Reason::INVALID_CONFIG, "refused"));
  SendChunks(0, {"a"});
  SendChunks(1, {"b"});
  executor_.RunUntilIdle();
  EXPECT_THAT(process_->observer.fatal, SizeIs(1));
  EXPECT_EQ(AckOf(0), AckStatus::kFailed);
  EXPECT_EQ(AckOf(1), AckStatus::kFailed);
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(ShardWorkerLowerTest, ExactlyOnceHasOneWriter) {
  EXPECT_DEATH(Start({.target = {.writers_max = 2}}), "exactly_once_");
}

TEST_F(ShardWorkerLowerTest, HeldStepsAreCounted) {
  StartLower();
  SendChunks(0, {"a", "b"});
  SendChunks(1, {"c"});
  executor_.RunUntilIdle();
  EXPECT_EQ(Snapshot().held_steps, 2u);
  EXPECT_EQ(Snapshot().held_bytes, 6u);
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(Snapshot().held_steps, 0u);
  EXPECT_EQ(Snapshot().rows_written, 3u);
}

}  // namespace
}  // namespace penstock::core
