#include "core/base/timer_queue.h"

#include "core/base/random.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

class TimerQueueTest : public ::testing::Test {
 protected:
  Executor::TimerId Add(int64_t seconds, int mark) {
    return queue_.Add(At(seconds), [this, mark] { ran_.push_back(mark); });
  }
  void RunDue(int64_t now) {
    while (std::optional<Executor::Task> task = queue_.PopDue(At(now))) {
      (*task)();
    }
  }

  TimerQueue queue_;
  std::vector<int> ran_;
};

TEST_F(TimerQueueTest, ComesOutByTimeThenByAge) {
  Add(3, 30);
  Add(1, 10);
  Add(3, 31);
  Add(2, 20);
  RunDue(3);
  EXPECT_THAT(ran_, ElementsAre(10, 20, 30, 31));
}

TEST_F(TimerQueueTest, KeepsWhatIsNotDue) {
  Add(2, 20);
  RunDue(1);
  EXPECT_TRUE(ran_.empty());
  EXPECT_EQ(queue_.NextDeadline(), At(2));
  EXPECT_EQ(queue_.size(), 1u);
}

TEST_F(TimerQueueTest, CancelledTimersNeitherRunNorCount) {
  const Executor::TimerId first = Add(1, 10);
  Add(2, 20);
  EXPECT_TRUE(queue_.Cancel(first).has_value());
  EXPECT_FALSE(queue_.Cancel(first).has_value());
  EXPECT_EQ(queue_.NextDeadline(), At(2));
  RunDue(5);
  EXPECT_THAT(ran_, ElementsAre(20));
}

TEST_F(TimerQueueTest, CancelOfARunTimerFindsNothing) {
  const Executor::TimerId id = Add(1, 10);
  RunDue(1);
  EXPECT_FALSE(queue_.Cancel(id).has_value());
  EXPECT_FALSE(queue_.Cancel(Executor::TimerId::kNone).has_value());
}

TEST_F(TimerQueueTest, EmptyHasNoDeadline) {
  EXPECT_EQ(queue_.NextDeadline(), absl::InfiniteFuture());
  Add(1, 1);
  EXPECT_EQ(queue_.Clear().size(), 1u);
  EXPECT_EQ(queue_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(TimerQueueTest, InfiniteTimersNeverComeOut) {
  queue_.Add(absl::InfiniteFuture(), [this] { ran_.push_back(1); });
  EXPECT_FALSE(queue_.PopDue(At(1'000'000'000'000)).has_value());
}

TEST_F(TimerQueueTest, AgreesWithASortedMapUnderRandomUse) {
  Random random = TestRandom();
  std::map<std::pair<int64_t, uint64_t>, int> model;
  std::vector<std::pair<Executor::TimerId, int64_t>> timers;
  std::vector<int> expected;
  for (int i = 0; i < 20000; ++i) {
    const int64_t time = static_cast<int64_t>(random.Uniform(1000));
    if (random.Bernoulli(0.5)) {
      const Executor::TimerId id = Add(time, i);
      model[{time, static_cast<uint64_t>(id)}] = i;
      timers.emplace_back(id, time);
    } else if (!timers.empty()) {
      const auto& [id, at] = timers[random.Uniform(timers.size())];
      EXPECT_EQ(queue_.Cancel(id).has_value(),
                model.erase({at, static_cast<uint64_t>(id)}) == 1);
    }
    ASSERT_EQ(queue_.size(), model.size());
  }
  for (const auto& [key, mark] : model) expected.push_back(mark);
  RunDue(1000);
  EXPECT_EQ(ran_, expected);
}

}  // namespace
}  // namespace penstock::core
