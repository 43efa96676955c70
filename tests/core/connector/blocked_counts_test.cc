#include "core/connector/blocked_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

const absl::Time kNow = absl::UnixEpoch();

TEST(BlockedCountsTest, BlocksTheCountsBehindTheFirstStepUpToTheLast) {
  BlockedCounts counts;
  counts.Begin(5, kNow);
  counts.End(9);
  EXPECT_FALSE(counts.Find(5).has_value());
  EXPECT_TRUE(counts.Find(6).has_value());
  EXPECT_TRUE(counts.Find(9).has_value());
  EXPECT_FALSE(counts.Find(10).has_value());
}

TEST(BlockedCountsTest, OpenSpanBlocksEverythingBehindIt) {
  BlockedCounts counts;
  counts.Begin(5, kNow);
  EXPECT_TRUE(counts.is_open());
  EXPECT_TRUE(counts.Find(1'000'000).has_value());
  EXPECT_EQ(counts.Find(1'000'000)->since, kNow);
}

TEST(BlockedCountsTest, OpenSpanIsNotBegunAgain) {
  BlockedCounts counts;
  counts.Begin(5, kNow);
  counts.Begin(6, kNow + absl::Seconds(1));
  EXPECT_EQ(counts.Find(7)->begin, 5u);
}

TEST(BlockedCountsTest, EndWithoutBeginHasNoEffect) {
  BlockedCounts counts;
  counts.End(5);
  EXPECT_FALSE(counts.Find(5).has_value());
}

TEST(BlockedCountsTest, ForgetsWhatIsBelow) {
  BlockedCounts counts;
  counts.Begin(5, kNow);
  counts.End(9);
  counts.Begin(12, kNow);
  counts.Forget(9);
  EXPECT_FALSE(counts.Find(8).has_value());
  EXPECT_TRUE(counts.Find(13).has_value());
}

TEST(BlockedCountsTest, IsBounded) {
  BlockedCounts counts;
  for (Step step = 0; step < 4 * BlockedCounts::kSpansMax; step += 2) {
    counts.Begin(step, kNow);
    counts.End(step + 1);
  }
  EXPECT_FALSE(counts.Find(1).has_value());
  EXPECT_TRUE(counts.Find(4 * BlockedCounts::kSpansMax - 1).has_value());
}

}  // namespace
}  // namespace penstock::core
