#include "client/cli/progress_meter.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(ProgressTextTest, RateAndTimeLeftAreTold) {
  EXPECT_EQ(ProgressText("reading", 50'000'000, 150'000'000, absl::Seconds(5)),
            "reading: 50.00 MB of 150.00 MB (33%), 10.00 MB/s, about 10s left");
}

TEST(ProgressTextTest, AtFirstThereIsNoRate) {
  EXPECT_EQ(ProgressText("reading", 1000, 4000, absl::Milliseconds(10)),
            "reading: 1.00 kB of 4.00 kB (25%)");
}

TEST(ProgressTextTest, WithoutATotalNothingIsLeft) {
  EXPECT_EQ(ProgressText("reading", 2000, 0, absl::Seconds(1)),
            "reading: 2.00 kB, 2.00 kB/s");
}

TEST(ProgressTextTest, WhatGrowsIsNeverMoreThanAll) {
  EXPECT_EQ(ProgressText("reading", 3000, 2000, absl::Seconds(1)),
            "reading: 3.00 kB of 2.00 kB (100%), 3.00 kB/s");
}

}  // namespace
}  // namespace penstock::client
