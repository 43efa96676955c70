// Records that never become rows and are kept for the dead letters: what a
// handoff does with them.
#include "core/base/error.h"
#include "core/contract/ft_model.h"
#include "core/handoff/sink_handoff.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ChunkConfig Keeping(std::optional<FtModel> level = FtModel::kExactlyOnce) {
  ChunkConfig config;
  config.target_bytes = 1'000;
  config.level = level;
  config.keep_refused = true;
  return config;
}

TEST(KeptRecordsTest, ASkippedRecordTravelsWithTheNextChunkIfItIsToBeKept) {
  HandoffHarness h({.config = Keeping()});
  h.RunStep(7, {"a", "BAD one", "b"});
  EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.rows, 2u);
  ASSERT_THAT(chunk.refused, SizeIs(1));
  EXPECT_EQ(chunk.refused[0].value, "BAD one");
  EXPECT_EQ(chunk.refused[0].offset, 1);
  EXPECT_FALSE(chunk.refused[0].error.ok());
  EXPECT_EQ(chunk.lease.bytes(), chunk.frame.size() + 7);
}

TEST(KeptRecordsTest, SkippedRecordsOnlyTravelInAChunkWithoutRows) {
  HandoffHarness h({.config = Keeping()});
  h.RunStep(7, {"BAD one", "BAD two"});
  EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.rows, 0u);
  EXPECT_EQ(chunk.frame.size(), 0u);
  EXPECT_THAT(chunk.refused, SizeIs(2));
  EXPECT_EQ(h.acks->Of(7), std::nullopt) << "the letters are owed";
  std::move(chunk.acks).Deliver();
  std::move(h.TakeEnd().acks).Deliver();
  EXPECT_EQ(h.acks->Of(7), AckStatus::kDelivered);
  EXPECT_EQ(h.budget->usage(), chunk.lease.bytes());
}

TEST(KeptRecordsTest, ManySkippedRecordsAreSealedBySize) {
  ChunkConfig config = Keeping();
  config.target_bytes = 10;
  HandoffHarness h({.config = config});
  h.RunStep(7, {"BAD one", "BAD two", "BAD three"});
  EXPECT_THAT(h.TakeChunk().refused, SizeIs(2));
  EXPECT_THAT(h.TakeChunk().refused, SizeIs(1));
}

// Records at these offsets of a partition that no parser could read.
std::vector<BadRecord> BadAt(uint32_t partition, std::vector<int64_t> offsets) {
  std::vector<BadRecord> bad;
  for (const int64_t offset : offsets) {
    bad.push_back({.partition = partition,
                   .offset = offset,
                   .tag = "no_json",
                   .description = "it is none",
                   .text = "{"});
  }
  return bad;
}

TEST(KeptRecordsTest, BadRecordsFollowTheRowsOfTheirStepInChunksOfTheirOwn) {
  HandoffHarness h({.config = Keeping()});
  h.BeginStep(7);
  h.Push({"a", "b"});
  h.handoff->AddBadRecords(BadAt(0, {4, 9}));
  EXPECT_EQ(h.handoff->EndStep(), Flow::kContinue);
  const EncodedChunk rows = h.TakeChunk();
  EXPECT_EQ(rows.rows, 2u);
  EXPECT_THAT(rows.refused, IsEmpty());
  EncodedChunk letters = h.TakeChunk();
  EXPECT_EQ(letters.rows, 0u);
  EXPECT_EQ(letters.index, 1u);
  ASSERT_THAT(letters.refused, SizeIs(2));
  EXPECT_EQ(letters.refused[0].offset, 4);
  EXPECT_EQ(letters.refused[1].offset, 9);
  EXPECT_EQ(letters.refused[0].value, "{");
  EXPECT_THAT(letters.refused[0].error, HasReason(Reason::MALFORMED_FRAME));
  EXPECT_EQ(letters.lease.bytes(), 2 * BadAt(0, {4})[0].MemoryBytes());
  EXPECT_EQ(h.acks->Of(7), std::nullopt) << "the letters are owed";
  EXPECT_EQ(h.handoff->counters().records_in, 2u);
}

TEST(KeptRecordsTest, BadRecordsGoToTheShardOfTheirPartition) {
  HandoffHarness h({.shards = 2, .config = Keeping()});
  h.BeginStep(7);
  h.handoff->AddBadRecords(BadAt(3, {4}));
  h.handoff->EndStep();
  EXPECT_THAT(h.TakeChunk(1).refused, SizeIs(1));
  EXPECT_EQ(h.TakeEnd(0).step, 7u);
}

TEST(KeptRecordsTest, ManyBadRecordsAreSealedBySize) {
  ChunkConfig config = Keeping();
  config.target_bytes = 2 * BadAt(0, {4})[0].MemoryBytes();
  HandoffHarness h({.config = config});
  h.BeginStep(7);
  h.handoff->AddBadRecords(BadAt(0, {1, 2, 3}));
  h.handoff->EndStep();
  EXPECT_THAT(h.TakeChunk().refused, SizeIs(2));
  EXPECT_THAT(h.TakeChunk().refused, SizeIs(1));
}

TEST(KeptRecordsTest, BelowExactlyOnceBadRecordsLeaveWithTheNextChunk) {
  HandoffHarness h({.config = Keeping(FtModel::kAtLeastOnce)});
  h.BeginStep(7);
  h.Push({"a"});
  h.handoff->AddBadRecords(BadAt(0, {4}));
  h.handoff->EndStep();
  h.handoff->FlushTerminal();
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.rows, 1u);
  EXPECT_THAT(chunk.refused, SizeIs(1));
}

}  // namespace
}  // namespace penstock::core
