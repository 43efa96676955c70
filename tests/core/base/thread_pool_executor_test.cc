#include "core/base/thread_pool_executor.h"

#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/base/thread.h"

#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Longer than any test takes, so that a failure shows as one.
constexpr absl::Duration kLong = absl::Seconds(30);

// For a failure that a wait inside of a task shows.
constexpr absl::Duration kShort = absl::Seconds(5);

// Counts tasks down and says when all have run.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void Done() {
    if (left_.fetch_sub(1) == 1) all_.Notify();
  }
  bool Wait() { return all_.WaitForNotificationWithTimeout(kLong); }

 private:
  std::atomic<int> left_;
  Notification all_;
};

// Waits for a timer of the pool, by when threads without a task are asleep. If
// one is not, the test that asked proves less; it does not fail.
void LetThreadsGoToSleep(Executor& executor) {
  Notification later;
  executor.ScheduleAfter(absl::Milliseconds(10), [&] { later.Notify(); });
  later.WaitForNotification();
}

// Schedules another task when it is destroyed without having run.
class ScheduleOnDestroy {
 public:
  ScheduleOnDestroy(Executor& executor, std::atomic<int>& destroyed)
      : executor_(&executor), destroyed_(&destroyed) {}
  ScheduleOnDestroy(ScheduleOnDestroy&& other) noexcept
      : executor_(std::exchange(other.executor_, nullptr)),
        destroyed_(other.destroyed_) {}
  ~ScheduleOnDestroy() {
    if (executor_ == nullptr) return;
    executor_->Schedule([] { ADD_FAILURE() << "ran after the end"; });
    executor_->ScheduleAfter(absl::ZeroDuration(),
                             [] { ADD_FAILURE() << "ran after the end"; });
    ++*destroyed_;
  }
  void operator()() { executor_ = nullptr; }

 private:
  Executor* executor_;
  std::atomic<int>* destroyed_;
};

class ThreadPoolExecutorTest : public ::testing::TestWithParam<int> {
 protected:
  ThreadPoolExecutor pool_{"test", GetParam()};
};

TEST_P(ThreadPoolExecutorTest, RunsEveryTaskOnce) {
  constexpr int kTasks = 10000;
  std::vector<std::atomic<int>> runs(kTasks);
  Countdown countdown(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    pool_.Schedule([&, i] {
      ++runs[static_cast<size_t>(i)];
      countdown.Done();
    });
  }
  ASSERT_TRUE(countdown.Wait());
  for (const auto& count : runs) ASSERT_EQ(count, 1);
}

TEST_P(ThreadPoolExecutorTest, NeverRunsInsideSchedule) {
  Notification ran;
  std::thread::id here;
  pool_.Schedule([&] {
    here = std::this_thread::get_id();
    ran.Notify();
  });
  ASSERT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  EXPECT_NE(here, std::this_thread::get_id());
}

TEST_P(ThreadPoolExecutorTest, TasksMaySchedule) {
  Countdown countdown(1000);
  std::atomic<int> left{1000};
  std::function<void()> again = [&] {
    const bool more = left.fetch_sub(1) > 1;
    if (more) pool_.Schedule(again);
    countdown.Done();
  };
  pool_.Schedule(again);
  EXPECT_TRUE(countdown.Wait());
}

TEST_P(ThreadPoolExecutorTest, AChainOfTailsRunsToItsEnd) {
  constexpr int kLinks = 1000;
  Countdown countdown(kLinks);
  std::function<void(int)> link = [&](int left) {
    if (left > 1) pool_.ScheduleTail([&link, left] { link(left - 1); });
    countdown.Done();
  };
  // From outside, where it is Schedule.
  pool_.ScheduleTail([&link] { link(kLinks); });
  EXPECT_TRUE(countdown.Wait());
}

TEST_P(ThreadPoolExecutorTest, TimerRunsNoEarlierThanItsDelay) {
  const absl::Time start = pool_.clock().SteadyNow();
  absl::Time ran_at;
  Notification ran;
  pool_.ScheduleAfter(absl::Milliseconds(30), [&] {
    ran_at = pool_.clock().SteadyNow();
    ran.Notify();
  });
  ASSERT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  EXPECT_GE(ran_at - start, absl::Milliseconds(30));
}

TEST_P(ThreadPoolExecutorTest, EarlierTimerOvertakesTheOneSleptFor) {
  const auto later = pool_.ScheduleAfter(absl::Hours(1), [] {});
  LetThreadsGoToSleep(pool_);
  Notification ran;
  pool_.ScheduleAfter(absl::Milliseconds(5), [&] { ran.Notify(); });
  EXPECT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  EXPECT_TRUE(pool_.Cancel(later));
}

TEST_P(ThreadPoolExecutorTest, TasksRunWhileTimersWait) {
  const auto later = pool_.ScheduleAfter(absl::Hours(1), [] {});
  for (int i = 0; i < 100; ++i) {
    Notification ran;
    pool_.Schedule([&] { ran.Notify(); });
    ASSERT_TRUE(ran.WaitForNotificationWithTimeout(kLong)) << i;
  }
  EXPECT_TRUE(pool_.Cancel(later));
}

TEST_P(ThreadPoolExecutorTest, TimersRunWhileOtherThreadsAreBusy) {
  // All threads but one are held; the timer must still be watched.
  const int held_count = GetParam() - 1;
  Notification release;
  Notification ran;
  Countdown held(held_count + 1);
  // Ends before what its tasks wait on.
  ThreadPoolExecutor pool("busy", GetParam());
  for (int i = 0; i < held_count; ++i) {
    pool.Schedule([&] {
      held.Done();
      release.WaitForNotification();
    });
  }
  held.Done();
  EXPECT_TRUE(held.Wait());
  pool.ScheduleAfter(absl::Milliseconds(5), [&] { ran.Notify(); });
  EXPECT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  release.Notify();
}

TEST_P(ThreadPoolExecutorTest, CancelledTimerIsDestroyedAndNeverRuns) {
  auto held = std::make_shared<int>(0);
  const Executor::TimerId id = pool_.ScheduleAfter(
      absl::Milliseconds(20), [held] { ADD_FAILURE() << "ran"; });
  EXPECT_NE(id, Executor::TimerId::kNone);
  EXPECT_TRUE(pool_.Cancel(id));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(pool_.Cancel(id));
  Notification later;
  pool_.ScheduleAfter(absl::Milliseconds(40), [&] { later.Notify(); });
  EXPECT_TRUE(later.WaitForNotificationWithTimeout(kLong));
}

TEST_P(ThreadPoolExecutorTest, CancelAfterTheRunSaysFalse) {
  Notification ran;
  const Executor::TimerId id =
      pool_.ScheduleAfter(absl::ZeroDuration(), [&] { ran.Notify(); });
  ASSERT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  EXPECT_FALSE(pool_.Cancel(id));
  EXPECT_FALSE(pool_.Cancel(Executor::TimerId::kNone));
}

TEST_P(ThreadPoolExecutorTest, ManyTimersAllRunExactlyOnceOrAreCancelled) {
  constexpr int kTimers = 2000;
  std::atomic<int> ran{0};
  int cancelled = 0;
  std::vector<Executor::TimerId> ids;
  for (int i = 0; i < kTimers; ++i) {
    ids.push_back(
        pool_.ScheduleAfter(absl::Microseconds(i * 7 % 20000), [&] { ++ran; }));
  }
  for (int i = 0; i < kTimers; i += 3) {
    if (pool_.Cancel(ids[static_cast<size_t>(i)])) ++cancelled;
  }
  Notification last;
  pool_.ScheduleAfter(absl::Milliseconds(40), [&] { last.Notify(); });
  ASSERT_TRUE(last.WaitForNotificationWithTimeout(kLong));
  // The last timer was taken after all others; those may still be running.
  const absl::Time deadline = pool_.clock().SteadyNow() + kLong;
  while (ran + cancelled < kTimers && pool_.clock().SteadyNow() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(ran + cancelled, kTimers);
}

// Two idle threads: what the first leaves behind, the second must find.
class ThreadPoolExecutorHandOverTest : public ::testing::Test {
 protected:
  ThreadPoolExecutorHandOverTest() {
    // Both threads meet in a task, so both exist; then both go to sleep.
    for (int i = 0; i < 2; ++i) {
      pool_.Schedule([this] {
        if (met_.fetch_add(1) == 1) both_.Notify();
        both_.WaitForNotification();
      });
    }
    both_.WaitForNotification();
    LetThreadsGoToSleep(pool_);
  }

  std::atomic<int> met_{0};
  Notification both_;
  Notification second_ran_;
  ThreadPoolExecutor pool_{"hand-over", 2};
};

TEST_F(ThreadPoolExecutorHandOverTest, TailsThatWaitForEachOtherBothRun) {
  Notification first_ended;
  pool_.Schedule([&] {
    pool_.ScheduleTail([&] {
      EXPECT_TRUE(second_ran_.WaitForNotificationWithTimeout(kShort));
      first_ended.Notify();
    });
    pool_.ScheduleTail([&] { second_ran_.Notify(); });
  });
  first_ended.WaitForNotification();
}

TEST_F(ThreadPoolExecutorHandOverTest, LaterTimerRunsWhileTheFirstIsBusy) {
  Notification first_ended;
  pool_.ScheduleAfter(absl::Milliseconds(10), [&] {
    EXPECT_TRUE(second_ran_.WaitForNotificationWithTimeout(kShort));
    first_ended.Notify();
  });
  pool_.ScheduleAfter(absl::Milliseconds(40), [&] { second_ran_.Notify(); });
  first_ended.WaitForNotification();
}

TEST_F(ThreadPoolExecutorHandOverTest, TimersDueTogetherRunTogether) {
  Notification first_ended;
  pool_.ScheduleAfter(absl::Milliseconds(10), [&] {
    EXPECT_TRUE(second_ran_.WaitForNotificationWithTimeout(kShort));
    first_ended.Notify();
  });
  pool_.ScheduleAfter(absl::Milliseconds(10), [&] { second_ran_.Notify(); });
  first_ended.WaitForNotification();
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolExecutorTest,
                         ::testing::Values(1, 2, 4),
                         ::testing::PrintToStringParamName());

TEST(ThreadPoolExecutorEndTest, RunningTaskEndsAndWaitingOnesAreDestroyed) {
  auto held = std::make_shared<int>(0);
  Notification started;
  Notification release;
  std::atomic<bool> ended{false};
  auto pool = std::make_unique<ThreadPoolExecutor>("end", 1);
  pool->ScheduleAfter(absl::Hours(1), [held] { ADD_FAILURE(); });
  pool->Schedule([&] {
    started.Notify();
    release.WaitForNotification();
    ended = true;
  });
  started.WaitForNotification();
  Thread ender("ender", [&](const std::stop_token&) {
    pool.reset();
    EXPECT_TRUE(ended);
  });
  release.Notify();
  ender.Join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadPoolExecutorEndTest, NothingStartsOnceTheDestructorHasBegun) {
  // The first task destroys the waiting ones' chance: it ends only when the
  // pool no longer accepts tasks, which it learns from one being dropped.
  std::atomic<int> ran{0};
  {
    ThreadPoolExecutor pool("end", 1);
    Notification started;
    pool.Schedule([&] {
      started.Notify();
      while (true) {
        auto probe = std::make_shared<int>(0);
        const std::weak_ptr<int> dropped = probe;
        pool.Schedule([probe = std::move(probe)] {});
        if (dropped.expired()) return;
      }
    });
    pool.Schedule([&] { ++ran; });
    started.WaitForNotification();
  }
  EXPECT_EQ(ran, 0);
}

TEST(ThreadPoolExecutorEndTest, TasksMayScheduleWhileTheyAreDestroyed) {
  std::atomic<int> destroyed{0};
  {
    ThreadPoolExecutor pool("end", 2);
    pool.ScheduleAfter(absl::Hours(1), ScheduleOnDestroy(pool, destroyed));
    pool.ScheduleAfter(absl::Hours(2), ScheduleOnDestroy(pool, destroyed));
  }
  EXPECT_EQ(destroyed, 2);
}

TEST(ThreadPoolExecutorEndTest, IdlePoolsEndAtOnce) {
  for (int i = 0; i < 100; ++i) ThreadPoolExecutor pool("idle", 2);
}

}  // namespace
}  // namespace penstock::core
