// What a handoff does with records, chunks, acks and its budget.
#include "core/handoff/sink_handoff.h"

#include "core/base/log.h"
#include "core/contract/ft_model.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/support/recording_log_sink.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ChunkConfig ExactlyOnce(size_t target_bytes = 1'000) {
  ChunkConfig config;
  config.target_bytes = target_bytes;
  config.level = FtModel::kExactlyOnce;
  return config;
}

ChunkConfig AtLeastOnce(size_t target_bytes = 1'000) {
  ChunkConfig config = ExactlyOnce(target_bytes);
  config.level = FtModel::kAtLeastOnce;
  return config;
}

TEST(SinkHandoffTest, RowsArriveInOrderAndTheStepIsDelivered) {
  HandoffHarness h({.config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {"a", "b", "c"}), Flow::kContinue);
  EXPECT_THAT(h.acks->made, ElementsAre(7));
  EXPECT_THAT(h.acks->acks, IsEmpty());
  EXPECT_EQ(h.Drain(), "a b c|#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
  EXPECT_EQ(h.handoff->counters().records_in, 3u);
  EXPECT_EQ(h.handoff->counters().records_out, 3u);
  EXPECT_EQ(h.handoff->counters().bytes_out, 15u);
}

TEST(SinkHandoffTest, EveryShardGetsAStepEndAlsoWithoutRows) {
  HandoffHarness h({.shards = 3, .config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {"1a"}), Flow::kContinue);
  EXPECT_EQ(h.Drain(0), "#7");
  EXPECT_EQ(h.Drain(1), "1a|#7");
  EXPECT_THAT(h.acks->acks, IsEmpty()) << "one shard has not confirmed";
  EXPECT_EQ(h.Drain(2), "#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
}

TEST(SinkHandoffTest, AnEmptyStepCompletesLikeAnyOther) {
  HandoffHarness h({.shards = 2, .config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {}), Flow::kContinue);
  EXPECT_EQ(h.Drain(0), "#7");
  EXPECT_EQ(h.Drain(1), "#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
}

TEST(SinkHandoffTest, AChunkIsSealedWhenItReachesTheTarget) {
  HandoffHarness h({.config = ExactlyOnce(10)});
  h.RunStep(7, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(h.Drain(), "a b|c d|e|#7");
  EXPECT_EQ(h.handoff->counters().chunks_sealed, 3u);
}

TEST(SinkHandoffTest, ChunksAreNumberedWithinStepAndShard) {
  HandoffHarness h({.shards = 2, .config = ExactlyOnce(1)});
  h.RunStep(7, {"0a", "1b", "0c"});
  h.RunStep(8, {"0d"});
  EXPECT_EQ(h.TakeChunk(0).index, 0u);
  EXPECT_EQ(h.TakeChunk(1).index, 0u);
  EXPECT_EQ(h.TakeChunk(0).index, 1u);
  EXPECT_EQ(h.TakeEnd(0).step, 7u);
  const EncodedChunk next = h.TakeChunk(0);
  EXPECT_EQ(next.index, 0u);
  EXPECT_EQ(next.step, 8u);
}

TEST(SinkHandoffTest, EqualRecordsGiveEqualChunksHoweverTheyWereBatched) {
  HandoffHarness one({.config = ExactlyOnce(20)});
  HandoffHarness many({.config = ExactlyOnce(20)});
  one.RunStep(7, {"aa", "bbb", "c", "dddd", "ee", "f"});
  many.BeginStep(7);
  for (const char* const value : {"aa", "bbb", "c", "dddd", "ee", "f"}) {
    many.Push({value});
    many.clock.Advance(absl::Seconds(10));
    many->FlushAged(many.clock.SteadyNow());
    many->FlushTerminal();
  }
  many->EndStep();
  EXPECT_EQ(one.Drain(), many.Drain());
}

TEST(SinkHandoffTest, OneStepHoldsOneHandlePerChunk) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.RunStep(7, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(h.TakeChunk().acks.size(), 1u);
}

TEST(SinkHandoffTest, RecordsGoToTheRoutedShardInOrder) {
  HandoffHarness h({.shards = 2, .config = ExactlyOnce()});
  h.RunStep(7, {"0a", "1b", "0c", "1d", "0e"});
  EXPECT_EQ(h.Drain(0), "0a 0c 0e|#7");
  EXPECT_EQ(h.Drain(1), "1b 1d|#7");
}

TEST(SinkHandoffTest, MakeHandoffRoutesByKeyOrByPartition) {
  FakeClock clock;
  const auto acks = std::make_shared<RecordingAckListener>();
  const auto budget =
      std::make_shared<InflightBudget>(InflightBudget::Options());
  for (const RouteKind route : {RouteKind::kKeyHash, RouteKind::kPartition}) {
    ShardQueues queues(16, 4);
    const std::unique_ptr<Handoff> handoff =
        MakeHandoff(std::make_unique<PrefixEncoder>(), route, queues, budget,
                    ExactlyOnce(), clock);
    handoff->BeginStep(StepHandle(7, acks), BudgetLease());
    const RecordBatch batch = MakeBatch({{.value = "v", .key = "k"}}, 3);
    handoff->PushBatch(batch);
    handoff->EndStep();
    const ShardIndex shard = route == RouteKind::kKeyHash
                                 ? KeyHashRouter().Route(batch.At(0), 16)
                                 : PartitionRouter().Route(batch.At(0), 16);
    EXPECT_EQ(queues.at(shard).size(), 2u) << "a chunk and the StepEnd";
  }
}

TEST(SinkHandoffTest, BehindAFullQueueEachRecordIsEncodedOnce) {
  HandoffHarness h({.queue_items = 1, .config = ExactlyOnce(1)});
  std::vector<std::string> rows;
  EXPECT_EQ(h.RunStep(7, {"a", "b", "c", "d"}), Flow::kBlocked);
  int blocked = 0;
  for (; h->Relieve() == Flow::kBlocked; ++blocked) rows.push_back(h.Drain());
  while (h.queues.at(0).size() > 0) rows.push_back(h.Drain());
  EXPECT_THAT(rows, ElementsAre("a", "b", "c", "d", "#7"));
  EXPECT_EQ(blocked, 4);
  EXPECT_EQ(h.handoff->counters().records_out, 4u);
}

// More than the queue holds is there before anybody receives. Who drives the
// handoff does nothing but what it is called for.
TEST(SinkHandoffTest, ABacklogLeavesThoughTheSinkIsReadyLate) {
  HandoffHarness h({.queue_items = 2, .config = ExactlyOnce(1)});
  bool called = false;
  h.queues.at(0).SetOnRoom([&] { called = true; });
  for (Step step = 0; step < 20; ++step) h.RunStep(step, {"a", "b", "c"});
  int items = 0;
  while (std::optional<ShardItem> item = h.queues.at(0).TryReceive()) {
    ++items;
    std::visit([](auto& any) { std::move(any.acks).Deliver(); }, *item);
    if (std::exchange(called, false)) (void)h->Relieve();
  }
  EXPECT_EQ(items, 80);
  EXPECT_THAT(h.acks->acks, SizeIs(20));
}

TEST(SinkHandoffTest, HandoffsOverTheSameQueuesAreIndependent) {
  HandoffHarness h({.config = ExactlyOnce()});
  const auto acks = std::make_shared<RecordingAckListener>();
  const std::unique_ptr<Handoff> other =
      MakeHandoff(std::make_unique<PrefixEncoder>(), RouteKind::kKeyHash,
                  h.queues, h.budget, ExactlyOnce(), h.clock);
  h.BeginStep(7);
  other->BeginStep(StepHandle(7, acks), BudgetLease());
  h.Push({"a"});
  other->PushBatch(MakeBatch({"x", "y"}));
  h.Push({"BROKEN"});
  EXPECT_EQ(h->EndStep(), Flow::kFatal);
  EXPECT_EQ(other->EndStep(), Flow::kContinue);
  EXPECT_EQ(h.Drain(), "x y|#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(acks->Of(7), AckStatus::kDelivered);
  EXPECT_EQ(other->counters().records_in, 2u);
}

// --- Bad records.

TEST(SinkHandoffTest, ASkippedRecordLeavesNoHalfRowBehind) {
  HandoffHarness h({.config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {"a", "BAD", "b"}), Flow::kContinue);
  EXPECT_EQ(h.Drain(), "a b|#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
  EXPECT_EQ(h.handoff->counters().records_skipped, 1u);
}

TEST(SinkHandoffTest, AStepOfSkippedRecordsOnlyIsAStepWithoutRows) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.RunStep(7, {"BAD", "BAD"});
  EXPECT_EQ(h.Drain(), "#7");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
}

TEST(SinkHandoffTest, AnExceptionOfALibraryCostsOneRecord) {
  HandoffHarness h({.config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {"a", "THROW", "b"}), Flow::kContinue);
  EXPECT_EQ(h.Drain(), "a b|#7");
  EXPECT_EQ(h.handoff->counters().records_skipped, 1u);
}

TEST(SinkHandoffTest, SkipsAreLoggedNowAndThenOnly) {
  const auto log = std::make_shared<RecordingLogSink>();
  const ScopedLogSink scope(log);
  HandoffHarness h({.config = ExactlyOnce()});
  h.RunStep(7, std::vector<std::string>(1'000, "BAD"));
  EXPECT_THAT(log->records(), SizeIs(5));
  h.clock.Advance(absl::Seconds(20));
  h.RunStep(8, {"BAD"});
  EXPECT_THAT(log->records(), SizeIs(6));
  EXPECT_EQ(h.handoff->counters().records_skipped, 1'001u);
}

TEST(SinkHandoffTest, UnderTheFailPolicyABadRecordFailsTheStep) {
  ChunkConfig config = ExactlyOnce();
  config.encode_policy = EncodePolicy::kFail;
  HandoffHarness h({.config = config});
  EXPECT_EQ(h.RunStep(7, {"a", "BAD", "b", "c"}), Flow::kFatal);
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(h.Drain(), "") << "nothing of the step ships";
  EXPECT_THAT(h.handoff->fatal(), StatusIs(absl::StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr("offset 1")));
  EXPECT_EQ(h.handoff->counters().records_in, 4u);
  EXPECT_EQ(h.handoff->counters().records_out, 1u);
  EXPECT_EQ(h.handoff->counters().records_discarded, 3u);
}

TEST(SinkHandoffTest, ABrokenEncoderOverridesTheSkipPolicy) {
  HandoffHarness h({.config = ExactlyOnce()});
  EXPECT_EQ(h.RunStep(7, {"a", "BAD", "BROKEN", "b"}), Flow::kFatal);
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_THAT(h.handoff->fatal(), HasReason(Reason::INTERNAL));
  EXPECT_EQ(h.handoff->counters().records_skipped, 1u);
  EXPECT_EQ(h.handoff->counters().records_discarded, 2u);
}

// --- Times and positions.

TEST(SinkHandoffTest, AChunkKnowsWhenItsFirstRecordWasAccepted) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.BeginStep(7);
  h.Push({"BAD"});
  h.clock.Advance(absl::Seconds(1));
  const absl::Time first = h.clock.SteadyNow();
  h.Push({"a"});
  h.clock.Advance(absl::Seconds(1));
  h.Push({"b"});
  h->EndStep();
  EXPECT_EQ(h.TakeChunk().oldest_ingest, first);
}

TEST(SinkHandoffTest, AChunkKnowsItsLeastEventTime) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.BeginStep(7);
  h->PushBatch(MakeBatch({{.value = "a", .event_time_ms = 30},
                          {.value = "b"},
                          {.value = "c", .event_time_ms = 20},
                          {.value = "BAD", .event_time_ms = 10}}));
  h->EndStep();
  EXPECT_EQ(h.TakeChunk().oldest_event_ms, 20);
}

TEST(SinkHandoffTest, EventTimesOfOneChunkDoNotReachTheNext) {
  HandoffHarness h({.config = ExactlyOnce(1)});
  h.BeginStep(7);
  h->PushBatch(
      MakeBatch({{.value = "a", .event_time_ms = 30}, {.value = "b"}}));
  h->EndStep();
  EXPECT_EQ(h.TakeChunk().oldest_event_ms, 30);
  EXPECT_EQ(h.TakeChunk().oldest_event_ms, INT64_MAX);
}

TEST(SinkHandoffTest, ARowTableSaysWhereEachRowCameFrom) {
  ChunkConfig config = ExactlyOnce();
  config.row_positions = true;
  HandoffHarness h({.config = config, .reserve = 500});
  h.BeginStep(7);
  h->PushBatch(MakeBatch({{.value = "a"}, {.value = "BAD"}, {.value = "bc"}},
                         /*partition=*/3, /*first_offset=*/40));
  h->EndStep();
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_THAT(chunk.row_positions,
              ElementsAre(RowPosition{0, 3, 40}, RowPosition{5, 3, 42}));
  EXPECT_EQ(chunk.lease.bytes(), chunk.frame.size() + 32);
}

TEST(SinkHandoffTest, WithoutBeingAskedThereIsNoRowTable) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.RunStep(7, {"a"});
  EXPECT_THAT(h.TakeChunk().row_positions, IsEmpty());
}

// --- Budget.

TEST(SinkHandoffTest, AChunkTakesItsLeaseOutOfTheReservation) {
  HandoffHarness h({.config = ExactlyOnce(), .reserve = 500});
  h.BeginStep(7);
  h.Push({"a", "b"});
  EXPECT_EQ(h.budget->usage(), 500u);
  h->EndStep();
  EXPECT_EQ(h.budget->usage(), 10u) << "what is left returns";
  {
    const EncodedChunk chunk = h.TakeChunk();
    EXPECT_EQ(chunk.lease.bytes(), 10u);
  }
  EXPECT_EQ(h.budget->usage(), 0u);
  EXPECT_EQ(h.budget->overdrafts(), 0u);
}

TEST(SinkHandoffTest, AnEstimateThatWasTooLowIsOverdrawn) {
  HandoffHarness h({.config = ExactlyOnce(), .reserve = 7});
  h.RunStep(7, {"a", "b"});
  EXPECT_EQ(h.budget->usage(), 10u);
  EXPECT_EQ(h.budget->overdrafts(), 1u);
}

TEST(SinkHandoffTest, AnEndedStepReturnsItsReservationBeforeItIsMade) {
  HandoffHarness h({.config = ExactlyOnce(), .reserve = 500});
  class : public AckListener {
   public:
    void OnMade(Step) override { usage = budget->usage(); }
    void OnAck(Step, AckStatus) override {}
    InflightBudget* budget = nullptr;
    uint64_t usage = 0;
  } listener;
  listener.budget = h.budget.get();
  h->BeginStep(StepHandle(7, std::shared_ptr<AckListener>(&listener,
                                                          [](AckListener*) {})),
               *h.budget->TryReserve(500));
  h.Push({"a"});
  h->EndStep();
  EXPECT_EQ(listener.usage, 5u);
  h.Drain();
}

TEST(SinkHandoffTest, TheReservationOfAFailedStepReturns) {
  HandoffHarness h({.config = ExactlyOnce(1), .reserve = 500});
  h.BeginStep(7);
  h.Push({"a", "b", "BROKEN"});
  EXPECT_EQ(h.budget->usage(), 10u) << "two chunks are on their way";
  h->EndStep();
  h.BeginStep(8);
  EXPECT_EQ(h.budget->usage(), 10u) << "a poisoned stage holds nothing";
}

TEST(SinkHandoffTest, DroppingAHandoffFailsUnsealedAndParkedRows) {
  HandoffHarness h({.queue_items = 1, .config = ExactlyOnce(1), .reserve = 99});
  h.RunStep(7, {"a", "b"});
  h.BeginStep(8);
  h.Push({"c"});
  h.handoff.reset();
  EXPECT_EQ(h.Drain(), "a");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(h.acks->Of(8), AckStatus::kFailed);
  EXPECT_EQ(h.budget->usage(), 0u);
}

TEST(SinkHandoffTest, ASmallFrameHoldsNoMoreMemoryThanItNeeds) {
  HandoffHarness h({.shards = 2, .config = ExactlyOnce(1 << 20)});
  h.RunStep(7, {"0a"});
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.frame.view().size(), 6u);
  // Its memory is its own: the handoff goes away, and the frame stays.
  h.handoff.reset();
  EXPECT_THAT(DecodeRows(chunk.frame.view()), ElementsAre("0a"));
}

// --- Columnar encoders.

TEST(SinkHandoffTest, AColumnarEncoderMakesOneBlockPerChunk) {
  const auto blocks = std::make_shared<BlockEncoderState>();
  HandoffHarness h({.config = ExactlyOnce(), .blocks = blocks});
  h.BeginStep(7);
  h.Push({"a", "b", "c"});
  EXPECT_EQ(blocks->finished, 0);
  h->EndStep();
  EXPECT_EQ(blocks->finished, 1);
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_THAT(DecodeBlocks(chunk.frame.view()),
              ElementsAre(ElementsAre("a", "b", "c")));
  EXPECT_EQ(chunk.rows, 3u);
}

TEST(SinkHandoffTest, WhatAColumnarEncoderHoldsCountsTowardsTheTarget) {
  HandoffHarness h({.config = ExactlyOnce(10),
                    .blocks = std::make_shared<BlockEncoderState>()});
  h.RunStep(7, {"a", "b", "c"});
  EXPECT_EQ(h.TakeChunk().rows, 2u);
  EXPECT_EQ(h.TakeChunk().rows, 1u);
}

TEST(SinkHandoffTest, ColumnarBlocksDoNotMixShards) {
  HandoffHarness h({.shards = 2,
                    .config = ExactlyOnce(),
                    .blocks = std::make_shared<BlockEncoderState>()});
  h.RunStep(7, {"0a", "1b", "0c", "1d"});
  EXPECT_THAT(DecodeBlocks(h.TakeChunk(0).frame.view()),
              ElementsAre(ElementsAre("0a", "0c")));
  EXPECT_THAT(DecodeBlocks(h.TakeChunk(1).frame.view()),
              ElementsAre(ElementsAre("1b", "1d")));
}

TEST(SinkHandoffTest, ColumnarRowsThatWereNotSealedFail) {
  HandoffHarness h({.config = ExactlyOnce(),
                    .blocks = std::make_shared<BlockEncoderState>()});
  h.BeginStep(7);
  h.Push({"a"});
  h.handoff.reset();
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
}

TEST(SinkHandoffTest, AColumnarEncoderThatThrowsWhileItHoldsRowsIsBroken) {
  HandoffHarness h({.config = ExactlyOnce(),
                    .blocks = std::make_shared<BlockEncoderState>()});
  EXPECT_EQ(h.RunStep(7, {"a", "THROW"}), Flow::kFatal);
  EXPECT_THAT(h.handoff->fatal(), HasReason(Reason::INTERNAL));
}

TEST(SinkHandoffTest, ARefusedRowLeavesNothingInAColumnarEncoder) {
  HandoffHarness h({.config = ExactlyOnce(),
                    .blocks = std::make_shared<BlockEncoderState>()});
  EXPECT_EQ(h.RunStep(7, {"a", "BAD", "b"}), Flow::kContinue);
  EXPECT_THAT(DecodeBlocks(h.TakeChunk().frame.view()),
              ElementsAre(ElementsAre("a", "b")));
  EXPECT_EQ(h.handoff->counters().records_skipped, 1u);
}

// --- Below exactly-once.

TEST(SinkHandoffTest, BelowExactlyOnceAStepEndsWhenItsRecordsAreEncoded) {
  HandoffHarness h({.config = AtLeastOnce(), .reserve = 100});
  EXPECT_EQ(h.RunStep(7, {"a"}), Flow::kContinue);
  EXPECT_THAT(h.acks->made, ElementsAre(7));
  EXPECT_EQ(h.queues.at(0).size(), 0u) << "no StepEnd, no chunk yet";
  EXPECT_THAT(h.acks->acks, IsEmpty()) << "its row is not delivered";
  EXPECT_EQ(h.budget->usage(), 5u) << "unsealed bytes are in flight";
}

TEST(SinkHandoffTest, BelowExactlyOnceAChunkMaySpanSteps) {
  HandoffHarness h({.config = AtLeastOnce(), .reserve = 100});
  h.RunStep(7, {"a", "b"});
  h.RunStep(8, {"c"});
  EXPECT_EQ(h->FlushTerminal(), Flow::kContinue);
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.rows, 3u);
  EXPECT_EQ(chunk.acks.size(), 2u) << "one handle per step";
  EXPECT_EQ(chunk.step, 8u);
  EXPECT_EQ(chunk.lease.bytes(), chunk.frame.size());
  EXPECT_EQ(h.budget->usage(), 15u);
  EXPECT_EQ(h.budget->overdrafts(), 0u);
}

TEST(SinkHandoffTest, AChunkIsOfTheLastStepThatGaveItARow) {
  HandoffHarness h({.shards = 2, .config = AtLeastOnce()});
  h.RunStep(7, {"0a"});
  h.RunStep(8, {"1b"});
  h->FlushTerminal();
  EXPECT_EQ(h.TakeChunk(0).step, 7u);
  EXPECT_EQ(h.TakeChunk(1).step, 8u);
}

TEST(SinkHandoffTest, BelowExactlyOnceAnEmptyStepIsDeliveredAtOnce) {
  HandoffHarness h({.config = AtLeastOnce()});
  h.RunStep(7, {});
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
}

TEST(SinkHandoffTest, AnOldChunkLeavesWithoutBeingFull) {
  HandoffHarness h({.shards = 2, .config = AtLeastOnce()});
  h.RunStep(7, {"0a"});
  h.clock.Advance(absl::Milliseconds(150));
  const absl::Time second = h.clock.SteadyNow();
  h.RunStep(8, {"1b"});
  EXPECT_EQ(h->FlushAged(h.clock.SteadyNow()),
            h.clock.SteadyNow() + absl::Milliseconds(50));
  EXPECT_EQ(h.queues.at(0).size(), 0u);
  h.clock.Advance(absl::Milliseconds(50));
  EXPECT_EQ(h->FlushAged(h.clock.SteadyNow()),
            second + absl::Milliseconds(200));
  EXPECT_EQ(h.Drain(0), "0a");
  EXPECT_EQ(h.queues.at(1).size(), 0u);
  h.clock.Advance(absl::Milliseconds(150));
  EXPECT_EQ(h->FlushAged(h.clock.SteadyNow()), absl::InfiniteFuture());
  EXPECT_EQ(h.Drain(1), "1b");
}

TEST(SinkHandoffTest, AgeSealsNothingInExactlyOnce) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.BeginStep(7);
  h.Push({"a"});
  h.clock.Advance(absl::Hours(1));
  EXPECT_EQ(h->FlushAged(h.clock.SteadyNow()), absl::InfiniteFuture());
  EXPECT_EQ(h.queues.at(0).size(), 0u);
}

TEST(SinkHandoffDeathTest, StepsMustRise) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.RunStep(7, {});
  EXPECT_DEATH(h.BeginStep(7), "step 7");
}

TEST(SinkHandoffDeathTest, OneStepAtATime) {
  HandoffHarness h({.config = ExactlyOnce()});
  h.BeginStep(7);
  EXPECT_DEATH(h.BeginStep(8), "in_step_");
}

}  // namespace
}  // namespace penstock::core
