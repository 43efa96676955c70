#include "core/base/rate_limit.h"

#include "core/base/thread.h"
#include "tests/support/fake_clock.h"
#include "tests/support/recording_log_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::SizeIs;

TEST(RateLimitTest, AdmitsCapacityThenSuppresses) {
  FakeClock clock;
  RateLimit limit(2, absl::Seconds(1), clock);
  EXPECT_EQ(limit.Admit(), 0u);
  EXPECT_EQ(limit.Admit(), 0u);
  EXPECT_EQ(limit.Admit(), std::nullopt);
  EXPECT_EQ(limit.Admit(), std::nullopt);
  EXPECT_EQ(limit.suppressed_total(), 2u);
}

TEST(RateLimitTest, NextWindowAdmitsAgainAndReportsTheSuppressedOnce) {
  FakeClock clock;
  RateLimit limit(1, absl::Seconds(1), clock);
  EXPECT_EQ(limit.Admit(), 0u);
  EXPECT_EQ(limit.Admit(), std::nullopt);
  EXPECT_EQ(limit.Admit(), std::nullopt);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(limit.Admit(), 2u);
  EXPECT_EQ(limit.Admit(), std::nullopt);
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(limit.Admit(), 1u);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(limit.Admit(), 0u);
  EXPECT_EQ(limit.suppressed_total(), 3u);
}

TEST(RateLimitTest, WallClockJumpsChangeNothing) {
  FakeClock clock;
  RateLimit limit(1, absl::Seconds(1), clock);
  EXPECT_EQ(limit.Admit(), 0u);
  clock.SetNow(clock.Now() + absl::Hours(1));
  EXPECT_EQ(limit.Admit(), std::nullopt);
}

TEST(RateLimitTest, ManyThreadsShareOneCapacity) {
  FakeClock clock;
  RateLimit limit(100, absl::Seconds(1), clock);
  std::atomic<int> admitted{0};
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < 4; ++t) {
      threads.push_back(
          std::make_unique<Thread>("limit", [&](const std::stop_token&) {
            for (int i = 0; i < 1000; ++i) {
              if (limit.Admit().has_value()) ++admitted;
            }
          }));
    }
  }
  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(limit.suppressed_total(), 3900u);
}

TEST(RateLimitTest, LogEverySaysHowManyWereLeftOut) {
  const auto sink = std::make_shared<RecordingLogSink>();
  const ScopedLogSink scope(sink);
  FakeClock clock;
  RateLimit limit(1, absl::Seconds(1), clock);
  int evaluated = 0;
  for (int i = 0; i < 4; ++i) LOG_EVERY(WARNING, limit) << ++evaluated;
  clock.Advance(absl::Seconds(1));
  LOG_EVERY(WARNING, limit).With("a", 1) << "again";
  EXPECT_EQ(evaluated, 1);
  ASSERT_THAT(sink->records(), SizeIs(2));
  EXPECT_EQ(sink->records()[1].fields[0].key, "suppressed");
  EXPECT_EQ(sink->records()[1].fields[0].value, "3");
}

}  // namespace
}  // namespace penstock::core
