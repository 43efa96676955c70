#include "client/controller/postgres_lease.h"

#include "client/controller/lease.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "tests/client/controller/postgres_store_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;

// The wall clock of a machine that nobody has set; it runs as others do.
class WrongClock final : public core::Clock {
 public:
  explicit WrongClock(absl::Duration by) : by_(by) {}
  absl::Time Now() const override { return core::RealClock().Now() + by_; }
  absl::Time SteadyNow() const override {
    return core::RealClock().SteadyNow();
  }

 private:
  const absl::Duration by_;
};

class PostgresLeaseTest : public PostgresStoreTest {
 protected:
  void SetUp() override {
    PostgresStoreTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    store_ = Make(Options());
  }
  std::unique_ptr<Lease> MakeLease(const std::string& holder,
                                   const core::Clock& clock) {
    PostgresPlace place = Options().place;
    place.clock = &clock;
    return MakePostgresLease({.place = place,
                              .holder = holder,
                              .controller = holder + "'s host",
                              .lasts = absl::Minutes(1)},
                             executor_);
  }
  std::unique_ptr<Lease> MakeLease(const std::string& holder) {
    return MakeLease(holder, core::RealClock());
  }
  absl::StatusOr<LeaseState> Acquire(Lease& lease) {
    std::optional<absl::StatusOr<LeaseState>> state;
    lease.Acquire([&](absl::StatusOr<LeaseState> s) { state = std::move(s); });
    executor_.RunUntilIdle();
    return *state;
  }
  absl::StatusOr<LeaseState> Renew(Lease& lease) {
    std::optional<absl::StatusOr<LeaseState>> state;
    lease.Renew([&](absl::StatusOr<LeaseState> s) { state = std::move(s); });
    executor_.RunUntilIdle();
    return *state;
  }
  absl::Status Release(Lease& lease) {
    std::optional<absl::Status> done;
    lease.Release([&](absl::Status status) { done = std::move(status); });
    executor_.RunUntilIdle();
    return *done;
  }
  // As if that much time had passed at the server.
  void Pass(absl::Duration duration) {
    Sql(
        absl::StrCat("UPDATE penstock_state.leases SET expires_at = expires_at "
                     "- interval '",
                     absl::ToInt64Milliseconds(duration), " milliseconds'"));
  }

  std::unique_ptr<StateStore> store_;
};

TEST_F(PostgresLeaseTest, FirstTakesItAndOthersLearnWhoseItIs) {
  ASSERT_OK(Lead(executor_, *store_));
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  const auto taken = Acquire(*a);
  ASSERT_OK(taken);
  EXPECT_TRUE(taken->ours);
  EXPECT_EQ(taken->epoch, 1u);
  EXPECT_LE(taken->left, absl::Minutes(1));
  const auto seen = Acquire(*b);
  ASSERT_OK(seen);
  EXPECT_FALSE(seen->ours);
  EXPECT_EQ(seen->controller, "a's host");
  EXPECT_EQ(seen->epoch, 1u);
  EXPECT_GT(seen->left, absl::Seconds(10));
  EXPECT_EQ(seen->until, taken->until);
}

TEST_F(PostgresLeaseTest, EndedOneIsTakenAndItsHolderLearnsIt) {
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  ASSERT_TRUE(Acquire(*a)->ours);
  Pass(absl::Seconds(61));
  ASSERT_TRUE(Acquire(*b)->ours);
  const auto renewed = Renew(*a);
  ASSERT_OK(renewed);
  EXPECT_FALSE(renewed->ours);
  EXPECT_EQ(renewed->controller, "b's host");
  EXPECT_FALSE(Acquire(*a)->ours);
}

TEST_F(PostgresLeaseTest, RenewalProlongs) {
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  ASSERT_TRUE(Acquire(*a)->ours);
  Pass(absl::Seconds(59));
  EXPECT_TRUE(Renew(*a)->ours);
  Pass(absl::Seconds(30));
  EXPECT_FALSE(Acquire(*b)->ours);
}

TEST_F(PostgresLeaseTest, ReleasedOneIsFreeAndOnlyItsHolderReleases) {
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  ASSERT_TRUE(Acquire(*a)->ours);
  ASSERT_OK(Release(*b));
  EXPECT_FALSE(Acquire(*b)->ours);
  ASSERT_OK(Release(*a));
  EXPECT_TRUE(Acquire(*b)->ours);
}

TEST_F(PostgresLeaseTest, ClocksOfControllersDoNotMatter) {
  const WrongClock early(-absl::Hours(5));
  const WrongClock late(absl::Hours(300));
  const auto a = MakeLease("a", early);
  const auto b = MakeLease("b", late);
  ASSERT_TRUE(Acquire(*a)->ours);
  const auto seen = Acquire(*b);
  ASSERT_OK(seen);
  EXPECT_FALSE(seen->ours);
  EXPECT_LE(seen->left, absl::Minutes(1));
  EXPECT_GT(seen->left, absl::Seconds(10));
  EXPECT_TRUE(Renew(*a)->ours);
}

TEST_F(PostgresLeaseTest, ServersClockThatGoesBackKeepsNobodyWaitingForLong) {
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  ASSERT_TRUE(Acquire(*a)->ours);
  Pass(-absl::Seconds(30));
  EXPECT_FALSE(Acquire(*b)->ours) << "by less than a lease";
  Pass(-absl::Hours(3));
  EXPECT_TRUE(Acquire(*b)->ours);
}

TEST_F(PostgresLeaseTest, OldHolderTakesNoEpoch) {
  PostgresStoreOptions options = Options();
  options.lease_holder = "a";
  const auto store = Make(options);
  const auto a = MakeLease("a");
  const auto b = MakeLease("b");
  ASSERT_TRUE(Acquire(*a)->ours);
  ASSERT_OK(Lead(executor_, *store));
  Pass(absl::Seconds(61));
  ASSERT_TRUE(Acquire(*b)->ours);
  EXPECT_THAT(Lead(executor_, *store), HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(EpochOf(executor_, *store), core::IsOkAndHolds(1u));
}

TEST_F(PostgresLeaseTest, RowThatIsGoneIsDamage) {
  const auto a = MakeLease("a");
  Sql("DELETE FROM penstock_state.leases");
  EXPECT_THAT(Acquire(*a), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresLeaseTest, LostAnswersAreUnavailableAndTheNextCallGoesOn) {
  core::PostgresProxy proxy(core::PostgresServer::Shared().directory());
  PostgresPlace place = OptionsThrough(proxy).place;
  const auto a = MakePostgresLease({.place = place,
                                    .holder = "a",
                                    .controller = "a's host",
                                    .lasts = absl::Minutes(1)},
                                   executor_);
  // The first statement of a session sets it up.
  proxy.SetScript([](const auto& statement) {
    return statement.number == 2 ? core::PostgresProxy::Deed::kCutAnswer
                                 : core::PostgresProxy::Deed::kForward;
  });
  EXPECT_THAT(Acquire(*a), HasReason(Reason::UNAVAILABLE));
  EXPECT_TRUE(Acquire(*a)->ours) << "it was ours already";
}

}  // namespace
}  // namespace penstock::client
