#include "server/security/listen_address.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::server {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::HasSubstr;

TEST(ListenPortTest, WhatExistsIsTaken) {
  for (const char* address :
       {"127.0.0.1:0", "[::1]:7070", "localhost:65535", "unix:/tmp/a.sock"}) {
    EXPECT_OK(CheckListenPort(address, "--listen")) << address;
  }
}

TEST(ListenPortTest, WhatGrpcWouldMakeAnotherPortOfIsRefused) {
  for (const char* address : {"127.0.0.1:99999", "127.0.0.1:-1", "localhost",
                              "127.0.0.1:", "127.0.0.1:http", "[::1]"}) {
    const absl::Status status = CheckListenPort(address, "--admin-listen");
    EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG)) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr(address));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--admin-listen"));
  }
}

}  // namespace
}  // namespace penstock::server
