#include "core/handoff/budget.h"

#include "core/base/random.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

class InflightBudgetTest : public ::testing::Test {
 protected:
  InflightBudgetTest() {
    budget_->SetOnRoom([this] { ++rooms_; });
  }

  FakeClock clock_;
  int rooms_ = 0;
  std::shared_ptr<InflightBudget> budget_ = std::make_shared<InflightBudget>(
      InflightBudget::Options{.limit = 100, .high = 0.8, .low = 0.5}, clock_);
};

TEST_F(InflightBudgetTest, TheTimeOfAPauseIsFromTheHighMarkToTheLowOne) {
  auto first = budget_->TryReserve(79);
  clock_.Advance(absl::Seconds(1));
  auto second = budget_->TryReserve(1);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(budget_->pauses().time, absl::Seconds(2)) << "so far";
  second.reset();
  clock_.Advance(absl::Seconds(4));
  first.reset();
  clock_.Advance(absl::Seconds(8));
  EXPECT_EQ(budget_->pauses().count, 1u);
  EXPECT_EQ(budget_->pauses().time, absl::Seconds(6));
}

TEST_F(InflightBudgetTest, TimesOfPausesAddUp) {
  for (int i = 0; i < 3; ++i) {
    const auto lease = budget_->TryReserve(90);
    clock_.Advance(absl::Seconds(1));
  }
  clock_.Advance(absl::Seconds(8));
  EXPECT_EQ(budget_->pauses().count, 3u);
  EXPECT_EQ(budget_->pauses().time, absl::Seconds(3));
}

TEST_F(InflightBudgetTest, ReservesUpToTheLimit) {
  const auto first = budget_->TryReserve(60);
  const auto second = budget_->TryReserve(40);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(budget_->usage(), 100u);
  EXPECT_FALSE(budget_->TryReserve(1).has_value());
}

TEST_F(InflightBudgetTest, ADroppedLeaseReturns) {
  { const auto lease = budget_->TryReserve(60); }
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(InflightBudgetTest, AnOversizedReservationIsGrantedAlone) {
  auto lease = budget_->TryReserve(1'000);
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(budget_->usage(), 1'000u);
  EXPECT_FALSE(budget_->TryReserve(1).has_value());
  lease.reset();
  EXPECT_EQ(budget_->usage(), 0u);
}

TEST_F(InflightBudgetTest, AnOversizedReservationWaitsForTheRest) {
  auto small = budget_->TryReserve(1);
  EXPECT_FALSE(budget_->TryReserve(1'000).has_value());
  small.reset();
  EXPECT_TRUE(budget_->TryReserve(1'000).has_value());
}

TEST_F(InflightBudgetTest, ForceReserveGrantsWhateverIsAsked) {
  const auto held = budget_->TryReserve(100);
  const BudgetLease forced = budget_->ForceReserve(500);
  EXPECT_EQ(budget_->usage(), 600u);
  EXPECT_EQ(budget_->overdrafts(), 0u);
}

TEST_F(InflightBudgetTest, ASumThatWouldOverflowDoesNotFit) {
  const auto held = budget_->TryReserve(10);
  EXPECT_FALSE(budget_->TryReserve(UINT64_MAX).has_value());
}

TEST_F(InflightBudgetTest, NoStepBeginsBetweenTheHighMarkAndTheLowMark) {
  auto base = budget_->TryReserve(50);
  EXPECT_TRUE(budget_->MayBegin());
  auto more = budget_->TryReserve(30);
  EXPECT_FALSE(budget_->MayBegin()) << "at the high mark";
  BudgetLease rest = more->Split(1);
  more.reset();
  EXPECT_EQ(budget_->usage(), 51u);
  EXPECT_FALSE(budget_->MayBegin()) << "above the low mark";
  rest = BudgetLease();
  EXPECT_EQ(budget_->usage(), 50u);
  EXPECT_TRUE(budget_->MayBegin()) << "at the low mark";
}

// However holders flap around a mark: from one pause to the next at least the
// bytes between the marks are returned, and as many reserved. No clock needed.
TEST_F(InflightBudgetTest, PausesAreApartByTheBytesBetweenTheMarks) {
  Random random = TestRandom();
  std::vector<BudgetLease> leases;
  uint64_t returned = 0;
  uint64_t reserved = 0;
  int pauses = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool could_begin = budget_->MayBegin();
    const uint64_t before = budget_->usage();
    if (leases.empty() || random.Bernoulli(0.5)) {
      auto lease = budget_->TryReserve(1 + random.Uniform(25));
      if (lease.has_value()) leases.push_back(*std::move(lease));
    } else {
      leases.erase(leases.begin() +
                   static_cast<ptrdiff_t>(random.Uniform(leases.size())));
    }
    const uint64_t after = budget_->usage();
    (after > before ? reserved : returned) +=
        after > before ? after - before : before - after;
    if (budget_->MayBegin() == could_begin) continue;
    if (could_begin) {
      ++pauses;
      ASSERT_GE(reserved, 30u);
      reserved = 0;
    } else {
      ASSERT_GE(returned, 30u);
      returned = 0;
    }
  }
  EXPECT_GT(pauses, 10);
}

// Whoever missed the call, or asks when nothing changes any more, is answered
// rightly: it is a level.
TEST_F(InflightBudgetTest, UsageThatHoversAtAMarkStopsNobodyForEver) {
  auto high = budget_->TryReserve(80);
  EXPECT_FALSE(budget_->MayBegin());
  BudgetLease low = high->Split(50);
  high.reset();
  EXPECT_EQ(rooms_, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(budget_->MayBegin()) << "at the low mark";
    auto hovering = budget_->TryReserve(29);
    EXPECT_TRUE(budget_->MayBegin()) << "just below the high mark";
    hovering.reset();
    EXPECT_EQ(rooms_, 2 + i) << "back at the low mark: said each time";
  }
}

TEST_F(InflightBudgetTest, RoomIsSaidWhenUsageFallsToTheLowMark) {
  auto base = budget_->TryReserve(50);
  auto more = budget_->TryReserve(1);
  EXPECT_EQ(rooms_, 0);
  more.reset();
  EXPECT_EQ(rooms_, 1);
}

TEST_F(InflightBudgetTest, RoomIsSaidWhenUsageFallsToZero) {
  auto first = budget_->TryReserve(10);
  auto second = budget_->TryReserve(10);
  first.reset();
  EXPECT_EQ(rooms_, 0) << "it was below the low mark already";
  second.reset();
  EXPECT_EQ(rooms_, 1);
}

TEST_F(InflightBudgetTest, RoomMayBeTakenInsideTheCallback) {
  auto first = budget_->TryReserve(100);
  std::optional<BudgetLease> next;
  budget_->SetOnRoom([&] { next = budget_->TryReserve(70); });
  first.reset();
  EXPECT_TRUE(next.has_value());
  EXPECT_EQ(budget_->usage(), 70u);
}

TEST_F(InflightBudgetTest, SplitMovesBytesFromOneLeaseToAnother) {
  auto lease = budget_->TryReserve(60);
  BudgetLease part = lease->Split(25);
  EXPECT_EQ(part.bytes(), 25u);
  EXPECT_EQ(lease->bytes(), 35u);
  EXPECT_EQ(budget_->usage(), 60u);
  part = BudgetLease();
  EXPECT_EQ(budget_->usage(), 35u);
}

TEST_F(InflightBudgetTest, SplittingMoreThanThereIsOverdraws) {
  auto lease = budget_->TryReserve(60);
  const BudgetLease part = lease->Split(90);
  EXPECT_EQ(part.bytes(), 90u);
  EXPECT_EQ(lease->bytes(), 0u);
  EXPECT_EQ(budget_->usage(), 90u);
  EXPECT_EQ(budget_->overdrafts(), 1u);
}

TEST_F(InflightBudgetTest, AnEmptiedLeaseCanStillBeOverdrawn) {
  auto lease = budget_->TryReserve(10);
  const BudgetLease all = lease->Split(10);
  const BudgetLease more = lease->Split(5);
  EXPECT_EQ(budget_->usage(), 15u);
  EXPECT_EQ(budget_->overdrafts(), 1u);
}

TEST_F(InflightBudgetTest, MergeAddsUp) {
  auto first = budget_->TryReserve(10);
  auto second = budget_->TryReserve(20);
  first->Merge(*std::move(second));
  EXPECT_EQ(first->bytes(), 30u);
  EXPECT_EQ(budget_->usage(), 30u);
  BudgetLease empty;
  empty.Merge(*std::move(first));
  EXPECT_EQ(empty.bytes(), 30u);
  empty.Merge(BudgetLease());
  EXPECT_EQ(budget_->usage(), 30u);
}

TEST_F(InflightBudgetTest, AMovedFromLeaseReturnsNothing) {
  auto lease = budget_->TryReserve(60);
  const BudgetLease moved = *std::move(lease);
  lease.reset();
  EXPECT_EQ(budget_->usage(), 60u);
}

TEST_F(InflightBudgetTest, AnAssignedLeaseReturnsWhatItHeld) {
  auto first = budget_->TryReserve(10);
  auto second = budget_->TryReserve(20);
  *first = *std::move(second);
  EXPECT_EQ(budget_->usage(), 20u);
}

TEST_F(InflightBudgetTest, ALeaseMayOutliveEveryOtherOwner) {
  std::optional<BudgetLease> lease = budget_->TryReserve(10);
  const std::weak_ptr<InflightBudget> watched = budget_;
  budget_.reset();
  EXPECT_FALSE(watched.expired());
  lease.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_F(InflightBudgetTest, LeasesOfTwoBudgetsDoNotMerge) {
  auto lease = budget_->TryReserve(10);
  const auto other =
      std::make_shared<InflightBudget>(InflightBudget::Options{.limit = 100});
  auto foreign = other->TryReserve(10);
  EXPECT_DEATH(lease->Merge(*std::move(foreign)), "two budgets");
}

TEST_F(InflightBudgetTest, RandomUseAddsUpAndEndsAtZero) {
  Random random = TestRandom();
  std::vector<BudgetLease> leases;
  for (int i = 0; i < 20'000; ++i) {
    switch (random.Uniform(5)) {
      case 0: {
        auto lease = budget_->TryReserve(random.Uniform(60));
        if (lease.has_value()) leases.push_back(*std::move(lease));
        break;
      }
      case 1:
        if (leases.size() < 20) {
          leases.push_back(budget_->ForceReserve(random.Uniform(30)));
        }
        break;
      case 2:
        if (!leases.empty()) {
          const size_t pick = random.Uniform(leases.size());
          leases.push_back(
              leases[pick].Split(random.Uniform(leases[pick].bytes() + 1)));
        }
        break;
      case 3:
        if (leases.size() >= 2) {
          BudgetLease last = std::move(leases.back());
          leases.pop_back();
          leases.front().Merge(std::move(last));
        }
        break;
      default:
        if (!leases.empty()) leases.pop_back();
    }
    uint64_t sum = 0;
    for (const BudgetLease& lease : leases) sum += lease.bytes();
    ASSERT_EQ(budget_->usage(), sum);
  }
  leases.clear();
  EXPECT_EQ(budget_->usage(), 0u);
  EXPECT_TRUE(budget_->MayBegin());
}

}  // namespace
}  // namespace penstock::core
