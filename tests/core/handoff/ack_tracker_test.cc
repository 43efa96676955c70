#include "core/handoff/ack_tracker.h"

#include "core/base/random.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AckTrackerTest : public ::testing::Test {
 protected:
  // A step that is flushed: only `ref` holds it back.
  AckRef Made(Step step) {
    StepHandle handle = AckTracker::Register(tracker_, step);
    AckRef ref = handle.Share();
    std::move(handle).Resolve();
    return ref;
  }
  static void Deliver(AckRef& ref) { ref = AckRef(); }
  static void Fail(AckRef& ref) {
    ref.Fail();
    ref = AckRef();
  }

  FakeClock clock_;
  std::vector<Step> advances_;
  std::shared_ptr<AckTracker> tracker_ = std::make_shared<AckTracker>(
      10, clock_, [this](Step completed) { advances_.push_back(completed); });
};

TEST_F(AckTrackerTest, StartsAtTheBase) {
  EXPECT_EQ(tracker_->completed(), 10u);
  EXPECT_EQ(tracker_->outstanding(), 0u);
}

TEST_F(AckTrackerTest, StepsInOrderAdvanceOneByOne) {
  AckRef a = Made(10);
  AckRef b = Made(11);
  Deliver(a);
  EXPECT_EQ(tracker_->completed(), 11u);
  Deliver(b);
  EXPECT_EQ(tracker_->completed(), 12u);
  EXPECT_THAT(advances_, ElementsAre(11, 12));
}

TEST_F(AckTrackerTest, LatenciesAreThoseOfDeliveredSteps) {
  const absl::Time staged = clock_.SteadyNow();
  clock_.Advance(absl::Seconds(3));
  StepHandle handle = AckTracker::Register(tracker_, 10, staged);
  AckRef ref = handle.Share();
  clock_.Advance(absl::Seconds(4));
  std::move(handle).Resolve();
  AckRef failed = Made(11);
  clock_.Advance(absl::Seconds(5));
  Deliver(ref);
  Fail(failed);
  AckTracker::Latencies latencies = tracker_->latencies();
  EXPECT_EQ(latencies.ack_seconds.sum(), 5);
  EXPECT_EQ(latencies.end_to_end_seconds.sum(), 12);
  // Of a step whose records nobody saw come there is only the first.
  AckRef replayed = Made(12);
  clock_.Advance(absl::Seconds(1));
  Deliver(replayed);
  latencies = tracker_->latencies();
  EXPECT_EQ(latencies.ack_seconds.sum(), 6);
  EXPECT_EQ(latencies.end_to_end_seconds.sum(), 12);
}

TEST_F(AckTrackerTest, OutOfOrderWaitsForTheHead) {
  AckRef a = Made(10);
  AckRef b = Made(11);
  Deliver(b);
  EXPECT_EQ(tracker_->completed(), 10u);
  EXPECT_THAT(advances_, IsEmpty());
  Deliver(a);
  EXPECT_EQ(tracker_->completed(), 12u);
  EXPECT_THAT(advances_, ElementsAre(12));
}

TEST_F(AckTrackerTest, AnEmptyStepCompletesWhenItIsMade) {
  StepHandle handle = AckTracker::Register(tracker_, 10);
  EXPECT_EQ(tracker_->completed(), 10u);
  std::move(handle).Resolve();
  EXPECT_EQ(tracker_->completed(), 11u);
}

TEST_F(AckTrackerTest, AGapInNumbersIsLegal) {
  AckRef a = Made(10);
  AckRef b = Made(500);
  Deliver(a);
  EXPECT_EQ(tracker_->completed(), 500u) << "the first unfinished step";
  Deliver(b);
  EXPECT_EQ(tracker_->completed(), 501u);
}

TEST_F(AckTrackerTest, AStepBeingFlushedIsNoStepYet) {
  AckRef a = Made(10);
  Deliver(a);
  StepHandle running = AckTracker::Register(tracker_, 500);
  EXPECT_EQ(tracker_->completed(), 11u) << "last step + 1";
  EXPECT_EQ(tracker_->outstanding(), 1u);
  AckRef b = running.Share();
  std::move(running).Resolve();
  EXPECT_EQ(tracker_->completed(), 500u);
  EXPECT_THAT(advances_, ElementsAre(11, 500));
}

TEST_F(AckTrackerTest, AFailureAtTheHeadStallsForEver) {
  AckRef a = Made(10);
  AckRef b = Made(11);
  Fail(a);
  Deliver(b);
  EXPECT_EQ(tracker_->completed(), 10u);
  EXPECT_THAT(advances_, IsEmpty());
  EXPECT_EQ(tracker_->outstanding(), 2u);
}

TEST_F(AckTrackerTest, StepsBeforeAFailureComplete) {
  AckRef a = Made(10);
  AckRef b = Made(11);
  Fail(b);
  EXPECT_EQ(tracker_->completed(), 10u);
  Deliver(a);
  EXPECT_EQ(tracker_->completed(), 11u);
}

TEST_F(AckTrackerTest, AFailureBehindAPendingStepIsNoStallYet) {
  AckRef a = Made(10);
  AckRef b = Made(11);
  Fail(b);
  EXPECT_FALSE(tracker_->stall().has_value());
  Deliver(a);
  ASSERT_TRUE(tracker_->stall().has_value());
  EXPECT_EQ(tracker_->stall()->step, 11u);
}

TEST_F(AckTrackerTest, AStallSaysSinceWhen) {
  AckRef a = Made(10);
  clock_.Advance(absl::Seconds(3));
  const absl::Time failed = clock_.SteadyNow();
  Fail(a);
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(tracker_->stall()->since, failed);
}

TEST_F(AckTrackerTest, TheOldestStepSaysSinceWhen) {
  EXPECT_FALSE(tracker_->oldest().has_value());
  clock_.Advance(absl::Seconds(1));
  const absl::Time registered = clock_.SteadyNow();
  AckRef a = Made(10);
  clock_.Advance(absl::Seconds(1));
  AckRef b = Made(11);
  EXPECT_EQ(tracker_->oldest()->step, 10u);
  EXPECT_EQ(tracker_->oldest()->since, registered);
  Deliver(a);
  EXPECT_EQ(tracker_->oldest()->step, 11u);
}

TEST_F(AckTrackerTest, AnAbandonedStepStalls) {
  { const StepHandle dropped = AckTracker::Register(tracker_, 10); }
  EXPECT_EQ(tracker_->completed(), 10u);
  ASSERT_TRUE(tracker_->stall().has_value());
  EXPECT_EQ(tracker_->stall()->step, 10u);
}

TEST_F(AckTrackerTest, AnAckAfterTheOwnerIsGoneIsHarmless) {
  AckRef a = Made(10);
  tracker_.reset();
  Deliver(a);
  EXPECT_THAT(advances_, ElementsAre(11));
}

// A step of an instance that is gone ends while a new one has begun a step of
// the same number.
TEST_F(AckTrackerTest, AcksOfAnOldInstanceDoNotReachANewOne) {
  AckRef late = Made(10);
  AckRef failing = Made(11);
  tracker_ = std::make_shared<AckTracker>(10, clock_, nullptr);
  AckRef current = Made(10);
  Deliver(late);
  Fail(failing);
  EXPECT_EQ(tracker_->completed(), 10u);
  EXPECT_EQ(tracker_->outstanding(), 1u);
  EXPECT_FALSE(tracker_->stall().has_value());
  Deliver(current);
  EXPECT_EQ(tracker_->completed(), 11u);
}

TEST_F(AckTrackerTest, ACompletedCountNeverGoesBackWhateverTheOrder) {
  std::vector<AckRef> refs;
  for (Step step = 10; step < 20; ++step) refs.push_back(Made(step));
  for (const size_t i : {3u, 0u, 9u, 1u, 2u, 7u, 5u, 4u, 8u, 6u}) {
    Deliver(refs[i]);
  }
  EXPECT_THAT(advances_, ElementsAre(11, 12, 14, 16, 20));
}

using AckTrackerDeathTest = AckTrackerTest;

TEST_F(AckTrackerDeathTest, AStepNumberIsNotUsedTwice) {
  AckRef a = Made(10);
  EXPECT_DEATH(AckTracker::Register(tracker_, 10), "used once");
}

TEST_F(AckTrackerDeathTest, AStepBelowTheBaseIsRefused) {
  EXPECT_DEATH(AckTracker::Register(tracker_, 9), "used once");
}

// Against a model: completed is the first step that is made and not delivered,
// or the last delivered one of the prefix + 1, and never goes back.
TEST_F(AckTrackerTest, RandomOrdersAgreeWithAModel) {
  Random random = TestRandom();
  for (int round = 0; round < 300; ++round) {
    FakeClock clock;
    Step last = 0;
    const auto tracker =
        std::make_shared<AckTracker>(0, clock, [&](Step completed) {
          EXPECT_GT(completed, last);
          last = completed;
        });
    std::map<Step, std::optional<bool>> model;  // Delivered or failed.
    std::vector<std::pair<Step, AckRef>> open;
    Step next = 0;
    for (int i = 0; i < 40; ++i) {
      if (random.Bernoulli(0.5)) {
        next += 1 + random.Uniform(3);
        StepHandle handle = AckTracker::Register(tracker, next);
        open.emplace_back(next, handle.Share());
        model[next] = std::nullopt;
        std::move(handle).Resolve();
      } else if (!open.empty()) {
        const size_t pick = random.Uniform(open.size());
        const bool fails = random.Bernoulli(0.05);
        if (fails) open[pick].second.Fail();
        model[open[pick].first] = !fails;
        open.erase(open.begin() + static_cast<ptrdiff_t>(pick));
      }
      Step expected = 0;
      for (const auto& [step, delivered] : model) {
        expected = step;
        if (delivered != true) break;
        expected = step + 1;
      }
      ASSERT_EQ(tracker->completed(), expected);
      ASSERT_EQ(last, expected);
    }
  }
}

}  // namespace
}  // namespace penstock::core
