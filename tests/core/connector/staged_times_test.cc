#include "core/connector/staged_times.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <deque>

namespace penstock::core {
namespace {

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

TEST(StagedTimesTest, TheOldestThatLeavesSaysWhenItCame) {
  StagedTimes times;
  times.Add(10, At(1));
  times.Add(10, At(2));
  EXPECT_EQ(times.Take(5), At(1));
  EXPECT_EQ(times.Take(5), At(1));
  EXPECT_EQ(times.Take(10), At(2));
  EXPECT_EQ(times.Take(0), absl::InfiniteFuture());
  times.Add(1, At(3));
  EXPECT_EQ(times.Take(1), At(3));
}

TEST(StagedTimesTest, NothingIsStaged) {
  StagedTimes times;
  EXPECT_EQ(times.Take(0), absl::InfiniteFuture());
  times.Add(0, At(1));
  EXPECT_EQ(times.Take(1), absl::InfiniteFuture());
}

// Where marks are shared the answer is older than the truth, by no more than
// what shares a mark; and it never goes back.
TEST(StagedTimesTest, ManyBuffersShareMarksAndAreNeverTooYoung) {
  Random rng = TestRandom();
  StagedTimes times;
  std::deque<absl::Time> exact;
  absl::Time last = absl::InfinitePast();
  for (int64_t now = 0; now < 5'000; ++now) {
    const uint64_t added = rng.Uniform(4);
    times.Add(added, At(now));
    exact.insert(exact.end(), added, At(now));
    if (rng.Uniform(40) != 0 || exact.empty()) continue;
    const uint64_t taken = 1 + rng.Uniform(exact.size());
    const absl::Time oldest = times.Take(taken);
    EXPECT_LE(oldest, exact.front());
    EXPECT_GE(oldest, last);
    last = oldest;
    exact.erase(exact.begin(),
                exact.begin() + static_cast<std::ptrdiff_t>(taken));
  }
}

// A backlog that neither grows nor shrinks, for a long time.
TEST(StagedTimesTest, AnOldBacklogIsNoOlderThanItIs) {
  constexpr int64_t kBacklog = 1'000;
  StagedTimes times;
  for (int64_t now = 0; now < kBacklog; ++now) times.Add(7, At(now));
  for (int64_t now = kBacklog; now < 100'000; ++now) {
    times.Add(7, At(now));
    const absl::Duration age = At(now) - times.Take(7);
    ASSERT_GE(age, absl::Seconds(kBacklog));
    ASSERT_LE(age, absl::Seconds(kBacklog + kBacklog / 14 + 2));
  }
}

// One that has grown for long, and is then taken record by record.
TEST(StagedTimesTest, MarksStandForAFourteenthEachHoweverItGrew) {
  constexpr int64_t kBacklog = 20'000;
  StagedTimes times;
  for (int64_t now = 0; now < kBacklog; ++now) times.Add(1, At(now));
  for (int64_t now = 0; now < kBacklog; ++now) {
    const absl::Time oldest = times.Take(1);
    ASSERT_LE(oldest, At(now));
    ASSERT_GE(oldest, At(now - kBacklog / 14));
  }
}

}  // namespace
}  // namespace penstock::core
