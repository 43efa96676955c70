#include "tests/support/manual_executor.h"

#include "core/base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ManualExecutorTest : public ::testing::Test {
 protected:
  Executor::Task Mark(int value) {
    return [this, value] { order_.push_back(value); };
  }

  ManualExecutor executor_;
  std::vector<int> order_;
};

TEST_F(ManualExecutorTest, RunsNothingByItself) {
  executor_.Schedule(Mark(1));
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_EQ(executor_.ready_count(), 1u);
}

TEST_F(ManualExecutorTest, RunOneRunsTheOldest) {
  executor_.Schedule(Mark(1));
  executor_.Schedule(Mark(2));
  EXPECT_TRUE(executor_.RunOne());
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_TRUE(executor_.RunOne());
  EXPECT_FALSE(executor_.RunOne());
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(ManualExecutorTest, RunUntilIdleRunsWhatTasksSchedule) {
  executor_.Schedule([this] { executor_.Schedule(Mark(2)); });
  EXPECT_EQ(executor_.RunUntilIdle(), 2u);
  EXPECT_THAT(order_, ElementsAre(2));
}

TEST_F(ManualExecutorTest, TimeStandsStillUntilAdvanced) {
  executor_.ScheduleAfter(absl::Nanoseconds(1), Mark(1));
  EXPECT_EQ(executor_.RunUntilIdle(), 0u);
  EXPECT_EQ(executor_.timer_count(), 1u);
  EXPECT_EQ(executor_.Advance(absl::Nanoseconds(1)), 1u);
  EXPECT_EQ(executor_.timer_count(), 0u);
}

TEST_F(ManualExecutorTest, TimerThatIsDueIsReady) {
  executor_.ScheduleAfter(absl::ZeroDuration(), Mark(1));
  executor_.ScheduleAfter(-absl::Seconds(1), Mark(0));
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_EQ(executor_.ready_count(), 2u);
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(0, 1));
}

TEST_F(ManualExecutorTest, AdvanceStopsAtEachTimerInOrder) {
  std::vector<absl::Duration> times;
  const absl::Time start = executor_.clock().SteadyNow();
  const auto note = [&] {
    times.push_back(executor_.clock().SteadyNow() - start);
  };
  executor_.ScheduleAfter(absl::Seconds(3), note);
  executor_.ScheduleAfter(absl::Seconds(1), [&] {
    note();
    executor_.ScheduleAfter(absl::Seconds(1), note);
  });
  executor_.Advance(absl::Seconds(10));
  EXPECT_THAT(
      times, ElementsAre(absl::Seconds(1), absl::Seconds(2), absl::Seconds(3)));
  EXPECT_EQ(executor_.clock().SteadyNow() - start, absl::Seconds(10));
}

TEST_F(ManualExecutorTest, AdvanceToNextTimerMakesItReady) {
  executor_.ScheduleAfter(absl::Hours(1), Mark(1));
  const absl::Time next = executor_.NextTimer();
  EXPECT_TRUE(executor_.AdvanceToNextTimer());
  EXPECT_EQ(executor_.clock().SteadyNow(), next);
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_TRUE(executor_.RunOne());
  EXPECT_FALSE(executor_.AdvanceToNextTimer());
  EXPECT_EQ(executor_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(ManualExecutorTest, CancelSaysWhetherTheTimerWasStillWaiting) {
  const auto waiting = executor_.ScheduleAfter(absl::Seconds(1), Mark(1));
  const auto ran = executor_.ScheduleAfter(absl::ZeroDuration(), Mark(2));
  executor_.RunUntilIdle();
  EXPECT_TRUE(executor_.Cancel(waiting));
  EXPECT_FALSE(executor_.Cancel(waiting));
  EXPECT_FALSE(executor_.Cancel(ran));
  EXPECT_FALSE(executor_.Cancel(Executor::TimerId::kNone));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(order_, ElementsAre(2));
}

TEST_F(ManualExecutorTest, PickChoosesAmongReadyTasks) {
  executor_.SetPick([](size_t ready) { return ready - 1; });
  for (int i = 0; i < 3; ++i) executor_.Schedule(Mark(i));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(2, 1, 0));
  executor_.SetPick(nullptr);
  for (int i = 0; i < 3; ++i) executor_.Schedule(Mark(i));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(2, 1, 0, 0, 1, 2));
}

TEST_F(ManualExecutorTest, DropAllDestroysWithoutRunning) {
  auto held = std::make_shared<int>(0);
  executor_.Schedule([held] { ADD_FAILURE(); });
  executor_.ScheduleAfter(absl::Seconds(1), [held] { ADD_FAILURE(); });
  executor_.DropAll();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(executor_.Advance(absl::Seconds(2)), 0u);
}

TEST_F(ManualExecutorTest, ExecutorsMayShareAClock) {
  ManualExecutor other(executor_.fake_clock());
  other.ScheduleAfter(absl::Seconds(1), Mark(1));
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(other.RunUntilIdle(), 1u);
}

TEST_F(ManualExecutorTest, OtherThreadsMaySchedule) {
  {
    Thread a("a", [&](const std::stop_token&) {
      for (int i = 0; i < 1000; ++i) executor_.Schedule([] {});
    });
    Thread b("b", [&](const std::stop_token&) {
      for (int i = 0; i < 1000; ++i) {
        executor_.Cancel(executor_.ScheduleAfter(absl::Seconds(1), [] {}));
      }
    });
  }
  EXPECT_EQ(executor_.RunUntilIdle(), 1000u);
}

}  // namespace
}  // namespace penstock::core
