#include "core/handoff/retry.h"

#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::core {
namespace {

std::vector<absl::Duration> Delays(Backoff& backoff, int count) {
  std::vector<absl::Duration> delays;
  for (int i = 0; i < count; ++i) delays.push_back(backoff.Next());
  return delays;
}

TEST(BackoffTest, WithoutJitterItDoublesUpToTheMaximum) {
  Backoff backoff({.initial = absl::Milliseconds(100),
                   .max = absl::Milliseconds(500),
                   .multiplier = 2.0,
                   .jitter = 0},
                  1);
  EXPECT_THAT(
      Delays(backoff, 5),
      ::testing::ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                             absl::Milliseconds(400), absl::Milliseconds(500),
                             absl::Milliseconds(500)));
  EXPECT_EQ(backoff.attempts(), 5u);
}

TEST(BackoffTest, ResetBeginsAnew) {
  Backoff backoff({.jitter = 0}, 1);
  (void)Delays(backoff, 3);
  backoff.Reset();
  EXPECT_EQ(backoff.attempts(), 0u);
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
}

TEST(BackoffTest, JitterOnlyShortens) {
  Backoff backoff({.initial = absl::Milliseconds(100),
                   .max = absl::Milliseconds(100),
                   .multiplier = 1.0,
                   .jitter = 0.2},
                  TestSeed());
  bool differs = false;
  for (const absl::Duration delay : Delays(backoff, 1'000)) {
    EXPECT_LE(delay, absl::Milliseconds(100));
    EXPECT_GE(delay, absl::Milliseconds(80));
    differs = differs || delay != absl::Milliseconds(100);
  }
  EXPECT_TRUE(differs);
}

TEST(BackoffTest, IsNeverZeroAndNeverAboveTheMaximumWhateverItsPolicy) {
  Random random = TestRandom();
  for (int i = 0; i < 500; ++i) {
    RetryPolicy policy;
    policy.initial =
        absl::Nanoseconds(1 + static_cast<int64_t>(random.Uniform(1u << 30)));
    policy.max = policy.initial * (1 + static_cast<int64_t>(random.Uniform(9)));
    policy.multiplier = 1.0 + random.Double() * 1e9;
    policy.jitter = random.Bernoulli(0.3) ? 1.0 : random.Double();
    Backoff backoff(policy, random.Next64());
    for (const absl::Duration delay : Delays(backoff, 100)) {
      ASSERT_GT(delay, absl::ZeroDuration());
      ASSERT_LE(delay, policy.max);
    }
  }
}

TEST(BackoffTest, NeighbouringSeedsDoNotRunInLockStep) {
  Backoff first({.jitter = 1.0}, 1);
  Backoff second({.jitter = 1.0}, 2);
  EXPECT_NE(Delays(first, 3), Delays(second, 3));
}

TEST(BackoffTest, EqualSeedsGiveEqualDelays) {
  Backoff first({}, 5);
  Backoff second({}, 5);
  EXPECT_EQ(Delays(first, 10), Delays(second, 10));
}

}  // namespace
}  // namespace penstock::core
