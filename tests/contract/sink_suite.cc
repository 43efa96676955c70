#include "tests/contract/sink_suite.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <absl/status/status.h>

#include <utility>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

}  // namespace

OutputOpen SinkContractTest::FirstOpen() {
  return {.incarnation = "1234abcd",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 1, .open_number = 1},
          .base_steps = 0,
          .first_open = true,
          .shards = 2,
          .level = FtModel::kExactlyOnce};
}

OutputOpen SinkContractTest::Reopen(uint64_t open_number) {
  OutputOpen open = FirstOpen();
  open.writer.open_number = open_number;
  open.first_open = false;
  return open;
}

TEST_P(SinkContractTest, SaysTheLevelItCanProve) {
  EXPECT_EQ(driver_->Make()->FaultTolerance(), capabilities_.level);
}

TEST_P(SinkContractTest, FirstOpenCreatesProgressAtTheBase) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  OutputOpen open = FirstOpen();
  open.base_steps = 41;
  const SinkRun run(*driver_, open);
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(41, 41)));
}

TEST_P(SinkContractTest, EndpointOfAnExactlyOnceOpenIsFaultTolerant) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  EXPECT_TRUE(run.endpoint(0).IsFaultTolerant());
}

TEST_P(SinkContractTest, OpenAtNoLevelReturnsNoProgress) {
  OutputOpen open = FirstOpen();
  open.level = std::nullopt;
  const SinkRun run(*driver_, open);
  EXPECT_THAT(run.opened(), IsOkAndHolds(IsEmpty()));
}

TEST_P(SinkContractTest, OpenAtLeastOnceReturnsNoProgress) {
  OutputOpen open = FirstOpen();
  open.level = FtModel::kAtLeastOnce;
  const SinkRun run(*driver_, open);
  EXPECT_THAT(run.opened(), IsOkAndHolds(IsEmpty()));
}

TEST_P(SinkContractTest, NothingIsVisibleBeforeTheCommit) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.Start(0, {0, 1}));
  ASSERT_OK(run.Push(0, {"a", "b"}));
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
}

TEST_P(SinkContractTest, BatchEndAloneShowsNothing) {
  PENSTOCK_SKIP_UNLESS(capabilities_.has_committer && KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.Write(0, {0, 1}, {"a", "b"}));
    EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
  }
  const SinkRun next(*driver_, Reopen(2));
  EXPECT_THAT(next.opened(), IsOkAndHolds(ElementsAre(0, 0)));
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
}

TEST_P(SinkContractTest, BatchThatEndedCanBeWrittenAgain) {
  PENSTOCK_SKIP_UNLESS(capabilities_.has_committer && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.Write(0, {0, 1}, {"dropped"}));
  ASSERT_OK(run.WriteAndCommit(0, {0, 2}, {"a"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

TEST_P(SinkContractTest, HigherWriterFencesABatchThatEnded) {
  PENSTOCK_SKIP_UNLESS(capabilities_.has_committer && KeepsExactlyOnce());
  SinkRun low(*driver_, FirstOpen());
  ASSERT_OK(low.opened());
  ASSERT_OK(low.Write(0, {0, 1}, {"a"}));
  SinkRun high(*driver_, Reopen(2));
  ASSERT_OK(high.opened());
  EXPECT_THAT(low.Commit(0, {0, 1}), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
  ASSERT_OK(high.WriteAndCommit(0, {0, 1}, {"a"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

TEST_P(SinkContractTest, OnlyTheLastBatchCanBeCommitted) {
  PENSTOCK_SKIP_UNLESS(capabilities_.has_committer && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  EXPECT_THAT(run.Commit(0, {0, 1}), Not(IsOk()));
  ASSERT_OK(run.Write(0, {0, 1}, {"a"}));
  EXPECT_THAT(run.Commit(0, {0, 2}), Not(IsOk()));
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
}

TEST_P(SinkContractTest, CommittedRowsAreVisibleInOrder) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a", "b"}));
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"c"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b", "c"));
}

TEST_P(SinkContractTest, ShardsAreWrittenApart) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.Write(0, {0, 1}, {"left"}));
  ASSERT_OK(run.WriteAndCommit(1, {0, 3}, {"right"}));
  ASSERT_OK(run.Commit(0, {0, 1}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("left"));
  EXPECT_THAT(driver_->ReadBack(1), ElementsAre("right"));
}

TEST_P(SinkContractTest, EveryCommitIsAnsweredOnce) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.Write(0, {0, 1}, {"left"}));
  ASSERT_OK(run.Write(1, {0, 2}, {"right"}));
  run.BeginCommit(0, {0, 1});
  run.BeginCommit(1, {0, 2});
  run.Settle();
  auto answers = run.TakeAnswers();
  EXPECT_THAT(answers[0], ElementsAre(IsOk()));
  EXPECT_THAT(answers[1], ElementsAre(IsOk()));
}

TEST_P(SinkContractTest, ProgressSurvivesTheTarget) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
    ASSERT_OK(run.WriteAndCommit(0, {1, 7}, {"b"}));
  }
  const SinkRun run(*driver_, Reopen(2));
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(7, 0)));
}

TEST_P(SinkContractTest, NextOpenGoesOnBehindTheLastCommit) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  }
  SinkRun run(*driver_, Reopen(2));
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, FirstOpenRepeatedKeepsWhatIsThere) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  }
  OutputOpen again = Reopen(2);
  again.first_open = true;
  const SinkRun run(*driver_, again);
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(1, 0)));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

TEST_P(SinkContractTest, RowsThatWereNotCommittedAreGoneAfterTheNextOpen) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
    ASSERT_OK(run.Start(0, {1, 2}));
    ASSERT_OK(run.Push(0, {"b"}));
  }
  SinkRun run(*driver_, Reopen(2));
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(1, 0)));
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"b again"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b again"));
}

TEST_P(SinkContractTest, BatchWithoutRowsLiftsProgress) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(1, {0, 9}, {}));
    EXPECT_THAT(driver_->ReadBack(1), IsEmpty());
    ASSERT_OK(run.WriteAndCommit(1, {9, 10}, {"a"}));
    ASSERT_OK(run.WriteAndCommit(1, {10, 12}, {}));
    EXPECT_THAT(driver_->ReadBack(1), ElementsAre("a"));
  }
  const SinkRun run(*driver_, Reopen(2));
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(0, 12)));
}

// A retryable answer may hide a success: the same batch comes again.
TEST_P(SinkContractTest, BatchCommittedBeforeIsAnsweredAndNotWrittenAgain) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 2}, {"a"}));
  ASSERT_OK(run.WriteAndCommit(0, {2, 4}, {"b", "c"}));
  EXPECT_OK(run.WriteAndCommit(0, {2, 4}, {"b", "c"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b", "c"));
  ASSERT_OK(run.WriteAndCommit(0, {4, 5}, {"d"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b", "c", "d"));
}

TEST_P(SinkContractTest, StepsOfWhichTheShardHoldsSomeAreRefused) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 2}, {"a"}));
  EXPECT_THAT(run.WriteAndCommit(0, {1, 3}, {"a"}),
              HasReason(Reason::PROGRESS_AHEAD));
}

TEST_P(SinkContractTest, StepsThatLeaveAGapAreRefused) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 2}, {"a"}));
  EXPECT_THAT(run.WriteAndCommit(0, {3, 4}, {"b"}),
              HasReason(Reason::PROGRESS_BEHIND));
}

TEST_P(SinkContractTest, EndpointDestroyedInABatchLeavesNothingOfIt) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.Start(0, {0, 1}));
    ASSERT_OK(run.Push(0, {"dropped"}));
    ASSERT_OK(run.WriteAndCommit(1, {0, 1}, {"a"}));
    run.DestroyEndpoint(0);
    ASSERT_OK(run.WriteAndCommit(1, {1, 2}, {"b"}));
  }
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
  EXPECT_THAT(driver_->ReadBack(1), ElementsAre("a", "b"));
  const SinkRun next(*driver_, Reopen(2));
  EXPECT_THAT(next.opened(), IsOkAndHolds(ElementsAre(0, 2)));
}

TEST_P(SinkContractTest, BatchBegunAgainStartsEmpty) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  ASSERT_OK(run.Start(0, {1, 2}));
  ASSERT_OK(run.Push(0, {"dropped"}));
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, WritingOutsideOfABatchIsRefused) {
  PENSTOCK_SKIP_UNLESS(ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  EXPECT_THAT(run.Push(0, {"a"}), Not(IsOk()));
  EXPECT_THAT(run.End(0), Not(IsOk()));
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  EXPECT_THAT(run.Push(0, {"b"}), Not(IsOk()));
}

TEST_P(SinkContractTest, BufferOfTheGreatestSizeIsTaken) {
  PENSTOCK_SKIP_UNLESS(capabilities_.buffer_bytes_max > 0);
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_EQ(run.endpoint(0).MaxBufferSizeBytes(),
            capabilities_.buffer_bytes_max);
  const std::string row = run.RowOfFrameBytes(capabilities_.buffer_bytes_max);
  EXPECT_OK(run.WriteAndCommit(0, {0, 1}, {row}));
}

TEST_P(SinkContractTest, OversizeBufferIsRefusedAndRollsTheBatchBack) {
  PENSTOCK_SKIP_UNLESS(capabilities_.buffer_bytes_max > 0 &&
                       KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  const std::string row =
      run.RowOfFrameBytes(capabilities_.buffer_bytes_max + 1);
  EXPECT_THAT(run.Write(0, {0, 1}, {"dropped", row}),
              AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                    HasReason(Reason::RECORD_TOO_LARGE)));
  EXPECT_THAT(run.End(0), Not(IsOk()));
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

TEST_P(SinkContractTest, FailedWriteRollsTheBatchBackAndCanBeTriedAgain) {
  PENSTOCK_SKIP_UNLESS(capabilities_.can_fail && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  ASSERT_OK(run.Start(0, {1, 2}));
  ASSERT_OK(run.Push(0, {"dropped"}));
  driver_->FailNextWrite();
  EXPECT_THAT(run.Push(0, {"not written"}), Not(IsOk()));
  EXPECT_THAT(run.End(0), Not(IsOk()));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, FailedCommitShowsNothingAndCanBeTriedAgain) {
  PENSTOCK_SKIP_UNLESS(capabilities_.can_fail && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  driver_->FailNextCommit();
  EXPECT_THAT(run.WriteAndCommit(0, {1, 2}, {"b"}), Not(IsOk()));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
  ASSERT_OK(run.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, LowerWriterIsFencedAtOpen) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  OutputOpen high = FirstOpen();
  high.writer = {.epoch = 2, .open_number = 1};
  SinkRun run(*driver_, high);
  ASSERT_OK(run.opened());
  // Of an older epoch, however often it opened.
  const SinkRun late(*driver_, Reopen(99));
  EXPECT_THAT(late.opened(),
              AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                    HasReason(Reason::WRITER_FENCED)));
  EXPECT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
}

TEST_P(SinkContractTest, WriterUsedBeforeIsFencedAtOpen) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  const SinkRun again(*driver_, FirstOpen());
  EXPECT_THAT(again.opened(), HasReason(Reason::WRITER_FENCED));
  EXPECT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
}

TEST_P(SinkContractTest, HigherWriterFencesTheCommitsOfTheLower) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun low(*driver_, FirstOpen());
  ASSERT_OK(low.opened());
  ASSERT_OK(low.WriteAndCommit(0, {0, 1}, {"a"}));
  ASSERT_OK(low.Start(0, {1, 2}));
  ASSERT_OK(low.Push(0, {"b"}));
  SinkRun high(*driver_, Reopen(2));
  EXPECT_THAT(high.opened(), IsOkAndHolds(ElementsAre(1, 0)));
  EXPECT_THAT(low.EndAndCommit(0, {1, 2}), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
  ASSERT_OK(high.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, FencedWriterDoesNoHarmHoweverOftenItTries) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  SinkRun low(*driver_, FirstOpen());
  ASSERT_OK(low.opened());
  low.endpoint(1);
  ASSERT_OK(low.WriteAndCommit(0, {0, 1}, {"a"}));
  ASSERT_OK(low.Start(0, {1, 2}));
  ASSERT_OK(low.Push(0, {"late"}));
  SinkRun high(*driver_, Reopen(2));
  ASSERT_OK(high.opened());
  ASSERT_OK(high.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(low.EndAndCommit(0, {1, 2}), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(low.WriteAndCommit(0, {1, 2}, {"later"}),
              HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(low.WriteAndCommit(1, {0, 1}, {"elsewhere"}),
              HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
  EXPECT_THAT(driver_->ReadBack(1), IsEmpty());
  const SinkRun next(*driver_, Reopen(3));
  EXPECT_THAT(next.opened(), IsOkAndHolds(ElementsAre(2, 0)));
}

TEST_P(SinkContractTest, ProgressOfAnotherIncarnationIsForeign) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  }
  OutputOpen foreign = FirstOpen();
  foreign.incarnation = "5678";
  foreign.writer = {.epoch = 9, .open_number = 1};
  const SinkRun other(*driver_, foreign);
  EXPECT_THAT(other.opened(),
              AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                    HasReason(Reason::FOREIGN_PROGRESS)));
  // It has not fenced the owner.
  const SinkRun owner(*driver_, Reopen(2));
  EXPECT_THAT(owner.opened(), IsOkAndHolds(ElementsAre(1, 0)));
}

TEST_P(SinkContractTest, AbsentProgressIsLostUnlessItIsTheFirstOpen) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  }
  driver_->Forget();
  const SinkRun run(*driver_, Reopen(2));
  EXPECT_THAT(run.opened(),
              AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                    HasReason(Reason::PROGRESS_LOST)));
}

TEST_P(SinkContractTest, NewShardCountStartsAllShardsAtACleanCheckpoint) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 5}, {"a"}));
    ASSERT_OK(run.WriteAndCommit(1, {0, 5}, {"b"}));
  }
  OutputOpen wider = Reopen(2);
  wider.shards = 3;
  wider.base_steps = 5;
  SinkRun run(*driver_, wider);
  EXPECT_THAT(run.opened(), IsOkAndHolds(ElementsAre(5, 5, 5)));
  ASSERT_OK(run.WriteAndCommit(2, {5, 6}, {"c"}));
  ASSERT_OK(run.WriteAndCommit(1, {5, 6}, {"d"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
  EXPECT_THAT(driver_->ReadBack(1), ElementsAre("b", "d"));
  EXPECT_THAT(driver_->ReadBack(2), ElementsAre("c"));
}

TEST_P(SinkContractTest, NewShardCountNeedsACleanCheckpoint) {
  PENSTOCK_SKIP_UNLESS(KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 6}, {"a"}));
    ASSERT_OK(run.WriteAndCommit(1, {0, 5}, {"b"}));
  }
  OutputOpen wider = Reopen(2);
  wider.shards = 3;
  wider.base_steps = 5;
  const SinkRun run(*driver_, wider);
  EXPECT_THAT(run.opened(), Not(IsOk()));
}

// Below exactly-once: steps say nothing, rows are there after the commit.
TEST_P(SinkContractTest, AtLeastOnceKeepsWhatWasCommitted) {
  PENSTOCK_SKIP_UNLESS(capabilities_.keeps && capabilities_.level.has_value());
  OutputOpen open = FirstOpen();
  open.level = FtModel::kAtLeastOnce;
  {
    SinkRun run(*driver_, open);
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {}, {"a"}));
    ASSERT_OK(run.WriteAndCommit(0, {3, 4}, {"b"}));
    ASSERT_OK(run.WriteAndCommit(0, {3, 4}, {"b"}));
  }
  open.writer.open_number = 2;
  open.first_open = false;
  SinkRun run(*driver_, open);
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {}, {"c"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b", "b", "c"));
}

TEST_P(SinkContractTest, AtNoLevelRowsAreVisibleAfterTheCommit) {
  PENSTOCK_SKIP_UNLESS(capabilities_.keeps);
  OutputOpen open = FirstOpen();
  open.level = std::nullopt;
  SinkRun run(*driver_, open);
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(1, {}, {"a", "b"}));
  EXPECT_THAT(driver_->ReadBack(1), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, AtLeastOnceAFailedWriteCanBeTriedAgain) {
  PENSTOCK_SKIP_UNLESS(capabilities_.can_fail && capabilities_.keeps &&
                       capabilities_.level.has_value());
  OutputOpen open = FirstOpen();
  open.level = FtModel::kAtLeastOnce;
  SinkRun run(*driver_, open);
  ASSERT_OK(run.opened());
  driver_->FailNextWrite();
  EXPECT_THAT(run.WriteAndCommit(0, {}, {"a"}), Not(IsOk()));
  ASSERT_OK(run.WriteAndCommit(0, {}, {"a"}));
  EXPECT_THAT(driver_->ReadBack(0), Contains("a"));
}

}  // namespace penstock::core
