#include "server/rpc/watcher.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace penstock::server {
namespace {

v1::WatchEvent EventOf(uint64_t sequence) {
  v1::WatchEvent event;
  event.set_connector("c");
  event.set_sequence(sequence);
  event.mutable_error();
  return event;
}

std::vector<uint64_t> Sequences(Watcher& watcher) {
  std::vector<uint64_t> sequences;
  for (const v1::WatchEvent& event : watcher.Take()) {
    sequences.push_back(event.sequence());
  }
  return sequences;
}

// What was kept for it may be outgoing just then, too.
TEST(WatcherTest, TakesAnEventOnce) {
  Watcher watcher(WatchFilter(), [] {});
  watcher.Offer(EventOf(4));
  watcher.Offer(EventOf(5));
  watcher.Offer(EventOf(4));
  watcher.Offer(EventOf(5));
  watcher.Offer(EventOf(6));
  EXPECT_EQ(Sequences(watcher), (std::vector<uint64_t>{4, 5, 6}));
}

TEST(WatcherTest, TakesNothingBeforeItsStart) {
  Watcher watcher(WatchFilter(), [] {});
  watcher.StartAt(5);
  watcher.Offer(EventOf(4));
  watcher.Offer(EventOf(5));
  EXPECT_EQ(Sequences(watcher), (std::vector<uint64_t>{5}));
}

TEST(WatcherTest, CountersCarryNoNumberAndAlwaysCome) {
  Watcher watcher(WatchFilter(), [] {});
  watcher.StartAt(5);
  v1::WatchEvent counter;
  counter.set_connector("c");
  counter.mutable_completion()->set_completed_steps(3);
  watcher.Offer(counter);
  EXPECT_EQ(watcher.Take().size(), 1u);
}

TEST(WatcherTest, AnOverflowLetsGoOfEverythingAndIsToldAtOnce) {
  Watcher watcher(WatchFilter(), [] {});
  watcher.AddSnapshot(EventOf(0));
  for (uint64_t i = 1; i <= Watcher::kEventsMax; ++i) watcher.Offer(EventOf(i));
  absl::Status status;
  EXPECT_FALSE(watcher.Ended(status));
  watcher.Offer(EventOf(Watcher::kEventsMax + 1));
  ASSERT_TRUE(watcher.Ended(status));
  EXPECT_THAT(status, core::HasReason(core::Reason::SLOW_WATCHER));
  EXPECT_TRUE(watcher.Take().empty());
}

TEST(WatcherTest, CountersOfEndlessNewConnectorsOverflow) {
  Watcher watcher(WatchFilter(), [] {});
  absl::Status status;
  for (size_t i = 0; i <= Watcher::kNewestMax; ++i) {
    EXPECT_FALSE(watcher.Ended(status));
    v1::WatchEvent counter;
    counter.set_connector(absl::StrCat("c", i));
    counter.mutable_completion();
    watcher.Offer(counter);
  }
  ASSERT_TRUE(watcher.Ended(status));
  EXPECT_THAT(status, core::HasReason(core::Reason::SLOW_WATCHER));
}

}  // namespace
}  // namespace penstock::server
