#include "core/base/task_queue.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

TEST(TaskQueueTest, IsFirstInFirstOutUnderRandomUse) {
  Random random = TestRandom();
  TaskQueue queue;
  std::deque<int> model;
  int ran = -1;
  for (int i = 0; i < 50000; ++i) {
    // Long runs of either, so that the ring grows, wraps and shrinks.
    const bool push =
        (i / 3000) % 2 == 0 ? random.Bernoulli(0.8) : random.Bernoulli(0.2);
    if (push) {
      queue.Push([&ran, i] { ran = i; });
      model.push_back(i);
    } else if (!model.empty()) {
      queue.Pop()();
      ASSERT_EQ(ran, model.front());
      model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
  }
}

TEST(TaskQueueTest, PopLetsGoOfTheTask) {
  TaskQueue queue;
  auto held = std::make_shared<int>(1);
  queue.Push([held] {});
  { const Executor::Task task = queue.Pop(); }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TaskQueueTest, SwapExchangesContents) {
  TaskQueue a;
  TaskQueue b;
  int ran = 0;
  a.Push([&ran] { ran = 1; });
  a.Swap(b);
  EXPECT_TRUE(a.empty());
  ASSERT_EQ(b.size(), 1u);
  b.Pop()();
  EXPECT_EQ(ran, 1);
}

TEST(TaskQueueTest, DestroysWhatIsLeft) {
  auto held = std::make_shared<int>(1);
  {
    TaskQueue queue;
    for (int i = 0; i < 20; ++i) queue.Push([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace penstock::core
