// What a Queue answers, and when (`protocol.md` rule 3).
#include "core/connector/lanes.h"
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

// A connector that is RUNNING, with nothing staged.
class QueueTest : public testing::Test {
 protected:
  QueueTest() {
    harness_.MustOpen();
    harness_.MustExtend();
  }

  Harness harness_;
};

TEST_F(QueueTest, AnswersWithoutAStepWhenNothingIsStagedAndNobodyMayWait) {
  const Answer<QueueReply> answer = harness_.QueueStep(1);
  ASSERT_OK(answer.status());
  ASSERT_TRUE(answer->no_step.has_value());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kWaitOver);
  EXPECT_FALSE(answer->no_step->end_of_input);
  // The reader was not even asked, and no timer is left behind.
  EXPECT_THAT(harness_.source.commands(), ElementsAre("Extend"));
  EXPECT_EQ(harness_.executor.timer_count(), 0u);
}

TEST_F(QueueTest, AnswersInsideTheCallWhenTheConnectorIsIdle) {
  Answer<QueueReply> answer;
  harness_.connector->Queue(harness_.RequestOf(1, absl::ZeroDuration()),
                            answer.Callback());
  EXPECT_TRUE(answer.came());
  EXPECT_EQ(harness_.executor.ready_count(), 0u);
}

TEST_F(QueueTest, MakesAStepOfWhatIsStaged) {
  harness_.source.AppendNumbered("k", 25);
  const auto result = harness_.MustQueue(7);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->step, 7u);
  EXPECT_EQ(result->amount.records, 25u);
  EXPECT_EQ(result->stopped_because, StopReason::kWaitOver);
  ASSERT_TRUE(result->hash.has_value());
  EXPECT_EQ(result->hash->count, 25u);
  EXPECT_EQ(result->resume.seek(), "{\"ranges\":[[0,25]]}");
  EXPECT_TRUE(result->position_complete);
  EXPECT_EQ(result->watermarks.size(), 1u);
  EXPECT_EQ(harness_.made_steps(), 8u);
}

TEST_F(QueueTest, SameStepAgainGetsTheSameResultAndReadsNothing) {
  harness_.source.AppendNumbered("k", 25);
  const auto result = harness_.MustQueue(7);
  harness_.source.AppendNumbered("k", 25, 25);
  const size_t read = harness_.source.records_read();
  QueueRequest again;
  again.step = 7;
  again.previous_steps = 0;
  const Answer<QueueReply> answer = harness_.Queue(again);
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result, result);
  EXPECT_EQ(harness_.source.records_read(), read);
}

TEST_F(QueueTest, WaitsForTheMinimumOfRecords) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(100));
  queue.min_records = 30;
  queue.linger = absl::Seconds(50);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 29);
  harness_.RunUntilIdle();
  EXPECT_FALSE(answer.came());
  harness_.source.AppendNumbered("k", 1, 29);
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  ASSERT_NE(answer->result, nullptr);
  EXPECT_EQ(answer->result->amount.records, 30u);
  EXPECT_EQ(answer->result->stopped_because, StopReason::kMinMet);
}

TEST_F(QueueTest, WaitsForTheMinimumOfBytes) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(100));
  queue.min_bytes = 100;
  queue.linger = absl::Seconds(50);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.Append(0, {std::string(99, 'x')});
  harness_.RunUntilIdle();
  EXPECT_FALSE(answer.came());
  harness_.source.Append(0, {"x"});
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.bytes, 100u);
}

TEST_F(QueueTest, LingersAfterTheFirstBuffer) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  harness_.Advance(absl::Seconds(10));
  harness_.source.AppendNumbered("k", 5);
  harness_.Advance(absl::Milliseconds(99));
  EXPECT_FALSE(answer.came());
  harness_.source.AppendNumbered("k", 5, 5);
  harness_.Advance(absl::Milliseconds(1));
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 10u);
  EXPECT_EQ(answer->result->stopped_because, StopReason::kLinger);
}

TEST_F(QueueTest, LingerCountsFromTheStagingNotFromTheCommand) {
  harness_.source.AppendNumbered("k", 5);
  harness_.Advance(absl::Seconds(1));
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->stopped_because, StopReason::kLinger);
}

TEST_F(QueueTest, WaitIsOverWithNothing) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  harness_.Advance(absl::Seconds(99));
  EXPECT_FALSE(answer.came());
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kWaitOver);
  EXPECT_EQ(harness_.made_steps(), 0u);
  EXPECT_EQ(harness_.executor.timer_count(), 0u);
}

TEST_F(QueueTest, NumberWithoutAStepIsStillFree) {
  ASSERT_TRUE(harness_.QueueStep(4)->no_step.has_value());
  harness_.source.AppendNumbered("k", 5);
  EXPECT_NE(harness_.MustQueue(4), nullptr);
}

TEST_F(QueueTest, WaitIsOverWithSomething) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(1));
  queue.linger = absl::Seconds(50);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 5);
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->stopped_because, StopReason::kWaitOver);
}

TEST_F(QueueTest, SameStepJoinsWithTheFirstCallsTerms) {
  const Answer<QueueReply> first = harness_.QueueStep(1, absl::Seconds(10));
  // Alone it would be answered at once.
  const Answer<QueueReply> second = harness_.QueueStep(1, absl::ZeroDuration());
  EXPECT_FALSE(second.came());
  harness_.source.AppendNumbered("k", 5);
  harness_.Advance(absl::Seconds(1));
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_EQ(first->result, second->result);
  EXPECT_EQ(first.count(), 1);
}

TEST_F(QueueTest, OtherStepIsRefusedWhileOneIsOutstanding) {
  const Answer<QueueReply> first = harness_.QueueStep(1, absl::Seconds(10));
  const Answer<QueueReply> other = harness_.QueueStep(2);
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasReason(Reason::QUEUE_RUNNING)));
  EXPECT_EQ(GetErrorInfo(other.status())->metadata.at("running_step"), "1");
  EXPECT_FALSE(first.came());
}

TEST_F(QueueTest, RetainedStepIsRefusedTooWhileAnotherIsOutstanding) {
  harness_.source.AppendNumbered("k", 5);
  harness_.MustQueue(1);
  const Answer<QueueReply> running = harness_.QueueStep(2, absl::Seconds(10));
  EXPECT_THAT(harness_.QueueStep(1).status(), HasReason(Reason::QUEUE_RUNNING));
}

TEST_F(QueueTest, BrokenChainIsRefused) {
  harness_.source.AppendNumbered("k", 5);
  harness_.MustQueue(1);
  QueueRequest queue;
  queue.step = 5;
  queue.previous_steps = 1;
  const absl::Status status = harness_.Queue(queue).status();
  EXPECT_THAT(status, HasReason(Reason::STEP_GAP));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("previous_steps"), "1");
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("made_steps"), "2");
}

TEST_F(QueueTest, RequestedStepMakesAnEmptyOne) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(10));
  harness_.source.StageNothing();
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  ASSERT_NE(answer->result, nullptr);
  EXPECT_TRUE(answer->result->amount.IsEmpty());
}

TEST_F(QueueTest, CheckpointRequestedMakesAnEmptyOne) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(10));
  queue.checkpoint_requested = true;
  const Answer<QueueReply> answer = harness_.Queue(queue);
  ASSERT_OK(answer.status());
  ASSERT_NE(answer->result, nullptr);
  EXPECT_TRUE(answer->result->amount.IsEmpty());
  EXPECT_EQ(answer->result->resume.seek(), "{\"ranges\":[[0,0]]}");
}

TEST_F(QueueTest, AChangeIsNoPlaceForACheckpointUnlessTheWholeIsAskedFor) {
  harness_.source.GiveChanges();
  harness_.source.AppendNumbered("k", 5);
  const auto change = harness_.MustQueue(1);
  EXPECT_FALSE(change->position_complete);
  EXPECT_EQ(change->full_position, std::nullopt);
  EXPECT_EQ(change->resume.seek(), "{\"ranges\":[[0,5]]}");
  QueueRequest queue = harness_.RequestOf(2, absl::ZeroDuration());
  queue.checkpoint_requested = true;
  const auto whole = harness_.MustQueue(queue);
  EXPECT_FALSE(whole->position_complete);
  EXPECT_EQ(whole->full_position, "{\"ranges\":[[5,5]]}");
}

TEST_F(QueueTest, AtTheEndAnotherStepSaysTheWholePlaceIfItIsAskedFor) {
  harness_.source.GiveChanges();
  harness_.source.AppendNumbered("k", 5);
  harness_.source.End();
  ASSERT_TRUE(harness_.MustQueue(1)->end_of_input);
  QueueRequest queue = harness_.RequestOf(2, absl::Seconds(10));
  EXPECT_TRUE(harness_.Queue(queue)->no_step.has_value());
  queue.checkpoint_requested = true;
  const auto whole = harness_.MustQueue(queue);
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(whole->amount.IsEmpty());
  EXPECT_TRUE(whole->end_of_input);
  EXPECT_EQ(whole->full_position, "{\"ranges\":[[5,5]]}");
  // Again, for a controller that was started again meanwhile.
  queue = harness_.RequestOf(3, absl::Seconds(10));
  queue.checkpoint_requested = true;
  EXPECT_EQ(harness_.MustQueue(queue)->full_position, whole->full_position);
}

TEST_F(QueueTest, EmptyStepIsCompletedToo) {
  QueueRequest queue = harness_.RequestOf(1, absl::ZeroDuration());
  queue.checkpoint_requested = true;
  harness_.MustQueue(queue);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_EQ(harness_.connector->completed()->value(), 2u);
}

TEST_F(QueueTest, StopsAtTheLimitOfRecords) {
  harness_.source.AppendNumbered("k", 50);
  QueueRequest queue = harness_.RequestOf(1, absl::ZeroDuration());
  queue.max_records = 15;
  const auto result = harness_.MustQueue(queue);
  // Whole buffers of 10.
  EXPECT_EQ(result->amount.records, 20u);
  EXPECT_EQ(result->stopped_because, StopReason::kBatchLimit);
}

TEST_F(QueueTest, StopsAtTheLimitOfBytes) {
  harness_.source.AppendNumbered("k", 50);
  QueueRequest queue = harness_.RequestOf(1, absl::ZeroDuration());
  queue.max_bytes = 30;
  const auto result = harness_.MustQueue(queue);
  EXPECT_EQ(result->amount.records, 10u);
  EXPECT_EQ(result->stopped_because, StopReason::kByteLimit);
}

TEST_F(QueueTest, LimitBeginsAStepThatWouldWaitForMore) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(100));
  queue.linger = absl::Seconds(50);
  queue.min_records = 1000;
  queue.max_records = 10;
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 10);
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 10u);
}

TEST_F(QueueTest, PauseMakesAWaitingQueueDrain) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(100));
  queue.linger = absl::Seconds(50);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 5);
  harness_.RunUntilIdle();
  EXPECT_FALSE(answer.came());
  harness_.MustPause();
  ASSERT_OK(answer.status());
  ASSERT_NE(answer->result, nullptr);
  EXPECT_EQ(answer->result->amount.records, 5u);
}

TEST_F(QueueTest, PauseMakesAWaitingQueueGiveUp) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  harness_.MustPause();
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kPaused);
}

TEST_F(QueueTest, PausedConnectorDrainsWhatIsStagedAndNothingMore) {
  harness_.source.AppendNumbered("k", 5);
  harness_.MustPause();
  harness_.source.AppendNumbered("k", 5, 5);
  EXPECT_EQ(harness_.MustQueue(1)->amount.records, 5u);
  const Answer<QueueReply> answer = harness_.QueueStep(2, absl::Seconds(100));
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kPaused);
}

TEST_F(QueueTest, PrepareCheckpointMakesAWaitingQueueAnswer) {
  QueueRequest queue = harness_.RequestOf(1, absl::Seconds(100));
  queue.linger = absl::Seconds(50);
  const Answer<QueueReply> with_data = harness_.Queue(queue);
  harness_.source.AppendNumbered("k", 5);
  EXPECT_OK(harness_.Prepare(0).status());
  ASSERT_OK(with_data.status());
  EXPECT_EQ(with_data->result->amount.records, 5u);

  const Answer<QueueReply> without = harness_.QueueStep(2, absl::Seconds(100));
  EXPECT_OK(harness_.Prepare(0).status());
  ASSERT_OK(without.status());
  EXPECT_EQ(without->no_step->reason, NoStepReason::kInterrupted);
}

TEST_F(QueueTest, SupersededWhileItWaits) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  harness_.connector->Supersede();
  harness_.RunUntilIdle();
  EXPECT_THAT(answer.status(), HasReason(Reason::SUPERSEDED));
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
}

TEST_F(QueueTest, SupersedeRefusesWhatWaitsBehindABegunStep) {
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 5);
  const Answer<QueueReply> step = harness_.QueueStep(1);
  const Answer<Nothing> old = harness_.Pause();
  harness_.connector->Supersede();
  const Answer<Nothing> fresh = harness_.Pause();
  EXPECT_THAT(old.status(), HasReason(Reason::SUPERSEDED));
  EXPECT_FALSE(fresh.came());
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  EXPECT_OK(step.status());
  EXPECT_OK(fresh.status());
}

// The second one's takeover and its command reach the driver in one run.
TEST_F(QueueTest, SupersedeRefusesNothingBehindIt) {
  harness_.source.AppendNumbered("k", 3);
  ASSERT_NE(harness_.MustQueue(1), nullptr);
  const Answer<QueueReply> old = harness_.QueueStep(2, absl::Seconds(100));
  harness_.source.AppendNumbered("k", 5, 3);
  Answer<QueueReply> fresh;
  harness_.events->on_changed = [&] {
    harness_.events->on_changed = nullptr;
    harness_.connector->Supersede();
    harness_.connector->Queue(harness_.RequestOf(2, absl::Seconds(100)),
                              fresh.Callback());
  };
  harness_.Status();
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_THAT(old.status(), HasReason(Reason::SUPERSEDED));
  EXPECT_FALSE(fresh.came());
  harness_.Advance(absl::Milliseconds(100));
  EXPECT_OK(fresh.status());
}

TEST_F(QueueTest, NoMoreCallsWaitThanThereMayBe) {
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 5);
  const Answer<QueueReply> first = harness_.QueueStep(1);
  Answer<QueueReply> joined;
  Answer<Nothing> waiting;
  for (size_t i = 0; i <= Lanes::kCallsMax; ++i) {
    harness_.connector->Queue(harness_.RequestOf(1, absl::ZeroDuration()),
                              joined.Callback());
    harness_.connector->Pause(waiting.Callback());
    harness_.RunUntilIdle();
  }
  // One joined the first; one more than may wait for their turn was refused.
  EXPECT_EQ(joined.count(), 2);
  EXPECT_EQ(waiting.count(), 1);
  EXPECT_THAT(joined.status(), HasReason(Reason::BUDGET_EXCEEDED));
  EXPECT_THAT(waiting.status(), HasReason(Reason::BUDGET_EXCEEDED));
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  EXPECT_OK(first.status());
}

TEST_F(QueueTest, LastNumberNamesNoStep) {
  harness_.source.AppendNumbered("k", 5);
  EXPECT_THAT(harness_.QueueStep(kStepsMax).status(),
              HasReason(Reason::INVALID_REQUEST));
  EXPECT_EQ(harness_.made_steps(), 0u);
  EXPECT_NE(harness_.MustQueue(kStepsMax - 1), nullptr);
}

TEST_F(QueueTest, WaitingHoldsNoLane) {
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(100));
  EXPECT_OK(harness_.Release(0).status());
  EXPECT_OK(harness_.Commit(0).status());
  EXPECT_FALSE(answer.came());
  harness_.MustPause();
}

TEST_F(QueueTest, BegunStepHoldsTheOrderedLaneOnly) {
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 5);
  const Answer<QueueReply> answer = harness_.QueueStep(1);
  const Answer<Nothing> pause = harness_.Pause();
  EXPECT_FALSE(pause.came());
  EXPECT_OK(harness_.Release(0).status());
  // Joined and refused at once all the same.
  const Answer<QueueReply> joined = harness_.QueueStep(1);
  EXPECT_THAT(harness_.QueueStep(2).status(), HasReason(Reason::QUEUE_RUNNING));
  harness_.source.AnswerHeld();
  harness_.RunUntilIdle();
  ASSERT_OK(answer.status());
  ASSERT_OK(joined.status());
  EXPECT_OK(pause.status());
  EXPECT_EQ(harness_.state(), ConnectorState::kPaused);
}

TEST_F(QueueTest, CanonicalOrderIsByPartitionThenOffset) {
  FakeSource::Options options;
  options.partitions = 3;
  options.records_per_buffer = 2;
  Harness harness(options);
  harness.request.spec.shards = 1;
  // Staged in turn: 0, 1, 2, 0, 1, 2.
  harness.source.AppendNumbered("k", 12);
  harness.MustOpen();
  harness.MustExtend();
  harness.MustQueue(0);
  EXPECT_OK(harness.Release(1).status());
  EXPECT_THAT(harness.database.Lines(harness.table(), 0),
              ElementsAre("k0:0", "k3:3", "k6:6", "k9:9", "k1:1", "k4:4",
                          "k7:7", "k10:10", "k2:2", "k5:5", "k8:8", "k11:11"));
}

TEST_F(QueueTest, ImmediateCommandIsServedBetweenTwoBuffers) {
  FakeSource::Options options;
  options.records_per_buffer = 1;
  Harness harness(options);
  // Two turns' worth of payload in each buffer.
  for (int i = 0; i < 4; ++i) {
    harness.source.Append(0, {std::string(2 << 20, 'x')});
  }
  harness.MustOpen();
  harness.MustExtend();
  Answer<QueueReply> queue;
  QueueRequest request;
  request.step = 0;
  harness.connector->Queue(request, queue.Callback());
  // So much is not handed over on the thread of the command.
  EXPECT_EQ(harness.Status().extended_total.records, 0u);
  while (harness.Status().extended_total.records == 0) {
    ASSERT_TRUE(harness.executor.RunOne());
  }
  // It yielded: the step is not finished, and yet a command is answered.
  EXPECT_FALSE(queue.came());
  Answer<Nothing> release;
  harness.connector->Release(0, release.Callback());
  EXPECT_TRUE(release.came());
  EXPECT_FALSE(queue.came());
  harness.RunUntilIdle();
  ASSERT_OK(queue.status());
  EXPECT_EQ(queue->result->amount.records, 4u);
}

TEST_F(QueueTest, TransactionsAreReportedWithTheirStep) {
  harness_.source.StartTransaction("tx-1");
  harness_.source.AppendNumbered("k", 10);
  harness_.source.CommitTransaction();
  harness_.source.AppendNumbered("k", 10, 10);
  harness_.source.AppendNumbered("k", 10, 20);
  const auto result = harness_.MustQueue(1);
  EXPECT_TRUE(result->transaction_started);
  EXPECT_TRUE(result->transaction_committed);
  EXPECT_EQ(result->transaction_label, "tx-1");
  EXPECT_EQ(result->stopped_because, StopReason::kTransaction);
  EXPECT_EQ(result->amount.records, 20u);
  EXPECT_THAT(harness_.events->transactions,
              ElementsAre("start tx-1", "commit"));
}

TEST(QueueBelowExactlyOnceTest, CarriesNoHashAndWritesWithoutRelease) {
  Harness harness;
  harness.request.spec.level = FtModel::kAtLeastOnce;
  harness.source.AppendNumbered("k", 25);
  harness.MustOpen();
  harness.MustExtend();
  const auto result = harness.MustQueue(1);
  EXPECT_FALSE(result->hash.has_value());
  EXPECT_EQ(result->resume, Resume(Resume::Seek{"{\"ranges\":[[0,25]]}"}));
  harness.Advance(absl::Seconds(1));
  EXPECT_EQ(harness.Lines().size(), 25u);
  EXPECT_EQ(harness.connector->completed()->value(), 2u);
}

TEST(QueueBelowExactlyOnceTest, BarrierIsClearedBySeekablePosition) {
  Harness harness;
  harness.request.spec.level = FtModel::kAtLeastOnce;
  harness.MustOpen();
  harness.MustExtend();
  harness.source.AppendNumbered("k", 5);
  harness.source.SetBarrier(true);
  const auto barrier = harness.MustQueue(1);
  EXPECT_TRUE(barrier->resume.IsBarrier());
  EXPECT_FALSE(barrier->position_complete);
  harness.source.SetBarrier(false);
  harness.source.AppendNumbered("k", 5, 5);
  EXPECT_EQ(harness.MustQueue(2)->stopped_because, StopReason::kBarrierCleared);
}

}  // namespace
}  // namespace penstock::core
