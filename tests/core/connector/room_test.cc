// Room for a step: the budget, the steps outstanding, the results retained.
#include "core/connector/step_ledger.h"
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

constexpr size_t kRecord = 100 << 10;

// Buffers of one record of 100 KiB; a budget of ten of them (high mark eight,
// low mark five); chunks of the same size.
class RoomTest : public testing::Test {
 protected:
  RoomTest() : harness_(Options()) {
    ConnectorLimits& limits = harness_.request.spec.limits;
    limits.inflight_bytes_max = 10 * (kRecord + 1);
    limits.chunk_bytes = kRecord;
    harness_.request.spec.shards = 1;
  }

  static FakeSource::Options Options() {
    FakeSource::Options options;
    options.records_per_buffer = 1;
    return options;
  }

  void Append(size_t records) {
    for (size_t i = 0; i < records; ++i) {
      harness_.source.Append(0, {std::string(kRecord, 'x')});
    }
  }
  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }

  Harness harness_;
};

TEST_F(RoomTest, StepIsAtMostAQuarterOfTheBudget) {
  Append(20);
  Start();
  const auto result = harness_.MustQueue(0);
  EXPECT_EQ(result->amount.records, 2u);
  EXPECT_EQ(result->stopped_because, StopReason::kByteLimit);
}

TEST_F(RoomTest, NoStepBeginsAboveTheHighMark) {
  Append(20);
  Start();
  for (Step step = 0; step < 4; ++step) harness_.MustQueue(step);
  const Answer<QueueReply> answer = harness_.QueueStep(4);
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasReason(Reason::BUDGET_EXCEEDED)));
  EXPECT_TRUE(GetRetryDelay(answer.status()).has_value());
  EXPECT_EQ(harness_.made_steps(), 4u);
}

TEST_F(RoomTest, RoomIsWaitedForAsForData) {
  Append(20);
  Start();
  for (Step step = 0; step < 4; ++step) harness_.MustQueue(step);
  const Answer<QueueReply> answer = harness_.QueueStep(4, absl::Seconds(100));
  EXPECT_FALSE(answer.came());
  // Six records in flight: below the high mark, above the low one.
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_FALSE(answer.came());
  EXPECT_OK(harness_.Release(2).status());
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 2u);
}

// A sink that stands still must not hold up Pause, nor Pause the Queue that the
// controller has outstanding.
TEST_F(RoomTest, PauseEndsTheWaitForRoom) {
  Append(20);
  Start();
  for (Step step = 0; step < 4; ++step) harness_.MustQueue(step);
  const Answer<QueueReply> answer = harness_.QueueStep(4, absl::Seconds(100));
  ASSERT_FALSE(answer.came());
  EXPECT_OK(harness_.Pause().status());
  ASSERT_TRUE(answer.came());
  ASSERT_TRUE(answer->no_step.has_value());
  EXPECT_EQ(answer->no_step->reason, NoStepReason::kPaused);
  // What is staged is drained once there is room, which is waited for.
  const Answer<QueueReply> drained = harness_.QueueStep(4, absl::Seconds(100));
  EXPECT_FALSE(drained.came());
  EXPECT_OK(harness_.Release(4).status());
  harness_.RunUntilIdle();
  EXPECT_TRUE(drained.came());
}

TEST_F(RoomTest, WaitForRoomEndsWithTheWait) {
  Append(20);
  Start();
  for (Step step = 0; step < 4; ++step) harness_.MustQueue(step);
  const Answer<QueueReply> answer = harness_.QueueStep(4, absl::Seconds(100));
  harness_.Advance(absl::Seconds(100));
  EXPECT_THAT(answer.status(), HasReason(Reason::BUDGET_EXCEEDED));
  // Asking again works as soon as there is room.
  EXPECT_OK(harness_.Release(4).status());
  EXPECT_NE(harness_.MustQueue(4), nullptr);
}

TEST_F(RoomTest, BegunStepEndsBeforeTheBufferThatDoesNotFit) {
  Start();
  // Seven and a half records in flight, so that one more fits.
  Append(6);
  for (Step step = 0; step < 3; ++step) harness_.MustQueue(step);
  harness_.source.Append(0, {std::string(kRecord + kRecord / 2, 'x')});
  harness_.MustQueue(3);
  harness_.source.Append(0, {std::string(kRecord, 'x')});
  harness_.source.Append(0, {std::string(kRecord + kRecord / 2 + 100, 'x')});
  const auto result = harness_.MustQueue(4);
  EXPECT_EQ(result->amount.records, 1u);
  EXPECT_EQ(result->stopped_because, StopReason::kByteLimit);
}

TEST_F(RoomTest, FirstBufferThatDoesNotFitMakesNoStep) {
  Start();
  Append(6);
  for (Step step = 0; step < 3; ++step) harness_.MustQueue(step);
  // Below the high mark, but five records do not fit beside six.
  harness_.source.Append(0, {std::string(5 * kRecord, 'x')});
  const Answer<QueueReply> answer = harness_.QueueStep(3, absl::Seconds(10));
  EXPECT_FALSE(answer.came());
  EXPECT_EQ(harness_.source.staged().records, 1u);
  // It does not ask the reader over and over.
  const size_t asked = harness_.source.commands().size();
  harness_.Advance(absl::Seconds(5));
  EXPECT_EQ(harness_.source.commands().size(), asked);
  EXPECT_OK(harness_.Release(3).status());
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 1u);
}

TEST_F(RoomTest, FirstBufferThatDoesNotFitInTimeIsBudgetExceeded) {
  Start();
  Append(6);
  for (Step step = 0; step < 3; ++step) harness_.MustQueue(step);
  harness_.source.Append(0, {std::string(5 * kRecord, 'x')});
  EXPECT_THAT(harness_.QueueStep(3).status(),
              HasReason(Reason::BUDGET_EXCEEDED));
  EXPECT_EQ(harness_.source.staged().records, 1u);
}

TEST_F(RoomTest, RecordBeyondTheBudgetIsHandledAlone) {
  harness_.source.Append(0, {std::string(30 * kRecord, 'x')});
  Append(1);
  Start();
  EXPECT_EQ(harness_.MustQueue(0)->amount.records, 1u);
  EXPECT_THAT(harness_.QueueStep(1).status(),
              HasReason(Reason::BUDGET_EXCEEDED));
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.MustQueue(1)->amount.records, 1u);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_EQ(harness_.Lines().size(), 2u);
  EXPECT_EQ(harness_.Status().inflight_bytes, 0u);
}

TEST_F(RoomTest, StepsOutstandingAreLimited) {
  harness_.request.spec.limits.steps_outstanding_max = 3;
  Start();
  for (Step step = 0; step < 3; ++step) {
    harness_.source.Append(0, {"x"});
    harness_.MustQueue(step);
  }
  harness_.source.Append(0, {"x"});
  const Answer<QueueReply> answer = harness_.QueueStep(3);
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasReason(Reason::STEPS_OUTSTANDING)));
  EXPECT_TRUE(GetRetryDelay(answer.status()).has_value());
  // And waited for as for room.
  const Answer<QueueReply> waiting = harness_.QueueStep(3, absl::Seconds(10));
  EXPECT_OK(harness_.Release(1).status());
  harness_.Advance(absl::Seconds(1));
  EXPECT_OK(waiting.status());
}

TEST_F(RoomTest, RetainedResultsAreNeverEvicted) {
  harness_.request.spec.limits.retained_bytes_max = StepLedger::kResultBytes;
  Start();
  harness_.source.Append(0, {"x"});
  const auto result = harness_.MustQueue(0);
  harness_.source.Append(0, {"x"});
  const Answer<QueueReply> answer = harness_.QueueStep(1, absl::Seconds(10));
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasReason(Reason::RETAINED_FULL)));
  EXPECT_EQ(harness_.connector->Retained(0), result);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.connector->Retained(0), nullptr);
  EXPECT_NE(harness_.MustQueue(1), nullptr);
}

TEST_F(RoomTest, ReaderStopsWhenItsQueueIsFull) {
  harness_.request.spec.limits.queued_bytes_max = 5 * kRecord;
  Append(20);
  Start();
  const BufferSize staged = harness_.source.staged();
  EXPECT_GE(staged.records, 4u);
  EXPECT_LE(staged.records, 6u);
  // And goes on when a step made room.
  EXPECT_EQ(harness_.MustQueue(0)->amount.records, 2u);
  EXPECT_GE(harness_.source.records_read(), staged.records + 1);
}

TEST_F(RoomTest, ParkedChunksDoNotHoldBackTheStep) {
  // No task runs: the shard worker takes nothing out of its queue.
  harness_.request.spec.limits.shard_queue_chunks = 1;
  harness_.request.spec.limits.chunk_bytes = 1 << 10;
  for (int i = 0; i < 2; ++i) {
    harness_.source.Append(0, {std::string(10 << 10, 'x')});
  }
  Start();
  Answer<QueueReply> answer;
  harness_.connector->Queue(harness_.RequestOf(0, absl::ZeroDuration()),
                            answer.Callback());
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->result->amount.records, 2u);
  EXPECT_GT(harness_.Status().shards[0].parked_chunks, 0u);
  harness_.RunUntilIdle();
  EXPECT_EQ(harness_.Status().shards[0].parked_chunks, 0u);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.Lines().size(), 2u);
}

// Batches wait in the step with all that they hold, however little of it will
// be written: a block of which one record is left, the cells of a schema.
TEST(RoomOfBatchesTest, WhatBatchesHoldUntilTheyAreEncodedIsReserved) {
  FakeSource::Options options;
  options.records_per_buffer = 1;
  options.block_bytes_min = 4 * kRecord;
  Harness harness(options);
  harness.request.spec.limits.inflight_bytes_max = 10 * kRecord;
  harness.request.spec.limits.chunk_bytes = kRecord;
  harness.request.spec.shards = 1;
  harness.source.Append(0, {"a", "b", "c", "d"});
  harness.MustOpen();
  harness.MustExtend();
  const auto result = harness.MustQueue(0);
  EXPECT_EQ(result->amount.records, 2u);
  EXPECT_EQ(result->stopped_because, StopReason::kBlocked);
  // What they were encoded to is little.
  EXPECT_EQ(harness.MustQueue(1)->amount.records, 2u);
}

}  // namespace
}  // namespace penstock::core
