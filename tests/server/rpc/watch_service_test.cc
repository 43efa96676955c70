// A watch on the wire whose client reads nothing.
#include "server/rpc/watch_service.h"

#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "proto/penstock/v1/watch.grpc.pb.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
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

// Starts a watch and reads no message of it.
class Sleeper final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  explicit Sleeper(v1::WatchService::Stub& stub) {
    stub.async()->Watch(&context_, &request_, this);
    StartCall();
  }
  ~Sleeper() override {
    Cancel();
    over_.WaitForNotification();
  }
  void Cancel() { context_.TryCancel(); }
  void OnReadInitialMetadataDone(bool /*ok*/) override { begun.Notify(); }
  void OnDone(const grpc::Status& /*status*/) override { over_.Notify(); }

  core::Notification begun;

 private:
  core::Notification over_;
  grpc::ClientContext context_;
  const v1::WatchRequest request_;
};

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
    stub_ = v1::WatchService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  // More than the queue of a watch and all windows on the way hold, slowly:
  // what can be written is, until the windows are full.
  void PublishTooMuch() {
    const core::ErrorEntry error{.text = std::string(8192, 'x')};
    for (size_t i = 0; i < 4 * Watcher::kEventsMax; ++i) {
      hub_.OnError("orders", error);
      core::Notification pumped;
      executor_.Schedule([&] { pumped.Notify(); });
      pumped.WaitForNotification();
    }
  }

  core::TempDir directory_;
  core::ThreadPoolExecutor executor_{"watches", 1};
  const NoConnectors connectors_;
  WatchHub hub_{"run", executor_};
  WatchService service_{hub_, executor_, absl::Milliseconds(10)};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::WatchService::Stub> stub_;
};

// Its write never ends, so that it once was kept until its client went away.
TEST_F(WatchServiceTest, AWatchThatIsNotReadAtAllIsCutOff) {
  Sleeper sleeper(*stub_);
  sleeper.begun.WaitForNotification();
  PublishTooMuch();
  // Without a deadline to speak of, it waits for every call.
  core::Notification ended;
  core::Thread closer("closer", [&](std::stop_token) {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::hours(1));
    ended.Notify();
  });
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(30)));
  sleeper.Cancel();
}

}  // namespace
}  // namespace penstock::server
