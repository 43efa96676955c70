#include "server/dispatch/reply_cache.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using Outcome = ReplyCache::Outcome;

ReplyCache::Done Ignore() {
  return [](absl::Status) {};
}

Outcome Begin(ReplyCache& cache, const std::string& id, uint64_t body) {
  ReplyCache::Done done = Ignore();
  return cache.Begin(id, body, done);
}

TEST(ReplyCacheTest, ASuccessIsRepeatedAndNotRunAgain) {
  ReplyCache cache(4);
  ASSERT_EQ(Begin(cache, "a", 1), Outcome::kRun);
  cache.Finish("a", true);
  EXPECT_EQ(Begin(cache, "a", 1), Outcome::kRepeat);
}

TEST(ReplyCacheTest, AFailureIsForgotten) {
  ReplyCache cache(4);
  ASSERT_EQ(Begin(cache, "a", 1), Outcome::kRun);
  cache.Finish("a", false);
  EXPECT_EQ(Begin(cache, "a", 1), Outcome::kRun);
}

TEST(ReplyCacheTest, TheSameIdWithAnotherBodyIsReused) {
  ReplyCache cache(4);
  ASSERT_EQ(Begin(cache, "a", 1), Outcome::kRun);
  EXPECT_EQ(Begin(cache, "a", 2), Outcome::kReused);
}

TEST(ReplyCacheTest, ARepeatOfARunningCallWaitsForIt) {
  ReplyCache cache(4);
  ASSERT_EQ(Begin(cache, "a", 1), Outcome::kRun);
  int answered = 0;
  ReplyCache::Done done = [&](absl::Status) { ++answered; };
  ASSERT_EQ(cache.Begin("a", 1, done), Outcome::kWaits);
  for (auto& waiting : cache.Finish("a", true)) waiting(absl::OkStatus());
  EXPECT_EQ(answered, 1);
}

TEST(ReplyCacheTest, OnlyTheNewestSuccessesAreKept) {
  ReplyCache cache(2);
  for (int i = 0; i < 3; ++i) {
    const std::string id = absl::StrCat(i);
    ASSERT_EQ(Begin(cache, id, 1), Outcome::kRun);
    cache.Finish(id, true);
  }
  EXPECT_EQ(Begin(cache, "0", 1), Outcome::kRun);
  EXPECT_EQ(Begin(cache, "2", 1), Outcome::kRepeat);
}

TEST(ReplyCacheTest, TheNewestReplyIsKeptHoweverLongItIs) {
  ReplyCache cache(64);
  ASSERT_EQ(Begin(cache, "short", 1), Outcome::kRun);
  cache.Finish("short", true);
  const std::string reply(size_t{3} << 20, 'r');
  for (const char* id : {"a", "b"}) {
    ASSERT_EQ(Begin(cache, id, 1), Outcome::kRun);
    cache.Finish(id, true, reply);
    EXPECT_EQ(Begin(cache, id, 1), Outcome::kRepeat);
    EXPECT_EQ(cache.ReplyOf(id), reply);
  }
  EXPECT_EQ(Begin(cache, "short", 1), Outcome::kRepeat);
  EXPECT_EQ(Begin(cache, "a", 1), Outcome::kRun) << "it made room";
}

TEST(ReplyCacheTest, WhatIsTooLongForAnyMessageIsForgotten) {
  ReplyCache cache(64);
  ASSERT_EQ(Begin(cache, "a", 1), Outcome::kRun);
  cache.Finish("a", true, std::string(ReplyCache::kReplyBytesMax + 1, 'r'));
  EXPECT_EQ(Begin(cache, "a", 1), Outcome::kRun);
}

}  // namespace
}  // namespace penstock::server
