// Disconnect, Drain, and the end without either.
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ClosingTest : public testing::Test {
 protected:
  ClosingTest() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void MakeStep(Step step) {
    harness_.source.AppendNumbered("k", 10, 10 * step);
    harness_.MustQueue(step);
  }

  Harness harness_;
};

TEST_F(ClosingTest, IdleConnectorClosesAtOnce) {
  const Answer<DisconnectReply> answer = harness_.Disconnect();
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->connector, "connector");
  EXPECT_THAT(answer->unconfirmed_steps, IsEmpty());
  EXPECT_THAT(answer->dropped_steps, IsEmpty());
  EXPECT_EQ(harness_.state(), ConnectorState::kClosed);
  EXPECT_FALSE(harness_.source.has_reader());
  EXPECT_THAT(harness_.source.commands(), ElementsAre("Extend", "Disconnect"));
  EXPECT_EQ(harness_.executor.timer_count(), 0u);
}

TEST_F(ClosingTest, UnreleasedStepsAreDroppedAndListed) {
  MakeStep(0);
  MakeStep(1);
  const Answer<DisconnectReply> answer = harness_.Disconnect();
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->dropped_steps, ElementsAre(0, 1));
  EXPECT_THAT(answer->unconfirmed_steps, IsEmpty());
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.Status().inflight_bytes, 0u);
}

TEST_F(ClosingTest, ReleasedStepsMayCommitUntilTheDeadline) {
  MakeStep(0);
  MakeStep(1);
  harness_.Unreachable();
  EXPECT_OK(harness_.Release(1).status());
  const Answer<DisconnectReply> answer = harness_.Disconnect(absl::Seconds(60));
  harness_.Advance(absl::Seconds(5));
  EXPECT_FALSE(answer.came());
  harness_.Reachable();
  harness_.Advance(absl::Seconds(30));
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->unconfirmed_steps, IsEmpty());
  EXPECT_THAT(answer->dropped_steps, ElementsAre(1));
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
  EXPECT_EQ(harness_.connector->completed()->value(), 1u);
}

// The call returns only after everything else has ended.
TEST_F(ClosingTest, AWriteThatHangsDoesNotHoldUpTheEnd) {
  MakeStep(0);
  bool looked = false;
  const auto meanwhile = [&] {
    const Answer<DisconnectReply> answer =
        harness_.Disconnect(absl::Seconds(5));
    harness_.Advance(absl::Seconds(5));
    ASSERT_OK(answer.status());
    EXPECT_THAT(answer->unconfirmed_steps, ElementsAre(0));
    EXPECT_EQ(harness_.state(), ConnectorState::kClosed);
    ASSERT_THAT(harness_.Status().errors, SizeIs(1));
    EXPECT_EQ(harness_.Status().errors[0].tag, "close");
    looked = true;
  };
  bool hangs = true;
  harness_.database.SetHook([&](const FakeDatabase::Call& call)
                                -> std::optional<FakeDatabase::Fault> {
    if (call.operation == FakeDatabase::Operation::kPush &&
        std::exchange(hangs, false)) {
      meanwhile();
    }
    return std::nullopt;
  });
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_TRUE(looked);
  EXPECT_THAT(harness_.Lines(), SizeIs(5)) << "of the other shard";
}

TEST_F(ClosingTest, WhatIsNotConfirmedByTheDeadlineIsListed) {
  MakeStep(0);
  MakeStep(1);
  harness_.Unreachable();
  EXPECT_OK(harness_.Release(1).status());
  const Answer<DisconnectReply> answer = harness_.Disconnect(absl::Seconds(5));
  harness_.Advance(absl::Seconds(5));
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->unconfirmed_steps, ElementsAre(0));
  EXPECT_THAT(answer->dropped_steps, ElementsAre(1));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
}

TEST_F(ClosingTest, AnswersTheSameAgain) {
  MakeStep(0);
  EXPECT_OK(harness_.Disconnect().status());
  const Answer<DisconnectReply> again = harness_.Disconnect();
  ASSERT_OK(again.status());
  EXPECT_THAT(again->dropped_steps, ElementsAre(0));
}

TEST_F(ClosingTest, SecondDisconnectJoinsTheFirst) {
  MakeStep(0);
  harness_.Unreachable();
  EXPECT_OK(harness_.Release(1).status());
  const Answer<DisconnectReply> first = harness_.Disconnect(absl::Seconds(5));
  const Answer<DisconnectReply> second =
      harness_.Disconnect(absl::Seconds(500));
  harness_.Advance(absl::Seconds(5));
  EXPECT_OK(first.status());
  EXPECT_OK(second.status());
}

TEST_F(ClosingTest, WaitingQueueMakesNoStep) {
  QueueRequest queue;
  queue.step = 0;
  queue.wait = absl::Seconds(100);
  const Answer<QueueReply> answer = harness_.Queue(queue);
  EXPECT_OK(harness_.Disconnect().status());
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kInterrupted);
}

TEST_F(ClosingTest, StepThatIsBeingReadIsAbandoned) {
  harness_.source.HoldAnswers(true);
  harness_.source.AppendNumbered("k", 10);
  const Answer<QueueReply> queue = harness_.QueueStep(0);
  const Answer<Nothing> pause = harness_.Pause();
  EXPECT_OK(harness_.Disconnect().status());
  EXPECT_THAT(queue.status(), HasReason(Reason::CANCELLED));
  EXPECT_THAT(pause.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_EQ(harness_.made_steps(), 0u);
  EXPECT_EQ(harness_.connector->Retained(0), nullptr);
}

TEST_F(ClosingTest, StepThatIsBeingHandedOverIsAbandoned) {
  FakeSource::Options options;
  options.records_per_buffer = 1;
  Harness harness(options);
  for (int i = 0; i < 4; ++i) {
    harness.source.Append(0, {std::string(2 << 20, 'x')});
  }
  harness.MustOpen();
  harness.MustExtend();
  Answer<QueueReply> queue;
  harness.connector->Queue(QueueRequest{}, queue.Callback());
  while (harness.Status().extended_total.records == 0) {
    ASSERT_TRUE(harness.executor.RunOne());
  }
  EXPECT_FALSE(queue.came());
  const Answer<DisconnectReply> answer = harness.Disconnect();
  ASSERT_OK(answer.status());
  EXPECT_THAT(queue.status(), HasReason(Reason::CANCELLED));
  // It never was a step.
  EXPECT_THAT(answer->dropped_steps, IsEmpty());
  EXPECT_EQ(harness.connector->completed()->value(), 0u);
  const ConnectorStatus status = harness.Status();
  EXPECT_EQ(status.inflight_bytes, 0u);
  EXPECT_EQ(status.extended_total.records, 4u);
  EXPECT_EQ(status.records_out + status.records_discarded, 4u);
  EXPECT_THAT(harness.Lines(), IsEmpty());
}

TEST_F(ClosingTest, RetainedResultsStayReadable) {
  MakeStep(0);
  EXPECT_OK(harness_.Disconnect().status());
  QueueRequest again;
  again.step = 0;
  const Answer<QueueReply> answer = harness_.Queue(again);
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result, harness_.connector->Retained(0));
}

TEST_F(ClosingTest, PendingPrepareIsAnswered) {
  MakeStep(0);
  const Answer<PrepareCheckpointReply> prepare = harness_.Prepare(1);
  EXPECT_OK(harness_.Disconnect().status());
  ASSERT_OK(prepare.status());
  EXPECT_FALSE(prepare->ready);
  EXPECT_FALSE(prepare->blockers.empty());
}

TEST_F(ClosingTest, BelowExactlyOnceWritesWhatIsMade) {
  Harness harness;
  harness.request.spec.level = FtModel::kAtLeastOnce;
  harness.source.AppendNumbered("k", 10);
  harness.MustOpen();
  harness.MustExtend();
  harness.MustQueue(0);
  EXPECT_THAT(harness.Lines(), IsEmpty());
  const Answer<DisconnectReply> answer = harness.Disconnect();
  harness.Advance(absl::Seconds(5));
  ASSERT_OK(answer.status());
  EXPECT_THAT(harness.Lines(), SizeIs(10));
  EXPECT_THAT(answer->dropped_steps, IsEmpty());
}

TEST_F(ClosingTest, ParkedChunksOfReleasedStepsAreStillSent) {
  Harness harness;
  harness.request.spec.limits.shard_queue_chunks = 1;
  harness.request.spec.limits.chunk_bytes = 16;
  harness.request.spec.shards = 1;
  harness.source.AppendNumbered("k", 50);
  harness.MustOpen();
  harness.MustExtend();
  // Nothing runs in between: the shard worker has taken nothing yet.
  Answer<QueueReply> queue;
  harness.connector->Queue(QueueRequest{}, queue.Callback());
  ASSERT_OK(queue.status());
  Answer<Nothing> release;
  harness.connector->Release(1, release.Callback());
  Answer<DisconnectReply> answer;
  harness.connector->Disconnect({}, answer.Callback());
  EXPECT_GT(harness.Status().shards[0].parked_chunks, 0u);
  harness.RunUntilIdle();
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->unconfirmed_steps, IsEmpty());
  EXPECT_THAT(harness.Lines(), SizeIs(50));
}

// Also those between which nobody looks.
TEST_F(ClosingTest, EveryChangeOfStateIsObserved) {
  Answer<Nothing> pause;
  harness_.connector->Pause(pause.Callback());
  Answer<Nothing> extend;
  harness_.connector->Extend(extend.Callback());
  Answer<DisconnectReply> disconnect;
  harness_.connector->Disconnect({}, disconnect.Callback());
  harness_.RunUntilIdle();
  ASSERT_OK(disconnect.status());
  const std::string instance = harness_.connector->instance();
  EXPECT_THAT(
      harness_.events->states,
      ElementsAre(instance + " OPENED RUNNING", instance + " RUNNING PAUSED",
                  instance + " PAUSED RUNNING", instance + " RUNNING CLOSED"));
}

TEST_F(ClosingTest, DrainStopsTheReaderAndLeavesTheRestToQueue) {
  harness_.source.AppendNumbered("k", 10);
  EXPECT_OK(harness_.Drain().status());
  EXPECT_EQ(harness_.state(), ConnectorState::kPaused);
  harness_.source.AppendNumbered("k", 10, 10);
  EXPECT_EQ(harness_.MustQueue(0)->amount.records, 10u);
  EXPECT_EQ(harness_.QueueStep(1)->no_step->reason, NoStepReason::kPaused);
  EXPECT_THAT(harness_.Extend().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasReason(Reason::SHUTTING_DOWN)));
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(harness_.Lines(), SizeIs(10));
}

TEST_F(ClosingTest, ADrainOfOneConnectorEndsWithATakeover) {
  harness_.source.AppendNumbered("k", 10);
  EXPECT_OK(harness_.Drain(DrainScope::kConnector).status());
  EXPECT_EQ(harness_.state(), ConnectorState::kPaused);
  // As of no worker that goes away: nobody is to look for another one.
  EXPECT_THAT(harness_.Extend().status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  harness_.connector->Supersede();
  harness_.MustExtend();
  EXPECT_EQ(harness_.MustQueue(0)->amount.records, 10u);
}

TEST_F(ClosingTest, ADrainOfTheWorkerOutlastsTakeovers) {
  EXPECT_OK(harness_.Drain(DrainScope::kWorker).status());
  EXPECT_OK(harness_.Drain(DrainScope::kConnector).status());
  harness_.connector->Supersede();
  harness_.RunUntilIdle();
  EXPECT_THAT(harness_.Extend().status(), HasReason(Reason::SHUTTING_DOWN));
}

// Whoever drains all there is may meet a connector before its first command.
TEST_F(ClosingTest, DrainBeforeTheOpenRefusesIt) {
  Harness harness;
  harness.Make();
  EXPECT_OK(harness.Drain().status());
  Answer<OpenReply> open;
  harness.connector->Open(open.Callback());
  harness.RunUntilIdle();
  EXPECT_THAT(open.status(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_OK(harness.Disconnect().status());
}

TEST_F(ClosingTest, DisconnectWhileOpeningClosesWhatWasOpened) {
  Harness harness;
  const Answer<OpenReply> open = harness.StartOpen();
  const Answer<DisconnectReply> answer = harness.Disconnect();
  EXPECT_THAT(open.status(), HasReason(Reason::CANCELLED));
  EXPECT_OK(answer.status());
  EXPECT_EQ(harness.state(), ConnectorState::kClosed);
  EXPECT_FALSE(harness.source.has_reader());
}

TEST_F(ClosingTest, AnOpenThatIsGivenUpEndsAtItsNextStep) {
  Harness* self = nullptr;
  FakeTarget::Options target;
  // Asked for between sink and source.
  target.make_encoder = [&]() -> std::unique_ptr<RowEncoder> {
    self->connector->GiveUpOpen();
    return nullptr;
  };
  Harness harness(FakeSource::Options(), target);
  self = &harness;
  const Answer<OpenReply> open = harness.StartOpen();
  harness.RunUntilIdle();
  EXPECT_THAT(open.status(), HasReason(Reason::CANCELLED));
  EXPECT_EQ(open.count(), 1);
  EXPECT_EQ(harness.state(), ConnectorState::kClosed);
  EXPECT_FALSE(harness.source.has_reader());
}

TEST_F(ClosingTest, AnOpenThatWasAnsweredIsNotGivenUp) {
  harness_.connector->GiveUpOpen();
  harness_.RunUntilIdle();
  MakeStep(0);
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
}

TEST_F(ClosingTest, DestructionDropsWhatIsUncommitted) {
  MakeStep(0);
  harness_.connector.reset();
  EXPECT_FALSE(harness_.source.has_reader());
  harness_.RunUntilIdle();
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.executor.timer_count(), 0u);
}

TEST_F(ClosingTest, DestructionAnswersWhoeverWaits) {
  QueueRequest queue;
  queue.step = 0;
  queue.wait = absl::Seconds(100);
  const Answer<QueueReply> waiting = harness_.Queue(queue);
  harness_.connector.reset();
  ASSERT_TRUE(waiting.came());
  EXPECT_EQ(waiting.count(), 1);
}

TEST_F(ClosingTest, DestructionAmidACrashLeavesNothingBehind) {
  MakeStep(0);
  MakeStep(1);
  harness_.Unreachable();
  Answer<Nothing> release;
  harness_.connector->Release(1, release.Callback());
  // The process dies: no task of it ever runs again.
  harness_.executor.DropAll();
  harness_.connector.reset();
  EXPECT_FALSE(harness_.source.has_reader());
  harness_.Reachable();
  harness_.RunUntilIdle();
  EXPECT_THAT(harness_.Lines(), IsEmpty());
}

TEST_F(ClosingTest, CallbackMayLetGoOfTheConnector) {
  std::shared_ptr<Connector> connector = std::move(harness_.connector);
  bool gone = false;
  connector->Disconnect({}, [&](const absl::StatusOr<DisconnectReply>&) {
    connector.reset();
    gone = true;
  });
  harness_.RunUntilIdle();
  EXPECT_TRUE(gone);
}

TEST_F(ClosingTest, CallbackInsideTheCallMayLetGoOfTheConnector) {
  std::shared_ptr<Connector> connector = std::move(harness_.connector);
  connector->Release(0, [&](const absl::Status&) { connector.reset(); });
  EXPECT_EQ(connector, nullptr);
  harness_.RunUntilIdle();
}

}  // namespace
}  // namespace penstock::core
