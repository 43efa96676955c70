// A worker that ends without a drain, with calls outstanding.
#include "client/watch.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/watch.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock {
namespace {

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

}  // namespace
}  // namespace penstock
