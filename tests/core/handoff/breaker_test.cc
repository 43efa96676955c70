#include "core/handoff/breaker.h"

#include "core/base/random.h"
#include "tests/core/handoff/property_runs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using State = Breaker::State;

class BreakerTest : public ::testing::Test {
 protected:
  Breaker::Permit Admitted() {
    Breaker::Admission admission = breaker_->Ask(now_);
    EXPECT_TRUE(admission.permit.has_value());
    return *std::move(admission.permit);
  }
  bool IsAdmitted() { return breaker_->Ask(now_).permit.has_value(); }
  void FailTimes(int times) {
    for (int i = 0; i < times; ++i) Admitted().Fail(now_);
  }
  State state() const { return breaker_->snapshot().state; }

  std::shared_ptr<Breaker> breaker_ = std::make_shared<Breaker>(
      Breaker::Options{.consecutive_failures_max = 3,
                       .probe_interval = absl::Seconds(5),
                       .probes_max = 1});
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(BreakerTest, ItIsClosedAtFirst) {
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_TRUE(IsAdmitted());
}

TEST_F(BreakerTest, FailuresInARowOpenIt) {
  FailTimes(2);
  EXPECT_EQ(state(), State::kClosed);
  FailTimes(1);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(breaker_->snapshot().opens, 1u);
}

TEST_F(BreakerTest, AnOpenOneStaysOpenUntilItsTime) {
  FailTimes(3);
  now_ += absl::Seconds(5) - absl::Nanoseconds(1);
  EXPECT_FALSE(IsAdmitted());
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(breaker_->snapshot().probe_at, now_ + absl::Nanoseconds(1));
}

TEST_F(BreakerTest, TheTimeOfAProbeIsShownWhileItIsOpenOnly) {
  EXPECT_EQ(breaker_->snapshot().probe_at, absl::InfinitePast());
  FailTimes(3);
  now_ += absl::Seconds(5);
  const Breaker::Permit probe = Admitted();
  EXPECT_EQ(breaker_->snapshot().probe_at, absl::InfinitePast());
}

TEST_F(BreakerTest, ASuccessBeginsTheCountAnew) {
  FailTimes(2);
  Admitted().Succeed();
  FailTimes(2);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(BreakerTest, OpenItSaysWhenToAskAgain) {
  FailTimes(3);
  const Breaker::Admission admission = breaker_->Ask(now_ + absl::Seconds(2));
  EXPECT_FALSE(admission.permit.has_value());
  EXPECT_EQ(admission.ask_again, now_ + absl::Seconds(5));
}

TEST_F(BreakerTest, AfterItsTimeItAdmitsOneProbe) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  const Breaker::Permit probe = Admitted();
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_FALSE(IsAdmitted());
  EXPECT_EQ(breaker_->Ask(now_).ask_again, absl::InfiniteFuture());
}

TEST_F(BreakerTest, AProbeThatSucceedsClosesIt) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  Admitted().Succeed();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(breaker_->snapshot().failures_in_a_row, 0u);
}

TEST_F(BreakerTest, AProbeThatFailsOpensItAgain) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  Admitted().Fail(now_);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(breaker_->Ask(now_).ask_again, now_ + absl::Seconds(5));
  EXPECT_EQ(breaker_->snapshot().opens, 2u);
}

TEST_F(BreakerTest, AProbeThatIsDroppedGivesBackItsPlace) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  { const Breaker::Permit probe = Admitted(); }
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_TRUE(IsAdmitted());
}

TEST_F(BreakerTest, AProbeThatWasHandedOnGivesBackItsPlace) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  {
    Breaker::Permit holder;
    holder = Admitted();
    EXPECT_FALSE(IsAdmitted());
  }
  EXPECT_TRUE(IsAdmitted());
}

TEST_F(BreakerTest, AForcedAttemptThatIsDroppedGivesBackNoPlace) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  const Breaker::Permit probe = Admitted();
  { const Breaker::Permit forced = breaker_->Force(); }
  EXPECT_FALSE(IsAdmitted());
}

TEST_F(BreakerTest, ADroppedPermitMovesNothingWhileItIsClosed) {
  int moves = 0;
  breaker_->Listen([&] { ++moves; });
  { const Breaker::Permit unused = Admitted(); }
  EXPECT_EQ(moves, 0);
}

TEST_F(BreakerTest, WhatBeganBeforeItOpenedIsNoNews) {
  Breaker::Permit early = Admitted();
  Breaker::Permit late = Admitted();
  FailTimes(3);
  early.Succeed();
  EXPECT_EQ(state(), State::kOpen);
  now_ += absl::Seconds(5);
  const Breaker::Permit probe = Admitted();
  late.Fail(now_);
  EXPECT_EQ(state(), State::kHalfOpen);
}

TEST_F(BreakerTest, AForcedAttemptThatSucceedsClosesIt) {
  FailTimes(3);
  breaker_->Force().Succeed();
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(BreakerTest, AForcedAttemptThatFailsChangesNothing) {
  FailTimes(3);
  breaker_->Force().Fail(now_ + absl::Seconds(1));
  EXPECT_EQ(breaker_->Ask(now_).ask_again, now_ + absl::Seconds(5));
}

TEST_F(BreakerTest, AnOverdueAttemptCountsAsAFailureOnce) {
  FailTimes(2);
  Breaker::Permit permit = Admitted();
  permit.NoteOverdue(now_);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(breaker_->snapshot().failures_in_a_row, 3u);
  permit.NoteOverdue(now_);
  permit.Fail(now_);
  EXPECT_EQ(breaker_->snapshot().failures_in_a_row, 3u);
}

TEST_F(BreakerTest, ALateSuccessClosesWhatItsLatenessOpened) {
  FailTimes(2);
  Breaker::Permit permit = Admitted();
  permit.NoteOverdue(now_);
  permit.Succeed();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(breaker_->snapshot().failures_in_a_row, 0u);
}

TEST_F(BreakerTest, AProbesLateSuccessClosesIt) {
  FailTimes(3);
  now_ += absl::Seconds(5);
  Breaker::Permit probe = Admitted();
  probe.NoteOverdue(now_);
  EXPECT_EQ(state(), State::kOpen);
  probe.Succeed();
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(BreakerTest, ALateSuccessBeginsTheCountAnew) {
  Breaker::Permit permit = Admitted();
  permit.NoteOverdue(now_);
  permit.Succeed();
  FailTimes(2);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(BreakerTest, ListenersHearOfEveryMove) {
  int moves = 0;
  breaker_->Listen([&] { ++moves; });
  FailTimes(3);
  EXPECT_EQ(moves, 1) << "opened";
  now_ += absl::Seconds(5);
  { const Breaker::Permit probe = Admitted(); }
  EXPECT_EQ(moves, 2) << "a probe is free again";
  Admitted().Succeed();
  EXPECT_EQ(moves, 3) << "closed";
}

// --- By the share of failures among the last four attempts.

class BreakerRatioTest : public BreakerTest {
 protected:
  BreakerRatioTest() {
    breaker_ = std::make_shared<Breaker>(
        Breaker::Options{.consecutive_failures_max = 100,
                         .failure_ratio = 0.75,
                         .window_writes = 4,
                         .probe_interval = absl::Seconds(5)});
  }
  // 'F' is a failure, 'S' a success. Returns: the state after all.
  State After(const std::string& attempts) {
    for (const char attempt : attempts) {
      if (attempt == 'F') {
        Admitted().Fail(now_);
      } else {
        Admitted().Succeed();
      }
    }
    return state();
  }
};

TEST_F(BreakerRatioTest, TheShareOpensIt) {
  EXPECT_EQ(After("FSF"), State::kClosed);
  EXPECT_EQ(After("F"), State::kOpen);
}

// 0.07 * 100 is a hair above seven in binary.
TEST_F(BreakerRatioTest, ADecimalShareMeansWhatItSays) {
  breaker_ =
      std::make_shared<Breaker>(Breaker::Options{.consecutive_failures_max = 50,
                                                 .failure_ratio = 0.07,
                                                 .window_writes = 100});
  EXPECT_EQ(After(std::string(93, 'S') + "FFFFFF"), State::kClosed);
  EXPECT_EQ(After("F"), State::kOpen);
}

TEST_F(BreakerRatioTest, ASmallerShareDoesNot) {
  EXPECT_EQ(After("FSFSFSFSFSFS"), State::kClosed);
}

TEST_F(BreakerRatioTest, FewerAttemptsThanTheWindowSayNothing) {
  EXPECT_EQ(After("FFF"), State::kClosed);
  EXPECT_EQ(After("F"), State::kOpen);
}

TEST_F(BreakerRatioTest, WhatLeftTheWindowIsForgotten) {
  EXPECT_EQ(After("SFFSSFFS"), State::kClosed);
  EXPECT_EQ(After("F"), State::kOpen) << "of the last four three failed";
}

TEST_F(BreakerRatioTest, NowAndThenAFailureDoesNot) {
  EXPECT_EQ(After("SSSSFSSSFSSSFSSSF"), State::kClosed);
}

TEST_F(BreakerRatioTest, AProbeThatFailsOpensItAgain) {
  EXPECT_EQ(After("FFFF"), State::kOpen);
  now_ += absl::Seconds(5);
  EXPECT_EQ(After("F"), State::kOpen);
}

TEST_F(BreakerRatioTest, ASuccessNeverOpensIt) {
  EXPECT_EQ(After("FFFS"), State::kClosed);
  EXPECT_EQ(After("F"), State::kOpen);
}

TEST_F(BreakerRatioTest, OnceClosedItCountsAnew) {
  EXPECT_EQ(After("FFFF"), State::kOpen);
  now_ += absl::Seconds(5);
  EXPECT_EQ(After("S"), State::kClosed);
  EXPECT_EQ(After("FFF"), State::kClosed);
}

TEST_F(BreakerRatioTest, OnceClosedItForgetsTheWindowWhole) {
  EXPECT_EQ(After("SSSSFFF"), State::kOpen);
  now_ += absl::Seconds(5);
  EXPECT_EQ(After("S"), State::kClosed);
  EXPECT_EQ(After("SSSF"), State::kClosed) << "one of the last four failed";
}

TEST_F(BreakerRatioTest, OnceClosedTheOldestIsTheFirstAgain) {
  EXPECT_EQ(After("SSSSFFF"), State::kOpen);
  now_ += absl::Seconds(5);
  EXPECT_EQ(After("S"), State::kClosed);
  EXPECT_EQ(After("FFSSF"), State::kClosed) << "two of the last four failed";
}

TEST_F(BreakerRatioTest, ALateSuccessIsNoSecondAttempt) {
  Breaker::Permit permit = Admitted();
  permit.NoteOverdue(now_);
  permit.Succeed();
  EXPECT_EQ(After("FF"), State::kClosed) << "three attempts";
  EXPECT_EQ(After("F"), State::kOpen);
}

TEST_F(BreakerRatioTest, FailuresInARowOpenItAllTheSame) {
  breaker_ = std::make_shared<Breaker>(Breaker::Options{
      .consecutive_failures_max = 2, .failure_ratio = 1, .window_writes = 4});
  EXPECT_EQ(After("SFF"), State::kOpen);
}

struct BadOptions {
  const char* name;
  Breaker::Options options;
};
class BreakerOptionsTest : public ::testing::TestWithParam<BadOptions> {};

TEST_P(BreakerOptionsTest, IsRefused) {
  EXPECT_THAT(Breaker::Check(GetParam().options),
              HasReason(Reason::INVALID_CONFIG));
}

INSTANTIATE_TEST_SUITE_P(
    All, BreakerOptionsTest,
    ::testing::Values(
        BadOptions{"NoFailures", {.consecutive_failures_max = 0}},
        BadOptions{"NoShare", {.failure_ratio = 0}},
        BadOptions{"AboveAll", {.failure_ratio = 1.01}},
        BadOptions{"ShareIsNoNumber", {.failure_ratio = std::nan("")}},
        BadOptions{"NoWindow", {.window_writes = 0}},
        BadOptions{"HugeWindow", {.window_writes = 1'000'001}},
        BadOptions{"NoProbes", {.probes_max = 0}},
        BadOptions{"NoTime", {.probe_interval = absl::ZeroDuration()}},
        BadOptions{"TooLong", {.probe_interval = absl::InfiniteDuration()}}),
    [](const ::testing::TestParamInfo<BadOptions>& value) {
      return std::string(value.param.name);
    });

TEST(BreakerPropertyTest, NeverMoreProbesThanAllowedAndItAlwaysComesBack) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(300); ++run) {
    const auto probes_max = static_cast<uint32_t>(1 + random.Uniform(3));
    const auto breaker = std::make_shared<Breaker>(Breaker::Options{
        .consecutive_failures_max =
            static_cast<uint32_t>(1 + random.Uniform(4)),
        .probe_interval =
            absl::Seconds(1 + static_cast<double>(random.Uniform(9))),
        .probes_max = probes_max});
    absl::Time now = absl::UnixEpoch();
    std::vector<Breaker::Permit> held;
    uint32_t probes = 0;
    for (int i = 0; i < 200; ++i) {
      Breaker::Admission admission = breaker->Ask(now);
      if (admission.permit.has_value()) {
        const bool half_open =
            breaker->snapshot().state == Breaker::State::kHalfOpen;
        probes = half_open ? probes + 1 : 0;
        ASSERT_LE(probes, probes_max);
        held.push_back(*std::move(admission.permit));
      } else {
        ASSERT_GT(admission.ask_again, now);
      }
      if (!held.empty() && random.Bernoulli(0.6)) {
        // All places among the probes are free again.
        probes = 0;
        held.clear();
      } else if (!held.empty() && random.Bernoulli(0.8)) {
        held.back().Fail(now);
        held.pop_back();
        if (breaker->snapshot().state != Breaker::State::kHalfOpen) probes = 0;
      }
      now += absl::Milliseconds(static_cast<int64_t>(random.Uniform(2'000)));
    }
    held.clear();
    now += absl::Minutes(1);
    Breaker::Admission last = breaker->Ask(now);
    ASSERT_TRUE(last.permit.has_value());
    last.permit->Succeed();
    ASSERT_EQ(breaker->snapshot().state, Breaker::State::kClosed);
  }
}

}  // namespace
}  // namespace penstock::core
