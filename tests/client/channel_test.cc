#include "client/channel.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock::client
