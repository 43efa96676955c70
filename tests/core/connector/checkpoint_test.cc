// PrepareCheckpoint and CommitCheckpoint (`protocol.md` rule 7).
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace penstock::core {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Blocker::Kind;

std::vector<Kind> KindsOf(const PrepareCheckpointReply& reply) {
  std::vector<Kind> kinds;
  for (const Blocker& blocker : reply.blockers) kinds.push_back(blocker.kind);
  return kinds;
}

class CheckpointTest : public testing::Test {
 protected:
  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void MakeStep(Step step) {
    harness_.source.AppendNumbered("k", 10, 10 * step);
    harness_.MustQueue(step);
  }

  Harness harness_;
};

TEST_F(CheckpointTest, ReadyWhenEverythingBelowIsCompleted) {
  Start();
  MakeStep(0);
  EXPECT_OK(harness_.Release(1).status());
  const Answer<PrepareCheckpointReply> answer = harness_.Prepare(1);
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->ready);
  EXPECT_THAT(answer->blockers, IsEmpty());
}

TEST_F(CheckpointTest, LiftsTheProgressOfShardsWithoutRows) {
  Start();
  // One key: one shard gets no row.
  harness_.source.Append(0, {"k:1", "k:2"});
  harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  const std::string table = harness_.table();
  const auto lower = [&] {
    return std::min(*harness_.database.Progress(table, 0),
                    *harness_.database.Progress(table, 1));
  };
  EXPECT_EQ(lower(), 0u);
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
  EXPECT_TRUE(harness_.Prepare(1)->ready);
  EXPECT_EQ(lower(), 1u);
}

TEST_F(CheckpointTest, WaitsForReleaseAndCompletion) {
  Start();
  MakeStep(0);
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(10));
  harness_.Advance(absl::Seconds(5));
  EXPECT_FALSE(answer.came());
  EXPECT_OK(harness_.Release(1).status());
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->ready);
}

TEST_F(CheckpointTest, NamesTheUnreleasedStepAtTheDeadline) {
  Start();
  MakeStep(0);
  const absl::Time made = harness_.executor.clock().Now();
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(10));
  harness_.Advance(absl::Seconds(10));
  ASSERT_OK(answer.status());
  EXPECT_FALSE(answer->ready);
  EXPECT_THAT(KindsOf(*answer), Contains(Kind::kUnreleasedStep));
  EXPECT_EQ(answer->blockers.front().step, 0u);
  EXPECT_EQ(answer->blockers.front().since, made);
}

TEST_F(CheckpointTest, NamesTheShardThatIsBehind) {
  Start();
  MakeStep(0);
  harness_.Unreachable(1);
  EXPECT_OK(harness_.Release(1).status());
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(10));
  harness_.Advance(absl::Seconds(10));
  ASSERT_OK(answer.status());
  EXPECT_FALSE(answer->ready);
  EXPECT_THAT(KindsOf(*answer),
              ElementsAre(Kind::kUnfinishedStep, Kind::kUnflushedShard));
  EXPECT_EQ(answer->blockers[1].shard, 1u);
}

TEST_F(CheckpointTest, NamesTheShardWhoseLiftIsMissing) {
  Start();
  harness_.source.Append(0, {"k:1"});
  harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  const bool first_has_rows =
      !harness_.database.Lines(harness_.table(), 0).empty();
  const ShardIndex without_rows = first_has_rows ? 1 : 0;
  harness_.Unreachable(without_rows);
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(10));
  harness_.Advance(absl::Seconds(10));
  ASSERT_OK(answer.status());
  EXPECT_FALSE(answer->ready);
  ASSERT_THAT(KindsOf(*answer), ElementsAre(Kind::kUnflushedShard));
  EXPECT_EQ(answer->blockers[0].shard, without_rows);
  // The lift goes on; the next Prepare finds it done.
  harness_.Reachable();
  harness_.Advance(absl::Seconds(30));
  EXPECT_TRUE(harness_.Prepare(1)->ready);
}

TEST_F(CheckpointTest, StepsNotMadeYetAreWaitedFor) {
  Start();
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(10));
  EXPECT_FALSE(answer.came());
  MakeStep(0);
  EXPECT_OK(harness_.Release(1).status());
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->ready);
}

TEST_F(CheckpointTest, SameStepsJoin) {
  Start();
  MakeStep(0);
  const Answer<PrepareCheckpointReply> first = harness_.Prepare(1);
  const Answer<PrepareCheckpointReply> second = harness_.Prepare(1);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_TRUE(first->ready);
  EXPECT_TRUE(second->ready);
}

TEST_F(CheckpointTest, HoldsBackNoLaterCommand) {
  Start();
  MakeStep(0);
  const Answer<PrepareCheckpointReply> prepare = harness_.Prepare(1);
  MakeStep(1);
  harness_.MustPause();
  EXPECT_FALSE(prepare.came());
}

TEST_F(CheckpointTest, BlockersShowInTheStatusMeanwhile) {
  Start();
  MakeStep(0);
  const Answer<PrepareCheckpointReply> prepare = harness_.Prepare(1);
  EXPECT_FALSE(harness_.Status().blockers.empty());
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Status().blockers, IsEmpty());
}

TEST_F(CheckpointTest, RunningReplayIsABlocker) {
  Start();
  MakeStep(0);
  const StepResult result = *harness_.connector->Retained(0);
  harness_.MustClose();
  harness_.request.journaled_steps = 1;
  harness_.MustOpen();
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> replay = harness_.Replay(result, 0);
  const Answer<PrepareCheckpointReply> answer =
      harness_.Prepare(1, absl::Seconds(1));
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(answer.status());
  EXPECT_THAT(KindsOf(*answer), Contains(Kind::kReplay));
}

// There is none to be taken: what is asked for is that all is written.
TEST_F(CheckpointTest, BarrierHoldsUpNoFlushWithoutALevel) {
  harness_.request.spec.level = std::nullopt;
  Start();
  harness_.source.SetBarrier(true);
  MakeStep(0);
  const Answer<PrepareCheckpointReply> flush = harness_.Prepare(1);
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(flush.status());
  EXPECT_TRUE(flush->ready);
}

TEST_F(CheckpointTest, BarrierIsAnsweredAtOnce) {
  harness_.request.spec.level = FtModel::kAtLeastOnce;
  Start();
  harness_.source.SetBarrier(true);
  MakeStep(0);
  harness_.source.SetBarrier(false);
  MakeStep(1);
  const Answer<PrepareCheckpointReply> at_barrier = harness_.Prepare(1);
  ASSERT_OK(at_barrier.status());
  EXPECT_FALSE(at_barrier->ready);
  EXPECT_THAT(KindsOf(*at_barrier), ElementsAre(Kind::kBarrier));
  const Answer<PrepareCheckpointReply> behind = harness_.Prepare(2);
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(behind.status());
  EXPECT_TRUE(behind->ready);
}

TEST_F(CheckpointTest, OpenTransactionIsABlocker) {
  Start();
  harness_.source.StartTransaction("tx");
  MakeStep(0);
  EXPECT_OK(harness_.Release(1).status());
  const Answer<PrepareCheckpointReply> inside = harness_.Prepare(1);
  ASSERT_OK(inside.status());
  EXPECT_THAT(KindsOf(*inside), ElementsAre(Kind::kOpenTransaction));
  harness_.source.CommitTransaction();
  MakeStep(1);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_TRUE(harness_.Prepare(2)->ready);
}

TEST_F(CheckpointTest, BelowExactlyOnceFlushesWhatIsOpen) {
  harness_.request.spec.level = FtModel::kAtLeastOnce;
  Start();
  MakeStep(0);
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  // Without waiting for the age of the chunk.
  const Answer<PrepareCheckpointReply> answer = harness_.Prepare(1);
  harness_.Advance(absl::Milliseconds(100));
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->ready);
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
}

TEST_F(CheckpointTest, CommitAboveCompletedIsRefused) {
  Start();
  MakeStep(0);
  EXPECT_THAT(harness_.Commit(1).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasReason(Reason::NOT_COMPLETED)));
  EXPECT_EQ(harness_.connector->checkpointed()->value(), 0u);
}

TEST_F(CheckpointTest, CommitMovesTheCountAndTheSourceAcknowledges) {
  Start();
  MakeStep(0);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.source.acknowledged(), IsEmpty());
  EXPECT_OK(harness_.Commit(1).status());
  EXPECT_EQ(harness_.connector->checkpointed()->value(), 1u);
  EXPECT_THAT(harness_.source.acknowledged(), ElementsAre(1));
}

TEST_F(CheckpointTest, CommitAtTheCountAcknowledgesAgain) {
  Start();
  MakeStep(0);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_OK(harness_.Commit(1).status());
  EXPECT_OK(harness_.Commit(1).status());
  EXPECT_THAT(harness_.source.acknowledged(), ElementsAre(1, 1));
}

TEST_F(CheckpointTest, CommitAfterAReopenAcknowledgesThePositionOfOpen) {
  harness_.request.base_steps = 4;
  harness_.MustOpen();
  EXPECT_OK(harness_.Commit(4).status());
  EXPECT_THAT(harness_.source.acknowledged(), ElementsAre(4));
}

TEST_F(CheckpointTest, CommitBelowTheCountHasNoEffect) {
  Start();
  MakeStep(0);
  MakeStep(1);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_OK(harness_.Commit(2).status());
  EXPECT_OK(harness_.Commit(1).status());
  EXPECT_EQ(harness_.connector->checkpointed()->value(), 2u);
  EXPECT_THAT(harness_.source.acknowledged(), ElementsAre(2));
}

TEST_F(CheckpointTest, WithoutCheckpointsTheSourceAcknowledgesCompletedSteps) {
  harness_.request.checkpointing = false;
  Start();
  MakeStep(0);
  EXPECT_THAT(harness_.source.acknowledged(), IsEmpty());
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.source.acknowledged(), ElementsAre(1));
}

TEST_F(CheckpointTest, FailedConnectorCanStillBeCheckpointed) {
  Start();
  MakeStep(0);
  harness_.source.ReportError(true, MakeError(Reason::UNAVAILABLE, "gone"),
                              "test");
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_TRUE(harness_.Prepare(1)->ready);
  EXPECT_OK(harness_.Commit(1).status());
}

}  // namespace
}  // namespace penstock::core
