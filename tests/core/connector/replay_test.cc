// Replay: verified before anything is visible (`protocol.md` rule 6).
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A life in which three steps were made and journaled, of which the sink holds
// those below `held`; then a reopen at the start.
class ReplayTest : public testing::Test {
 protected:
  explicit ReplayTest(Step held = 0) : harness_(Options()) {
    harness_.MustOpen();
    harness_.MustExtend();
    for (Step step = 0; step < 3; ++step) {
      harness_.source.AppendNumbered("k", 20, 20 * step);
      results_.push_back(*harness_.MustQueue(step));
    }
    EXPECT_OK(harness_.Release(held).status());
    // Every shard's progress, also of one without rows.
    EXPECT_OK(harness_.Prepare(held).status());
    harness_.MustClose();
    harness_.request.journaled_steps = 3;
    harness_.MustOpen();
  }

  static FakeSource::Options Options() {
    FakeSource::Options options;
    options.partitions = 2;
    return options;
  }

  Harness harness_;
  std::vector<StepResult> results_;
};

TEST_F(ReplayTest, WritesWhatWasJournaled) {
  for (Step step = 0; step < 3; ++step) {
    const Answer<ReplayReply> answer = harness_.Replay(results_[step], step);
    ASSERT_OK(answer.status());
    EXPECT_EQ(answer->amount, results_[step].amount);
    EXPECT_FALSE(answer->already_held);
  }
  EXPECT_EQ(harness_.state(), ConnectorState::kReplayed);
  EXPECT_THAT(harness_.Lines(), SizeIs(60));
  EXPECT_EQ(harness_.connector->completed()->value(), 3u);
  EXPECT_EQ(harness_.Status().released_steps, 3u);
}

TEST_F(ReplayTest, ExtendGoesOnFromThere) {
  for (Step step = 0; step < 3; ++step) {
    ASSERT_OK(harness_.Replay(results_[step], step).status());
  }
  harness_.source.AppendNumbered("k", 20, 60);
  harness_.MustExtend();
  EXPECT_EQ(harness_.MustQueue(3)->amount.records, 20u);
  EXPECT_OK(harness_.Release(4).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(80));
}

TEST_F(ReplayTest, SameStepAgainGetsTheSameAnswer) {
  ASSERT_OK(harness_.Replay(results_[0], 0).status());
  const size_t read = harness_.source.records_read();
  const Answer<ReplayReply> again = harness_.Replay(results_[0], 0);
  ASSERT_OK(again.status());
  EXPECT_EQ(again->amount, results_[0].amount);
  EXPECT_EQ(harness_.source.records_read(), read);
  EXPECT_THAT(harness_.Lines(), SizeIs(20));
}

TEST_F(ReplayTest, SameStepJoinsTheOneThatRuns) {
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> first = harness_.Replay(results_[0], 0);
  const Answer<ReplayReply> second = harness_.Replay(results_[0], 0);
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  EXPECT_OK(first.status());
  EXPECT_OK(second.status());
}

TEST_F(ReplayTest, OneMayWaitBehindTheOneThatRuns) {
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> first = harness_.Replay(results_[0], 0);
  const Answer<ReplayReply> second = harness_.Replay(results_[1], 1);
  const Answer<ReplayReply> third = harness_.Replay(results_[2], 2);
  EXPECT_THAT(third.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  harness_.source.HoldAnswers(false);
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  EXPECT_OK(first.status());
  EXPECT_OK(second.status());
}

TEST_F(ReplayTest, NoneIsLeftOut) {
  EXPECT_THAT(harness_.Replay(results_[1], 1).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasReason(Reason::STEP_GAP)));
  EXPECT_EQ(harness_.state(), ConnectorState::kOpened);
}

TEST_F(ReplayTest, TamperedRecordIsDataLossWithBothHashes) {
  harness_.source.Overwrite(1, 3, "k7:tampered");
  const absl::Status status = harness_.Replay(results_[0], 0).status();
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                               HasReason(Reason::REPLAY_MISMATCH)));
  const ErrorMetadata metadata = GetErrorInfo(status)->metadata;
  EXPECT_EQ(metadata.at("expected_count"), "20");
  EXPECT_EQ(metadata.at("actual_count"), "20");
  EXPECT_NE(metadata.at("expected_hash"), metadata.at("actual_hash"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(metadata.at("expected_hash")));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(metadata.at("actual_hash")));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  harness_.Advance(absl::Seconds(60));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.connector->completed()->value(), 0u);
}

TEST_F(ReplayTest, MismatchAskedAgainIsTheSameMismatch) {
  harness_.source.Overwrite(1, 3, "k7:tampered");
  const absl::Status first = harness_.Replay(results_[0], 0).status();
  EXPECT_EQ(harness_.Replay(results_[0], 0).status(), first);
}

TEST_F(ReplayTest, OneThatWaitsBehindAMismatchIsRefused) {
  harness_.source.Overwrite(1, 3, "k7:tampered");
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> first = harness_.Replay(results_[0], 0);
  const Answer<ReplayReply> second = harness_.Replay(results_[1], 1);
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  EXPECT_THAT(first.status(), HasReason(Reason::REPLAY_MISMATCH));
  // The state is looked at before the chain, and says what it failed of.
  EXPECT_THAT(second.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("REPLAY_MISMATCH"));
}

TEST_F(ReplayTest, MissingRecordsAreExpired) {
  harness_.source.Truncate(0, 2);
  EXPECT_THAT(harness_.Replay(results_[0], 0).status(),
              HasReason(Reason::POSITION_EXPIRED));
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
}

TEST_F(ReplayTest, StartElsewhereIsAMismatchOfPositions) {
  StepResult moved = results_[1];
  moved.step = 0;
  EXPECT_THAT(harness_.Replay(moved, 0).status(),
              HasReason(Reason::POSITION_MISMATCH));
}

TEST_F(ReplayTest, ResultWithoutAHashIsRefused) {
  StepResult result = results_[0];
  result.hash.reset();
  EXPECT_THAT(harness_.Replay(result, 0).status(),
              HasReason(Reason::INVALID_REQUEST));
  EXPECT_EQ(harness_.state(), ConnectorState::kOpened);
}

TEST_F(ReplayTest, WaitsUntilNothingElseIsInFlight) {
  // Shard 0 does not get through: the first replay stays in flight.
  harness_.Unreachable();
  ASSERT_OK(harness_.Replay(results_[0], 0).status());
  const size_t read = harness_.source.records_read();
  const Answer<ReplayReply> second = harness_.Replay(results_[1], 1);
  harness_.Advance(absl::Seconds(5));
  EXPECT_FALSE(second.came());
  EXPECT_EQ(harness_.source.records_read(), read);
  harness_.Reachable();
  harness_.Advance(absl::Seconds(30));
  EXPECT_OK(second.status());
}

TEST_F(ReplayTest, DisconnectAbandonsIt) {
  harness_.source.HoldAnswers(true);
  const Answer<ReplayReply> replay = harness_.Replay(results_[0], 0);
  EXPECT_OK(harness_.Disconnect().status());
  EXPECT_THAT(replay.status(), HasReason(Reason::CANCELLED));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
}

TEST_F(ReplayTest, ReplayedResultsAreNotRetained) {
  ASSERT_OK(harness_.Replay(results_[0], 0).status());
  QueueRequest queue;
  queue.step = 0;
  EXPECT_THAT(harness_.Queue(queue).status(), HasReason(Reason::STEP_RELEASED));
}

class HeldReplayTest : public ReplayTest {
 protected:
  HeldReplayTest() : ReplayTest(2) {}
};

TEST_F(HeldReplayTest, StepThatEveryShardHoldsIsNotRead) {
  const size_t read = harness_.source.records_read();
  const Answer<ReplayReply> answer = harness_.Replay(results_[0], 0);
  ASSERT_OK(answer.status());
  EXPECT_TRUE(answer->already_held);
  EXPECT_EQ(harness_.source.records_read(), read);
  EXPECT_EQ(harness_.source.commands().back(), "Skip");
  EXPECT_EQ(harness_.made_steps(), 1u);
  EXPECT_EQ(harness_.Status().released_steps, 1u);
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
  EXPECT_EQ(harness_.Status().already_held_steps, 1u);
}

TEST_F(HeldReplayTest, RestIsReplayedBehindTheSkippedOnes) {
  for (Step step = 0; step < 3; ++step) {
    const Answer<ReplayReply> answer = harness_.Replay(results_[step], step);
    ASSERT_OK(answer.status());
    EXPECT_EQ(answer->already_held, step < 2);
  }
  EXPECT_THAT(harness_.Lines(), SizeIs(60));
  EXPECT_EQ(harness_.connector->completed()->value(), 3u);
  harness_.source.AppendNumbered("k", 20, 60);
  harness_.MustExtend();
  EXPECT_EQ(harness_.MustQueue(3)->amount.records, 20u);
}

TEST_F(HeldReplayTest, HeldStepIsNotVerified) {
  harness_.source.Overwrite(0, 0, "k0:tampered");
  EXPECT_OK(harness_.Replay(results_[0], 0).status());
}

// Only shard 0 got as far as its commit.
TEST(PartlyHeldReplayTest, ShardThatHoldsTheStepGetsNothingTwice) {
  Harness harness;
  harness.source.AppendNumbered("k", 30);
  harness.MustOpen();
  harness.MustExtend();
  const StepResult result = *harness.MustQueue(0);
  harness.Unreachable(1);
  EXPECT_OK(harness.Release(1).status());
  const size_t in_shard_0 = harness.Lines().size();
  EXPECT_GT(in_shard_0, 0u);
  EXPECT_LT(in_shard_0, 30u);
  EXPECT_THAT(harness.Disconnect(absl::ZeroDuration())->unconfirmed_steps,
              ElementsAre(0));
  harness.connector.reset();
  harness.Reachable();

  harness.request.journaled_steps = 1;
  EXPECT_THAT(harness.MustOpen().shard_progress, ElementsAre(1, 0));
  const Answer<ReplayReply> answer = harness.Replay(result, 0);
  ASSERT_OK(answer.status());
  EXPECT_FALSE(answer->already_held);
  EXPECT_THAT(harness.Lines(), SizeIs(30));
}

TEST(ReplayBelowExactlyOnceTest, IsUnsupported) {
  Harness harness;
  harness.request.spec.level = FtModel::kAtLeastOnce;
  harness.MustOpen();
  StepResult result;
  EXPECT_THAT(harness.Replay(result, 0).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasReason(Reason::UNSUPPORTED)));
}

}  // namespace
}  // namespace penstock::core
