#include "tests/support/fake_clock.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(FakeClockTest, StandsStillUntilAdvanced) {
  FakeClock clock;
  const absl::Time now = clock.Now();
  const absl::Time steady = clock.SteadyNow();
  EXPECT_EQ(clock.Now(), now);
  clock.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(clock.Now() - now, absl::Milliseconds(1500));
  EXPECT_EQ(clock.SteadyNow() - steady, absl::Milliseconds(1500));
}

TEST(FakeClockTest, StartsWhereTold) {
  FakeClock clock(absl::FromUnixSeconds(5));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(5));
}

TEST(FakeClockTest, WallTimeMayJumpAlone) {
  FakeClock clock;
  const absl::Time steady = clock.SteadyNow();
  clock.SetNow(absl::FromUnixSeconds(10));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(10));
  EXPECT_EQ(clock.SteadyNow(), steady);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(11));
}

TEST(FakeClockDeathTest, NeverGoesBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeClock clock;
  EXPECT_DEATH(clock.Advance(-absl::Seconds(1)), "check failed");
}

}  // namespace
}  // namespace penstock::core
