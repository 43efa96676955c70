#include "client/watch.h"

#include "client/channel.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "proto/wire/status.h"
#include "tests/client/await.h"
#include "tests/client/fake_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::Reason;
using ::testing::ElementsAre;
using ::testing::SizeIs;

v1::WatchResponse ResponseWith(const std::vector<uint64_t>& sequences) {
  v1::WatchResponse response;
  for (const uint64_t sequence : sequences) {
    response.add_events()->set_sequence(sequence);
  }
  return response;
}

class WatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto channel = MakeChannel(worker_.target());
    ASSERT_OK(channel);
    channel_ = *channel;
  }

  FakeWorker worker_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(WatchTest, GivesEventsInOrderThenTheEnd) {
  worker_.watch.responses = {ResponseWith({1, 2}), ResponseWith({3})};
  v1::WatchRequest request;
  request.add_connectors("orders");
  std::vector<uint64_t> seen;  // Callbacks come one at a time.
  AwaitedStatus end;
  auto watch = Watch::Start(
      channel_, request,
      [&seen](const v1::WatchEvent& event) {
        seen.push_back(event.sequence());
      },
      end.callback());
  EXPECT_THAT(end.Get(), IsOk());
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  ASSERT_THAT(worker_.watch.watch.requests(), SizeIs(1));
  EXPECT_EQ(worker_.watch.watch.requests()[0].connectors(0), "orders");
}

TEST_F(WatchTest, SaysWhyItWasCutOff) {
  worker_.watch.end = wire::StatusToGrpc(core::MakeError(
      Reason::SLOW_WATCHER, "too slow", {{"last_sequence", "7"}}));
  AwaitedStatus end;
  auto watch = Watch::Start(
      channel_, v1::WatchRequest(), [](const v1::WatchEvent&) {},
      end.callback());
  EXPECT_THAT(end.Get(), HasReason(Reason::SLOW_WATCHER));
  EXPECT_EQ(core::GetErrorInfo(end.Get())->metadata.at("last_sequence"), "7");
}

TEST_F(WatchTest, DestructorEndsTheStream) {
  worker_.watch.responses = {ResponseWith({1})};
  worker_.watch.endless = true;
  core::Notification seen;
  AwaitedStatus end;
  auto watch = Watch::Start(
      channel_, v1::WatchRequest(),
      [&seen](const v1::WatchEvent&) { seen.Notify(); }, end.callback());
  seen.WaitForNotification();
  watch = nullptr;
  ASSERT_TRUE(end.HasRun());
  EXPECT_THAT(end.Get(), HasReason(Reason::CANCELLED));
}

TEST_F(WatchTest, CallbackMayCancel) {
  worker_.watch.responses = {ResponseWith({1})};
  worker_.watch.endless = true;
  core::Notification made;
  std::unique_ptr<Watch> watch;
  AwaitedStatus end;
  watch = Watch::Start(
      channel_, v1::WatchRequest(),
      [&](const v1::WatchEvent&) {
        made.WaitForNotification();
        watch->Cancel();
      },
      end.callback());
  made.Notify();
  EXPECT_THAT(end.Get(), HasReason(Reason::CANCELLED));
}

TEST_F(WatchTest, WorkerThatDiesIsUnavailable) {
  worker_.watch.endless = true;
  AwaitedStatus end;
  auto watch = Watch::Start(
      channel_, v1::WatchRequest(), [](const v1::WatchEvent&) {},
      end.callback());
  worker_.watch.watch.WaitForCall();
  worker_.Stop();
  EXPECT_THAT(end.Get(), HasReason(Reason::UNAVAILABLE));
}

}  // namespace
}  // namespace penstock::client
