// One test per defect of the seed's handoff (design §9), each of which fails
// for code that does what the seed does.
#include "core/contract/ft_model.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/handoff/sink_handoff.h"
#include "tests/core/handoff/handoff_fixtures.h"
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

ChunkConfig Config(std::optional<FtModel> level, size_t target_bytes) {
  ChunkConfig config;
  config.target_bytes = target_bytes;
  config.level = level;
  return config;
}

HandoffHarness::Options Tight(std::optional<FtModel> level) {
  return {.queue_items = 1, .config = Config(level, 1)};
}

// The seed sealed "c" straight into the room that "b" was waiting for.
TEST(SeedDefectsTest, ANewerChunkNeverOvertakesAParkedOne) {
  HandoffHarness h(Tight(FtModel::kExactlyOnce));
  h.BeginStep(7);
  h.Push({"a", "b"});
  EXPECT_EQ(h.Drain(), "a");
  h.Push({"c"});
  std::string all;
  h->EndStep();
  while (h->Relieve() == Flow::kBlocked || h.queues.at(0).size() > 0) {
    all += h.Drain() + " ";
  }
  EXPECT_EQ(all, "b c #7 ");
}

// The seed's flush sent the partial buffer before the parked chunk.
TEST(SeedDefectsTest, AFlushSendsParkedChunksBeforePartialOnes) {
  HandoffHarness h(
      {.queue_items = 1, .config = Config(FtModel::kAtLeastOnce, 12)});
  h.RunStep(7, {"aaaaaaaa", "bbbbbbbb", "c"});
  EXPECT_EQ(h->parked(0), 1u) << "b is parked, c is partial";
  EXPECT_EQ(h.Drain(), "aaaaaaaa");
  EXPECT_EQ(h->FlushTerminal(), Flow::kBlocked);
  EXPECT_EQ(h.Drain(), "bbbbbbbb");
  EXPECT_EQ(h->FlushTerminal(), Flow::kContinue);
  EXPECT_EQ(h.Drain(), "c");
}

TEST(SeedDefectsTest, AStepEndOvertakesNothing) {
  HandoffHarness h(Tight(FtModel::kExactlyOnce));
  EXPECT_EQ(h.RunStep(7, {"a", "b"}), Flow::kBlocked);
  EXPECT_EQ(h.RunStep(8, {"c"}), Flow::kBlocked);
  std::string all;
  do {
    all += h.Drain() + " ";
  } while (h->Relieve() == Flow::kBlocked || h.queues.at(0).size() > 0);
  EXPECT_EQ(all, "a b #7 c #8 ");
}

TEST(SeedDefectsTest, AFullShardDoesNotHoldBackAnother) {
  HandoffHarness h({.shards = 2,
                    .queue_items = 1,
                    .config = Config(FtModel::kExactlyOnce, 1)});
  h.BeginStep(7);
  h.Push({"0a", "0b", "1a", "1b"});
  EXPECT_EQ(h.Drain(1), "1a");
  EXPECT_EQ(h->Relieve(), Flow::kBlocked) << "shard 0 is full";
  EXPECT_EQ(h.Drain(1), "1b") << "shard 1 went on";
}

// The seed left what finish_chunk had written; a later flush shipped it.
TEST(SeedDefectsTest, AFailedFinishShipsNothingEver) {
  const auto blocks = std::make_shared<BlockEncoderState>();
  blocks->fail_finish = 1;
  HandoffHarness h({.config = Config(FtModel::kAtLeastOnce, 1'000),
                    .reserve = 100,
                    .blocks = blocks});
  h.RunStep(7, {"a", "b"});
  EXPECT_EQ(h->FlushTerminal(), Flow::kFatal);
  EXPECT_EQ(h->FlushTerminal(), Flow::kFatal);
  h.BeginStep(8);
  h.Push({"c"});
  EXPECT_EQ(h->EndStep(), Flow::kFatal);
  EXPECT_EQ(h->FlushTerminal(), Flow::kFatal);
  EXPECT_EQ(h.queues.at(0).size(), 0u);
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(h.acks->Of(8), AckStatus::kFailed);
  EXPECT_EQ(h.budget->usage(), 0u);
}

TEST(SeedDefectsTest, AFinishThatThrowsIsAFailedFinish) {
  const auto blocks = std::make_shared<BlockEncoderState>();
  blocks->throw_finish = 1;
  HandoffHarness h(
      {.config = Config(FtModel::kExactlyOnce, 1'000), .blocks = blocks});
  EXPECT_EQ(h.RunStep(7, {"a"}), Flow::kFatal);
  EXPECT_EQ(h.queues.at(0).size(), 0u);
  EXPECT_THAT(h->fatal(), HasReason(Reason::INTERNAL));
}

// A StepEnd in shard 0 would let the worker write half of the step.
TEST(SeedDefectsTest, NoShardGetsAStepEndIfAnyCannotBeSealed) {
  const auto blocks = std::make_shared<BlockEncoderState>();
  blocks->fail_finish = 2;
  HandoffHarness h({.shards = 2,
                    .config = Config(FtModel::kExactlyOnce, 1'000),
                    .blocks = blocks});
  EXPECT_EQ(h.RunStep(7, {"0a", "1b"}), Flow::kFatal);
  EXPECT_EQ(h.queues.at(0).size(), 1u) << "its chunk";
  EXPECT_EQ(h.TakeChunk(0).step, 7u);
  EXPECT_EQ(h.queues.at(1).size(), 0u);
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
}

// The seed's take_fatal cleared the latch and encoding went on.
TEST(SeedDefectsTest, NothingRevivesAPoisonedStage) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 1)});
  h.RunStep(7, {"BROKEN"});
  const absl::Status first = h->fatal();
  EXPECT_EQ(h.RunStep(8, {"a", "BROKEN"}), Flow::kFatal);
  EXPECT_EQ(h->Relieve(), Flow::kFatal);
  EXPECT_EQ(h->FlushTerminal(), Flow::kFatal);
  EXPECT_EQ(h->fatal(), first) << "the first cause stays";
  EXPECT_EQ(h.Drain(), "");
  EXPECT_EQ(h.acks->Of(8), AckStatus::kFailed);
}

TEST(SeedDefectsTest, TheFirstCauseOfAFatalStays) {
  HandoffHarness h(Tight(FtModel::kExactlyOnce));
  h.RunStep(7, {"a", "b"});
  h.RunStep(8, {"BROKEN"});
  h.queues.CloseAll();
  EXPECT_EQ(h->Relieve(), Flow::kFatal);
  EXPECT_EQ(h->parked(0), 0u);
  EXPECT_THAT(h->fatal(), HasReason(Reason::INTERNAL));
}

// The seed swallowed these without counting them.
TEST(SeedDefectsTest, RecordsAfterAFatalAreCounted) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 1)});
  h.RunStep(7, {"a", "BAD", "BROKEN", "b"});
  h.RunStep(8, {"c", "d"});
  const HandoffCounters& counters = h->counters();
  EXPECT_EQ(counters.records_in, 6u);
  EXPECT_EQ(counters.records_out, 1u);
  EXPECT_EQ(counters.records_skipped, 1u);
  EXPECT_EQ(counters.records_discarded, 4u);
}

TEST(SeedDefectsTest, WholeItemsOfEarlierStepsStillLeaveAPoisonedStage) {
  HandoffHarness h(Tight(FtModel::kExactlyOnce));
  EXPECT_EQ(h.RunStep(7, {"a", "b"}), Flow::kBlocked);
  h.RunStep(8, {"c", "BROKEN"});
  std::string all;
  do {
    all += h.Drain() + " ";
    EXPECT_EQ(h->Relieve(), Flow::kFatal);
  } while (h.queues.at(0).size() > 0);
  EXPECT_EQ(all, "a b #7 ") << "and nothing of step 8";
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
  EXPECT_EQ(h.acks->Of(8), AckStatus::kFailed);
}

// The seed never subtracted what died inside a queue.
TEST(SeedDefectsTest, TheBudgetIsEmptyWhenEverythingIsGone) {
  const auto budget =
      std::make_shared<InflightBudget>(InflightBudget::Options{.limit = 100});
  {
    HandoffHarness h({.queue_items = 1,
                      .config = Config(FtModel::kExactlyOnce, 1),
                      .reserve = 80});
    h.BeginStep(7);
    h.Push({"a", "b", "c"});
    EXPECT_EQ(h.budget->usage(), 80u);
    // The queue dies with a chunk in it, the handoff with others parked.
    const std::shared_ptr<InflightBudget> watched = h.budget;
    h.handoff.reset();
    EXPECT_EQ(watched->usage(), 5u);
    h.queues.at(0).ReceiveAll();
    EXPECT_EQ(watched->usage(), 0u);
  }
}

// A dead worker looked like endless back-pressure.
TEST(SeedDefectsTest, AClosedQueueIsFatalAndNotFull) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 1)});
  h.queues.CloseAll();
  EXPECT_EQ(h.RunStep(7, {"a"}), Flow::kFatal);
  EXPECT_THAT(h->fatal(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
}

TEST(SeedDefectsTest, AQueueThatClosesUnderParkedChunksIsFatal) {
  HandoffHarness h(Tight(FtModel::kExactlyOnce));
  EXPECT_EQ(h.RunStep(7, {"a", "b"}), Flow::kBlocked);
  h.queues.CloseAll();
  EXPECT_EQ(h->Relieve(), Flow::kFatal);
  EXPECT_EQ(h->parked(0), 0u);
  EXPECT_EQ(h.Drain(), "a");
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
}

TEST(SeedDefectsTest, AClosedQueueLosesNoOtherShardsEarlierSteps) {
  HandoffHarness h({.shards = 2,
                    .queue_items = 1,
                    .config = Config(FtModel::kExactlyOnce, 1)});
  EXPECT_EQ(h.RunStep(7, {"0a", "0b", "1a", "1b"}), Flow::kBlocked);
  h.queues.at(0).Close();
  EXPECT_EQ(h.Drain(1), "1a");
  EXPECT_EQ(h->Relieve(), Flow::kFatal);
  EXPECT_EQ(h.Drain(1), "1b");
  EXPECT_EQ(h->Relieve(), Flow::kFatal);
  EXPECT_EQ(h.Drain(1), "#7");
}

// Nothing in the seed sent the rows of a shard that got no more.
TEST(SeedDefectsTest, AColdShardIsFlushedByAge) {
  HandoffHarness h(
      {.shards = 2, .config = Config(FtModel::kAtLeastOnce, 1'000)});
  h.RunStep(7, {"1cold"});
  for (Step step = 8; step < 18; ++step) {
    h.clock.Advance(absl::Milliseconds(50));
    h.RunStep(step, {"0hot"});
    h->FlushAged(h.clock.SteadyNow());
    h.Drain(0);
    h.Drain(1);
  }
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
}

TEST(SeedDefectsTest, AColdShardIsFlushedByTheStepEnd) {
  HandoffHarness h(
      {.shards = 2, .config = Config(FtModel::kExactlyOnce, 1'000)});
  h.RunStep(7, {"1cold"});
  EXPECT_EQ(h.Drain(1), "1cold|#7");
}

// Consecutive-only deduplication took a handle at each change of batch.
TEST(SeedDefectsTest, AChunkTakesOneHandlePerStepHoweverRowsAlternate) {
  HandoffHarness h(
      {.shards = 2, .config = Config(FtModel::kAtLeastOnce, 1'000)});
  for (Step step = 7; step < 10; ++step) {
    h.RunStep(step, {"0a", "1b", "0c", "1d", "0e", "1f"});
  }
  h->FlushTerminal();
  EXPECT_EQ(h.TakeChunk(0).acks.size(), 3u);
  EXPECT_EQ(h.TakeChunk(1).acks.size(), 3u);
}

// In the seed's language this stopped; here it would be undefined.
TEST(SeedDefectsTest, ARouterThatNamesNoShardIsFatal) {
  HandoffHarness h({.shards = 2, .config = Config(FtModel::kExactlyOnce, 1)});
  EXPECT_EQ(h.RunStep(7, {"0a", "9z", "1b"}), Flow::kFatal);
  EXPECT_THAT(h->fatal(), HasReason(Reason::INTERNAL));
  EXPECT_EQ(h.Drain(0), "0a") << "sealed before";
  EXPECT_EQ(h.acks->Of(7), AckStatus::kFailed);
  EXPECT_EQ(h->counters().records_discarded, 2u);
}

// An exception used to leave half a row in the buffer.
TEST(SeedDefectsTest, AnExceptionRollsBackToTheRowBoundary) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 1'000)});
  h.RunStep(7, {"THROW", "a", "THROW", "b", "THROW"});
  EXPECT_EQ(h.Drain(), "a b|#7");
}

// Truncating the frame does not undo what a columnar encoder holds of a row.
TEST(SeedDefectsTest, AnEncoderThatHoldsHalfOfARefusedRowIsBroken) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 1'000),
                    .blocks = std::make_shared<BlockEncoderState>()});
  EXPECT_EQ(h.RunStep(7, {"a", "HALF", "b"}), Flow::kFatal)
      << "although the policy is to skip";
  EXPECT_THAT(h->fatal(), HasReason(Reason::INTERNAL));
  EXPECT_EQ(h.queues.at(0).size(), 0u) << "nothing of it ships";
  EXPECT_EQ(h->counters().records_skipped, 0u);
  EXPECT_EQ(h->counters().records_discarded, 2u);
}

// One allocation a seal for the next frame: the sink's memory comes back.
TEST(SeedDefectsTest, AFrameIsMadeOfTheMemoryOfAnEarlierOne) {
  HandoffHarness h({.config = Config(FtModel::kExactlyOnce, 10'000)});
  const std::string value(6'000, 'v');
  h.BeginStep(7);
  h.Push({value, value});
  const void* first = nullptr;
  {
    const EncodedChunk chunk = h.TakeChunk();
    first = chunk.frame.view().data();
    h.Push({"in flight"});
  }
  h.Push({value, value});
  const EncodedChunk second = h.TakeChunk();
  h.Push({value, value});
  EXPECT_NE(second.frame.view().data(), first);
  EXPECT_EQ(h.TakeChunk().frame.view().data(), first);
}

// Parking inside one large batch used to have no bound but the batch.
TEST(SeedDefectsTest, WhatIsParkedIsInsideTheReservation) {
  HandoffHarness h({.queue_items = 1,
                    .config = Config(FtModel::kExactlyOnce, 1),
                    .limit = 5'000,
                    .reserve = 5'000});
  h.BeginStep(7);
  h.Push(std::vector<std::string>(1'000, "x"));
  EXPECT_EQ(h->parked(0), 999u);
  EXPECT_EQ(h.budget->usage(), 5'000u);
  EXPECT_EQ(h.budget->overdrafts(), 0u);
  EXPECT_FALSE(h.budget->TryReserve(1).has_value());
}

}  // namespace
}  // namespace penstock::core
