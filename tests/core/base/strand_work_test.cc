#include "core/base/strand_work.h"

#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "tests/support/manual_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace penstock::core {
namespace {

class Work : public StrandWork<Work> {
 public:
  explicit Work(
      Executor& executor, std::function<void()> in_step = [] {})
      : StrandWork(executor), in_step_(std::move(in_step)) {}

  void Step() {
    in_step_();
    ++steps;
  }
  void Add(const int& count) { steps += count; }
  void Close() { is_closed_.store(true); }
  bool is_closed() const { return is_closed_.load(); }
  using StrandWork::StopSteps;

  std::atomic<int> steps{0};

 private:
  const std::function<void()> in_step_;
  std::atomic<bool> is_closed_{false};
};

TEST(StrandWorkTest, StepsRunOnTheExecutor) {
  ManualExecutor executor;
  const auto work = std::make_shared<Work>(executor);
  work->Post(&Work::Step);
  work->PostCommand(&Work::Add, 10);
  EXPECT_EQ(work->steps, 0);
  executor.RunUntilIdle();
  EXPECT_EQ(work->steps, 11);
}

TEST(StrandWorkTest, NoStepBeginsOnceItIsClosedOrStopped) {
  ManualExecutor executor;
  const auto closed = std::make_shared<Work>(executor);
  const auto stopped = std::make_shared<Work>(executor);
  closed->Post(&Work::Step);
  stopped->Post(&Work::Step);
  closed->Close();
  stopped->StopSteps();
  stopped->Post(&Work::Step);
  executor.RunUntilIdle();
  EXPECT_EQ(closed->steps, 0);
  EXPECT_EQ(stopped->steps, 0);
}

TEST(StrandWorkTest, AStepThatWaitsKeepsItAliveAndATimerDoesNot) {
  ManualExecutor executor;
  auto posted = std::make_shared<Work>(executor);
  auto timed = std::make_shared<Work>(executor);
  const std::weak_ptr<Work> weak_posted = posted;
  const std::weak_ptr<Work> weak_timed = timed;
  posted->Post(&Work::Step);
  timed->PostAfter(absl::Hours(1), &Work::Step);
  posted.reset();
  timed.reset();
  EXPECT_FALSE(weak_posted.expired());
  EXPECT_TRUE(weak_timed.expired());
  executor.RunUntilIdle();
  EXPECT_TRUE(weak_posted.expired());
}

TEST(StrandWorkTest, StopWaitsForTheStepThatRuns) {
  ThreadPoolExecutor executor("work", 1);
  Notification begun;
  Notification may_end;
  const auto work = std::make_shared<Work>(executor, [&] {
    begun.Notify();
    may_end.WaitForNotification();
  });
  work->Post(&Work::Step);
  begun.WaitForNotification();
  std::atomic<bool> is_stopped{false};
  Thread stopper("stopper", [&](const std::stop_token&) {
    work->StopSteps();
    EXPECT_EQ(work->steps, 1);
    is_stopped.store(true);
  });
  EXPECT_FALSE(is_stopped.load());
  may_end.Notify();
  stopper.Join();
  EXPECT_TRUE(is_stopped.load());
}

}  // namespace
}  // namespace penstock::core
