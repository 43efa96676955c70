#include "core/contract/count_watch.h"

#include "core/base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CountWatchTest, StartsAtItsValue) { EXPECT_EQ(CountWatch(7).value(), 7u); }

TEST(CountWatchTest, RepeatTellsThePresentValueAgain) {
  CountWatch watch(7);
  std::vector<uint64_t> told;
  const std::shared_ptr<void> token =
      watch.Subscribe([&told](uint64_t value) { told.push_back(value); });
  watch.Repeat();
  watch.Advance(8);
  watch.Repeat();
  EXPECT_EQ(watch.value(), 8u);
  EXPECT_THAT(told, ElementsAre(7, 8, 8));
}

TEST(CountWatchTest, AdvanceRaisesTheValueAndTellsIt) {
  CountWatch watch(7);
  std::vector<uint64_t> told;
  const std::shared_ptr<void> token =
      watch.Subscribe([&told](uint64_t value) { told.push_back(value); });
  watch.Advance(8);
  watch.Advance(12);
  EXPECT_EQ(watch.value(), 12u);
  EXPECT_THAT(told, ElementsAre(8, 12));
}

TEST(CountWatchTest, NeverGoesBackNorTellsTwice) {
  CountWatch watch(7);
  std::vector<uint64_t> told;
  const std::shared_ptr<void> token =
      watch.Subscribe([&told](uint64_t value) { told.push_back(value); });
  watch.Advance(7);
  watch.Advance(3);
  EXPECT_EQ(watch.value(), 7u);
  EXPECT_THAT(told, IsEmpty());
}

TEST(CountWatchTest, ADroppedTokenEndsTheSubscription) {
  CountWatch watch(0);
  std::vector<uint64_t> told;
  std::shared_ptr<void> token =
      watch.Subscribe([&told](uint64_t value) { told.push_back(value); });
  watch.Advance(1);
  token.reset();
  watch.Advance(2);
  EXPECT_THAT(told, ElementsAre(1));
}

TEST(CountWatchTest, ADroppedTokenFreesTheCallback) {
  CountWatch watch(0);
  auto held = std::make_shared<int>(1);
  std::shared_ptr<void> token = watch.Subscribe([held](uint64_t) {});
  EXPECT_EQ(held.use_count(), 2);
  token.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(CountWatchTest, ATokenMayOutliveTheWatch) {
  auto watch = std::make_unique<CountWatch>(0);
  const std::shared_ptr<void> token = watch->Subscribe([](uint64_t) {});
  watch.reset();
}

TEST(CountWatchTest, ACallbackMayDropItsOwnToken) {
  CountWatch watch(0);
  std::vector<uint64_t> told;
  std::shared_ptr<void> token = watch.Subscribe([&](uint64_t value) {
    told.push_back(value);
    token.reset();
  });
  watch.Advance(1);
  watch.Advance(2);
  EXPECT_THAT(told, ElementsAre(1));
}

TEST(CountWatchTest, ACallbackMayAdvanceAndOrderIsKept) {
  CountWatch watch(0);
  std::vector<uint64_t> first;
  std::vector<uint64_t> second;
  const std::shared_ptr<void> a = watch.Subscribe([&](uint64_t value) {
    first.push_back(value);
    if (value < 3) watch.Advance(value + 1);
  });
  const std::shared_ptr<void> b =
      watch.Subscribe([&](uint64_t value) { second.push_back(value); });
  watch.Advance(1);
  EXPECT_THAT(first, ElementsAre(1, 2, 3));
  EXPECT_THAT(second, ElementsAre(1, 2, 3));
}

TEST(CountWatchTest, ACallbackMaySubscribe) {
  CountWatch watch(0);
  std::vector<uint64_t> told;
  std::shared_ptr<void> inner;
  const std::shared_ptr<void> outer = watch.Subscribe([&](uint64_t) {
    if (inner == nullptr) {
      inner = watch.Subscribe([&](uint64_t value) { told.push_back(value); });
    }
  });
  watch.Advance(1);
  watch.Advance(2);
  EXPECT_THAT(told, ElementsAre(2));
}

// With threads: told values rise strictly, calls do not overlap, and the last
// one told is the last value.
TEST(CountWatchThreadTest, ManyAdvanceAndSubscribersSeeARisingCount) {
  CountWatch watch(0);
  std::atomic<int> inside = 0;
  uint64_t last = 0;
  const std::shared_ptr<void> token = watch.Subscribe([&](uint64_t value) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    EXPECT_GT(value, last);
    last = value;
    inside.fetch_sub(1);
  });
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (uint64_t id = 0; id < 4; ++id) {
      threads.push_back(
          std::make_unique<Thread>("advance", [&watch, id](std::stop_token) {
            for (uint64_t i = 1; i <= 5000; ++i) watch.Advance(4 * i + id);
          }));
    }
    threads.push_back(
        std::make_unique<Thread>("subscribe", [&watch](std::stop_token) {
          for (int i = 0; i < 2000; ++i) {
            const std::shared_ptr<void> brief =
                watch.Subscribe([](uint64_t) {});
          }
        }));
    for (const auto& thread : threads) thread->Join();
  }
  EXPECT_EQ(watch.value(), 20'003u);
  EXPECT_EQ(last, 20'003u);
}

}  // namespace
}  // namespace penstock::core
