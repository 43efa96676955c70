#include "server/rpc/watcher.h"

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

}  // namespace
}  // namespace penstock::server
