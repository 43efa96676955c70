#include "core/base/strand.h"

#include "core/base/notification.h"
#include "core/base/thread.h"
#include "core/base/thread_pool_executor.h"
#include "tests/support/manual_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(30);

class StrandTest : public ::testing::Test {
 protected:
  Strand::Task Mark(int value) {
    return [this, value] { order_.push_back(value); };
  }

  ManualExecutor executor_;
  Strand strand_{executor_};
  std::vector<int> order_;
};

TEST_F(StrandTest, PostNeverRunsInline) {
  strand_.Post(Mark(1));
  EXPECT_THAT(order_, IsEmpty());
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(StrandTest, PostKeepsOrder) {
  for (int i = 0; i < 5; ++i) strand_.Post(Mark(i));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(StrandTest, HasAtMostOneTaskInTheExecutor) {
  for (int i = 0; i < 500; ++i) strand_.Post(Mark(i));
  EXPECT_EQ(executor_.ready_count(), 1u);
  executor_.RunOne();
  EXPECT_EQ(executor_.ready_count(), 1u);
}

TEST_F(StrandTest, LongQueueLetsOthersHaveATurn) {
  for (int i = 0; i < 500; ++i) strand_.Post(Mark(i));
  size_t ran_before = 0;
  executor_.Schedule([&] { ran_before = order_.size(); });
  executor_.RunUntilIdle();
  EXPECT_GT(ran_before, 0u);
  EXPECT_LT(ran_before, 500u);
  ASSERT_EQ(order_.size(), 500u);
  EXPECT_TRUE(std::is_sorted(order_.begin(), order_.end()));
}

TEST_F(StrandTest, TaskPostedByATaskRunsAfterThoseBefore) {
  strand_.Post([this] {
    order_.push_back(1);
    strand_.Post(Mark(3));
  });
  strand_.Post(Mark(2));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1, 2, 3));
}

TEST_F(StrandTest, DispatchRunsInlineWhenIdle) {
  strand_.Dispatch(Mark(1));
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(executor_.ready_count(), 0u);
}

TEST_F(StrandTest, DispatchWaitsItsTurnWhenTasksArePosted) {
  strand_.Post(Mark(1));
  strand_.Dispatch(Mark(2));
  EXPECT_THAT(order_, IsEmpty());
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(StrandTest, DispatchFromItsOwnTaskPosts) {
  strand_.Dispatch([this] {
    strand_.Dispatch(Mark(2));
    order_.push_back(1);
  });
  EXPECT_THAT(order_, ElementsAre(1));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(StrandTest, TasksPostedDuringDispatchRunOnTheExecutor) {
  strand_.Dispatch([this] { strand_.Post(Mark(1)); });
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_EQ(executor_.ready_count(), 1u);
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(StrandTest, IsIdleAgainAfterItsTasksRan) {
  strand_.Post(Mark(1));
  executor_.RunUntilIdle();
  strand_.Dispatch(Mark(2));
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(StrandTest, RunsHereOnlyInsideItsTasks) {
  Strand other(executor_);
  EXPECT_FALSE(strand_.RunsHere());
  bool in_own = false;
  bool in_nested = false;
  bool other_in_own = true;
  strand_.Dispatch([&] {
    in_own = strand_.RunsHere();
    other_in_own = other.RunsHere();
    other.Dispatch([&] { in_nested = strand_.RunsHere() && other.RunsHere(); });
  });
  EXPECT_TRUE(in_own);
  EXPECT_TRUE(in_nested);
  EXPECT_FALSE(other_in_own);
  EXPECT_FALSE(strand_.RunsHere());
  EXPECT_FALSE(other.RunsHere());
}

TEST_F(StrandTest, PostAfterRunsWhenTheTimeHasCome) {
  strand_.PostAfter(absl::Seconds(2), Mark(2));
  strand_.PostAfter(absl::Seconds(1), Mark(1));
  executor_.Advance(absl::Milliseconds(999));
  EXPECT_THAT(order_, IsEmpty());
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(StrandTest, CancelledTimerNeverRuns) {
  const Strand::TimerId id = strand_.PostAfter(absl::Seconds(1), Mark(1));
  EXPECT_TRUE(strand_.Cancel(id));
  EXPECT_FALSE(strand_.Cancel(id));
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(order_, IsEmpty());
}

TEST_F(StrandTest, CloseDropsWhatHasNotBegunAndWhatComes) {
  auto held = std::make_shared<int>(0);
  strand_.Post([held] { ADD_FAILURE(); });
  strand_.PostAfter(absl::Seconds(1), [held] { ADD_FAILURE(); });
  strand_.Close();
  EXPECT_EQ(held.use_count(), 2) << "only the timer holds on";
  strand_.Post([held] { ADD_FAILURE(); });
  strand_.Dispatch([held] { ADD_FAILURE(); });
  executor_.Advance(absl::Seconds(2));
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(StrandTest, CloseByATaskDropsThoseBehindIt) {
  strand_.Post([this] {
    order_.push_back(1);
    strand_.Close();
  });
  strand_.Post(Mark(2));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(StrandTest, MayBeDestroyedByItsOwnTask) {
  auto own = std::make_unique<Strand>(executor_);
  own->Post([&] {
    own.reset();
    order_.push_back(1);
  });
  own->Post(Mark(2));
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(StrandTest, MayBeDestroyedByATaskItRunsInline) {
  auto own = std::make_unique<Strand>(executor_);
  own->Dispatch([&] {
    own->Post(Mark(2));
    own.reset();
    order_.push_back(1);
  });
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(StrandTest, MayBeDestroyedWithARunScheduled) {
  auto own = std::make_unique<Strand>(executor_);
  own->Post(Mark(1));
  own.reset();
  executor_.RunUntilIdle();
  EXPECT_THAT(order_, IsEmpty());
}

TEST_F(StrandTest, DroppedTaskMayPost) {
  struct PostOnDestroy {
    Strand* strand;
    explicit PostOnDestroy(Strand* s) : strand(s) {}
    PostOnDestroy(PostOnDestroy&& other) noexcept
        : strand(std::exchange(other.strand, nullptr)) {}
    ~PostOnDestroy() {
      if (strand != nullptr) strand->Post([] { ADD_FAILURE(); });
    }
    void operator()() {}
  };
  strand_.Post(PostOnDestroy(&strand_));
  strand_.Close();
  executor_.RunUntilIdle();
}

// What the tasks of a strand do to plain variables while threads compete.
struct Shared {
  int inside = 0;
  int ran = 0;
  std::vector<int> last = std::vector<int>(4, -1);
};

TEST(StrandThreadsTest, OneTaskAtATimeInEachThreadsOrder) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 5000;
  Shared shared;
  Notification all;
  ThreadPoolExecutor pool("strand", 3);
  Strand strand(pool);
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.push_back(
          std::make_unique<Thread>("post", [&, t](const std::stop_token&) {
            for (int i = 0; i < kTasks; ++i) {
              auto task = [&, t, i] {
                EXPECT_EQ(++shared.inside, 1);
                EXPECT_TRUE(strand.RunsHere());
                EXPECT_EQ(shared.last[static_cast<size_t>(t)], i - 1);
                shared.last[static_cast<size_t>(t)] = i;
                --shared.inside;
                if (++shared.ran == kThreads * kTasks) all.Notify();
              };
              if (i % 3 == 0) {
                strand.Dispatch(std::move(task));
              } else {
                strand.Post(std::move(task));
              }
            }
          }));
    }
  }
  EXPECT_TRUE(all.WaitForNotificationWithTimeout(kLong));
}

TEST(StrandThreadsTest, CloseRacesWithPostsAndEveryTaskIsDestroyed) {
  for (int round = 0; round < 100; ++round) {
    auto held = std::make_shared<std::atomic<int>>(0);
    {
      ThreadPoolExecutor pool("strand", 2);
      Strand strand(pool);
      Thread poster("post", [&](const std::stop_token&) {
        for (int i = 0; i < 100; ++i) strand.Post([held] { ++*held; });
      });
      strand.Close();
      poster.Join();
    }
    ASSERT_EQ(held.use_count(), 1);
    ASSERT_LE(*held, 100);
  }
}

}  // namespace
}  // namespace penstock::core
