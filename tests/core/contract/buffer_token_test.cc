#include "core/contract/buffer_token.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::core {
namespace {

TEST(BufferTokenTest, EqualBuffersOfOneNameHaveOneToken) {
  OutputOpen open{.incarnation = "inc", .pipeline = "p", .connector = "c"};
  const std::string token = BufferToken(open, 3, {7, 1}, "rows");
  // Another writer of the same step: a replay after a crash.
  open.writer = {.epoch = 9, .open_number = 9};
  EXPECT_EQ(BufferToken(open, 3, {7, 1}, "rows"), token);
  EXPECT_EQ(token.substr(0, 12), "inc/c/3/7/1/");
}

TEST(BufferTokenTest, WhateverDiffersIsInTheToken) {
  const OutputOpen open{.incarnation = "i", .pipeline = "p", .connector = "c"};
  OutputOpen other_life = open;
  other_life.incarnation = "j";
  OutputOpen other_connector = open;
  other_connector.connector = "d";
  const std::set<std::string> tokens = {
      BufferToken(open, 0, {1, 2}, "rows"),
      BufferToken(other_life, 0, {1, 2}, "rows"),
      BufferToken(other_connector, 0, {1, 2}, "rows"),
      BufferToken(open, 3, {1, 2}, "rows"),
      BufferToken(open, 0, {4, 2}, "rows"),
      BufferToken(open, 0, {1, 5}, "rows"),
      BufferToken(open, 0, {1, 2}, "swor")};
  EXPECT_EQ(tokens.size(), 7u);
}

}  // namespace
}  // namespace penstock::core
