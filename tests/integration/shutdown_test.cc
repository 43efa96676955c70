// A worker that ends without a drain, with calls outstanding.
#include "client/watch.h"
#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/watch.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/numbers.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace penstock {
namespace {

using testing::Not;

TEST(ShutdownTest, EndsWithAWatchAndAQueueOutstanding) {
  RealWorker worker;
  const std::string path = worker.Write("in", "");
  Caller caller(worker.client().control(), "p", 1, "nonce-of-it");
  ASSERT_OK(caller.Open(LinesSpec("c", path, "")).status());
  ASSERT_OK(caller.Extend());
  core::Notification watching;
  core::Notification ended;
  const auto watch = worker.client().StartWatch(
      {},
      [&](const v1::WatchEvent& event) {
        if (event.has_snapshot_end()) watching.Notify();
      },
      [&](const absl::Status&) { ended.Notify(); });
  watching.WaitForNotification();
  core::QueueRequest request;
  request.step = 7;
  request.wait = absl::Minutes(10);
  const Pending<core::QueueReply> queue = caller.StartQueue(request);
  // The worker has it once it answers what came behind.
  ASSERT_OK(caller.Get().status());
  worker.Stop();
  ended.WaitForNotification();
  (void)queue.Get();
}

// Of a worker with many streams, of which each has read its snapshot or not.
// More repeats: PENSTOCK_SHUTDOWN_REPEATS=100.
TEST(ShutdownTest, EndsInTimeWithFiveHundredStreams) {
  int repeats = 2;
  if (const auto more = core::GetEnv("PENSTOCK_SHUTDOWN_REPEATS")) {
    ASSERT_TRUE(absl::SimpleAtoi(*more, &repeats));
  }
  for (int repeat = 0; repeat < repeats; ++repeat) {
    RealWorker worker;
    std::atomic<int> ended{0};
    core::Notification all_ended;
    std::vector<std::unique_ptr<client::Watch>> watches;
    core::Notification watching;
    for (int i = 0; i < 500; ++i) {
      watches.push_back(worker.client().StartWatch(
          {},
          [&watching, is_last = i == 499](const v1::WatchEvent& event) {
            if (is_last && event.has_snapshot_end()) watching.Notify();
          },
          [&ended, &all_ended](const absl::Status& status) {
            EXPECT_THAT(status, Not(core::HasReason(core::Reason::CANCELLED)));
            if (++ended == 500) all_ended.Notify();
          }));
    }
    watching.WaitForNotification();
    const absl::Time begin = core::RealClock().SteadyNow();
    worker.Stop();
    // The grace that calls are given is one second.
    EXPECT_LT(core::RealClock().SteadyNow() - begin, absl::Seconds(10))
        << "repeat " << repeat;
    all_ended.WaitForNotification();
  }
}

}  // namespace
}  // namespace penstock
