// A watch on the wire whose client reads nothing.
#include "server/rpc/watch_service.h"

#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "proto/penstock/v1/watch.grpc.pb.h"
#include "proto/wire/status.h"
#include "tests/support/temp_dir.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

class NoConnectors final : public ConnectorStatuses {
 public:
  std::vector<core::ConnectorStatus> Statuses() const override { return {}; }
  std::optional<core::ConnectorStatus> StatusOf(
      const std::string& /*connector*/) const override {
    return std::nullopt;
  }
};

// Starts a watch and reads no message of it before ReadOn.
class Sleeper final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  explicit Sleeper(v1::WatchService::Stub& stub) {
    stub.async()->Watch(&context_, &request_, this);
    AddHold();
    StartCall();
  }
  ~Sleeper() override {
    Cancel();
    if (!resumed_) RemoveHold();
    over_.WaitForNotification();
  }
  void Cancel() { context_.TryCancel(); }
  // Blocks: until the watch has ended, at most 30 s. Returns: how it ended.
  absl::Status ReadOn() {
    resumed_ = true;
    StartRead(&response_);
    RemoveHold();
    if (!over_.WaitForNotificationWithTimeout(absl::Seconds(30))) {
      return absl::DeadlineExceededError("it goes on");
    }
    return wire::StatusFromGrpc(status_);
  }
  void OnReadInitialMetadataDone(bool /*ok*/) override { begun.Notify(); }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    over_.Notify();
  }

  core::Notification begun;

 private:
  core::Notification over_;
  grpc::Status status_;
  grpc::ClientContext context_;
  const v1::WatchRequest request_;
  v1::WatchResponse response_;
  bool resumed_ = false;
};

// Little, and it stays so: gRPC would let a stream have 4 MiB.
grpc::ChannelArguments SmallWindows() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65535);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

class WatchServiceTest : public ::testing::Test {
 protected:
  WatchServiceTest() {
    hub_.SetConnectors(&connectors_);
    const std::string address =
        absl::StrCat("unix:", directory_.Path("worker.sock"));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::WatchService::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), SmallWindows()));
  }
  // More than the queue of a watch and all windows on the way hold, slowly:
  // what can be written is, until the windows are full.
  void PublishTooMuch() { Publish(4 * Watcher::kEventsMax); }
  // More than the windows hold, and less than would overflow.
  void PublishUntilStuck() { Publish(Watcher::kBytesMax / 8192 - 1); }
  void Publish(size_t count) {
    const core::ErrorEntry error{.text = std::string(8192, 'x')};
    for (size_t i = 0; i < count; ++i) {
      hub_.OnError("orders", error);
      core::Notification pumped;
      executor_.Schedule([&] { pumped.Notify(); });
      pumped.WaitForNotification();
    }
  }

  // Without a deadline to speak of, it waits for every call: one whose write
  // never ends once was kept until its client went away.
  void ShutDownServer(Sleeper& sleeper) {
    core::Notification ended;
    core::Thread closer("closer", [&](std::stop_token) {
      server_->Shutdown(std::chrono::system_clock::now() +
                        std::chrono::hours(1));
      ended.Notify();
    });
    EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(30)));
    if (!ended.HasBeenNotified()) sleeper.Cancel();
  }

  core::TempDir directory_;
  core::ThreadPoolExecutor executor_{"watches", 1};
  const NoConnectors connectors_;
  WatchHub hub_{"run", executor_};
  WatchService service_{hub_,
                        executor_,
                        {.last_write_max = absl::Milliseconds(10),
                         .progress_note = absl::Milliseconds(10)}};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::WatchService::Stub> stub_;
};

// The reason is there before what it did not read, and past a full window.
TEST_F(WatchServiceTest, WhoIsCutOffIsToldWhyWhenItReadsOn) {
  Sleeper sleeper(*stub_);
  sleeper.begun.WaitForNotification();
  PublishTooMuch();
  ShutDownServer(sleeper);
  const absl::Status end = sleeper.ReadOn();
  EXPECT_TRUE(absl::IsResourceExhausted(end)) << end;
  EXPECT_THAT(std::string(end.message()), testing::HasSubstr("SLOW_WATCHER"));
}

// Though something still waits for it. The end of the connection may be what it
// sees first.
TEST_F(WatchServiceTest, AWorkerThatEndsDoesNotWaitForOneThatIsNotRead) {
  Sleeper sleeper(*stub_);
  sleeper.begun.WaitForNotification();
  PublishUntilStuck();
  hub_.Shutdown();
  ShutDownServer(sleeper);
  const absl::Status end = sleeper.ReadOn();
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
}

// It resumes there, however long nothing happens.
TEST_F(WatchServiceTest, AnIdleWatchIsToldWhereItIsAgainAndAgain) {
  grpc::ClientContext context;
  const auto watch = stub_->Watch(&context, v1::WatchRequest());
  std::vector<v1::WatchEvent> events;
  for (v1::WatchResponse response;
       events.size() < 4 && watch->Read(&response);) {
    events.insert(events.end(), response.events().begin(),
                  response.events().end());
  }
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[0].has_created());
  EXPECT_TRUE(events[1].has_snapshot_end());
  for (const size_t idle : {2u, 3u}) {
    ASSERT_TRUE(events[idle].has_progress_note());
    EXPECT_EQ(events[idle].progress_note().next_sequence(),
              events[0].created().next_sequence());
  }
  const uint64_t next = events[3].progress_note().next_sequence();
  hub_.OnError("orders", {.text = "news"});
  v1::WatchResponse response;
  while (watch->Read(&response) && response.events(0).has_progress_note()) {
  }
  ASSERT_EQ(response.events_size(), 1);
  ASSERT_TRUE(response.events(0).has_error());
  EXPECT_EQ(response.events(0).sequence(), next);
  context.TryCancel();
  while (watch->Read(&response)) {
  }
}

}  // namespace
}  // namespace penstock::server
