#include "core/base/loopback.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(LoopbackTest, WhatNeverLeavesTheMachine) {
  for (const char* host :
       {"localhost", "::1", "[::1]", "127.0.0.1", "127.255.0.9"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
}

TEST(LoopbackTest, NamesThatLookAlikeAreOtherHosts) {
  for (const char* host :
       {"", "127.", "127.example.com", "127.0.0.1.nip.io", "127.1", "128.0.0.1",
        "0.0.0.0", "localhost.corp", "::2", "10.127.0.1"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace penstock::core
