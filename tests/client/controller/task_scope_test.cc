#include "client/controller/task_scope.h"

#include "tests/support/manual_executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::client {
namespace {

struct Owner {
  explicit Owner(core::Executor& executor) : tasks(executor) {}
  TaskScope tasks;
  std::vector<int> ran;
};

class TaskScopeTest : public ::testing::Test {
 protected:
  TaskScopeTest() : owner_(std::make_shared<Owner>(executor_)) {
    owner_->tasks.SetOwner(owner_);
  }
  core::ManualExecutor executor_;
  std::shared_ptr<Owner> owner_;
};

TEST_F(TaskScopeTest, RunsWrappedCallbacksOnTheStrandWithTheirArguments) {
  std::string got;
  auto callback = owner_->tasks.Wrap([&](std::string text, int number) {
    got = text + std::to_string(number);
  });
  callback("seven", 7);
  EXPECT_EQ(got, "");
  executor_.RunUntilIdle();
  EXPECT_EQ(got, "seven7");
}

TEST_F(TaskScopeTest, NothingRunsOnceTheOwnerIsGone) {
  int ran = 0;
  auto callback = owner_->tasks.Wrap([&ran] { ++ran; });
  owner_->tasks.Post([&ran] { ++ran; });
  owner_->tasks.PostAfter(absl::Seconds(1), [&ran] { ++ran; });
  owner_ = nullptr;
  callback();
  executor_.Advance(absl::Seconds(2));
  EXPECT_EQ(ran, 0);
}

TEST_F(TaskScopeTest, CloseInATaskLetsItEndAndDropsTheRest) {
  int ran = 0;
  owner_->tasks.Post([&] {
    owner_->tasks.Close();
    ++ran;
  });
  owner_->tasks.Post([&] { ++ran; });
  executor_.RunUntilIdle();
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(owner_->tasks.closed());
}

TEST_F(TaskScopeTest, ATimerSetAgainReplacesTheFirst) {
  ScopedTimer timer(owner_->tasks);
  std::vector<int> ran;
  timer.Set(absl::Seconds(1), [&] { ran.push_back(1); });
  timer.Set(absl::Seconds(2), [&] { ran.push_back(2); });
  EXPECT_TRUE(timer.is_set());
  executor_.Advance(absl::Seconds(3));
  EXPECT_EQ(ran, (std::vector<int>{2}));
  EXPECT_FALSE(timer.is_set());
}

TEST_F(TaskScopeTest, ATimerThatFiredButDidNotRunYetCanBeCancelled) {
  ScopedTimer timer(owner_->tasks);
  int ran = 0;
  timer.Set(absl::ZeroDuration(), [&] { ++ran; });
  // The executor's timer posts to the strand; the strand's task comes later.
  executor_.RunOne();
  timer.Cancel();
  executor_.RunUntilIdle();
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace penstock::client
