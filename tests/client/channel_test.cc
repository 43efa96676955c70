#include "client/channel.h"

#include "client/client.h"
#include "core/base/error.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "tests/client/await.h"
#include "tests/client/fake_worker.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <string>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;

class GoodTargetTest : public ::testing::TestWithParam<std::string> {};
TEST_P(GoodTargetTest, IsTaken) { EXPECT_OK(CheckTarget(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, GoodTargetTest,
                         ::testing::Values("unix:/run/p.sock",
                                           "unix:relative.sock", "host:7000",
                                           "127.0.0.1:1", "[::1]:65535",
                                           "dns:///worker-0.workers:7000"));

class BadTargetTest : public ::testing::TestWithParam<std::string> {};
TEST_P(BadTargetTest, IsRefused) {
  EXPECT_THAT(CheckTarget(GetParam()), HasReason(Reason::INVALID_CONFIG));
}
INSTANTIATE_TEST_SUITE_P(All, BadTargetTest,
                         ::testing::Values("", "unix:", "host", "host:", ":1",
                                           "host:0", "host:65536", "host:x",
                                           "::1:7000", "[::1:7000",
                                           "http://host:80",
                                           "dns:///a/b:7000"));

TEST(ChannelTest, LocalIsAUnixSocketOrLoopback) {
  EXPECT_TRUE(IsLocalTarget("unix:/run/p.sock"));
  EXPECT_TRUE(IsLocalTarget("localhost:1"));
  EXPECT_TRUE(IsLocalTarget("127.8.9.1:1"));
  EXPECT_TRUE(IsLocalTarget("[::1]:1"));
  EXPECT_TRUE(IsLocalTarget("dns:///localhost:1"));
  EXPECT_FALSE(IsLocalTarget("10.0.0.1:1"));
  EXPECT_FALSE(IsLocalTarget("localhost.example:1"));
}

TEST(ChannelTest, PlaintextLeavesThisHostOnlyWhereItIsAllowed) {
  EXPECT_THAT(MakeChannel("worker.example:7000"),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_OK(MakeChannel("worker.example:7000", {.insecure = true}));
  EXPECT_OK(MakeChannel("localhost:7000"));
}

// A socket that takes connections, and nothing else.
class SilentListener {
 public:
  SilentListener() : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    EXPECT_EQ(listen(socket_, 8), 0);
  }
  ~SilentListener() { close(socket_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  std::string target() const { return absl::StrCat("unix:", path()); }
  // Blocks: until somebody has connected.
  int Accept() const {
    return accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }

 private:
  std::string path() const { return directory_.Path("silent.sock"); }

  const core::TempDir directory_;
  const int socket_;
};

// A call to `target` that gives an attempt to connect 200 ms.
// Returns: what it ended with.
grpc::Status CallWithShortAttempts(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::ControlService::NewStub(grpc::CreateCustomChannel(
      target, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  v1::ExtendResponse response;
  return stub->Extend(&context, v1::ExtendRequest(), &response);
}

// An attempt once had no longer than the first back-off: on a busy machine
// calls were UNAVAILABLE although the worker was about to answer.
TEST(ChannelTest, AWorkerThatAnswersLateIsWaitedForHoweverShortTheBackOff) {
  FakeWorker worker;
  const SilentListener listener;
  const auto client = Client::Connect(
      listener.target(),
      {.channel = {.reconnect_initial = absl::Milliseconds(100)}});
  ASSERT_OK(client);
  AwaitedStatus done;
  (*client)->control().Extend(core::CommandHeader(), done.callback());
  const int late = listener.Accept();
  ASSERT_GE(late, 0);
  // Time passes, as gRPC measures it.
  EXPECT_EQ(CallWithShortAttempts(listener.target()).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(done.HasRun());
  worker.Serve(late);
  EXPECT_OK(done.Get());
}

}  // namespace
}  // namespace penstock::client
