#include "core/base/clock.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(RealClockTest, SteadyTimeNeverGoesBack) {
  absl::Time last = RealClock().SteadyNow();
  for (int i = 0; i < 10000; ++i) {
    const absl::Time now = RealClock().SteadyNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, SteadyTimePasses) {
  const absl::Time start = RealClock().SteadyNow();
  while (RealClock().SteadyNow() == start) {
  }
  EXPECT_GT(RealClock().SteadyNow(), start);
}

TEST(RealClockTest, WallTimeIsOfThisCentury) {
  EXPECT_GT(RealClock().Now(), absl::FromUnixSeconds(1'600'000'000));
}

TEST(RealClockTest, IsOneForTheProcess) {
  EXPECT_EQ(&RealClock(), &RealClock());
}

}  // namespace
}  // namespace penstock::core
