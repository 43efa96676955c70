#include "client/controller/lease_keeper.h"

#include "client/controller/lease.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::MakeError;
using core::Reason;

constexpr absl::Duration kLasts = absl::Seconds(12);

// The row, with a clock that is days away from everybody's.
struct FakeRow {
  const core::Clock& clock;
  std::string holder;
  absl::Time ends = absl::InfinitePast();
  uint64_t epoch = 0;
  absl::Time Now() const { return clock.SteadyNow() + absl::Hours(77); }
};

// A lease in memory. A call takes effect `delay` after it was made and is
// answered as long after that.
// Threads: confined to the executor's.
class FakeLease final : public Lease {
 public:
  enum class Answer { kTrue, kNotDone, kLost, kNone };

  FakeLease(FakeRow& row, core::ManualExecutor& executor, std::string id)
      : row_(row), executor_(executor), id_(std::move(id)) {}

  void Acquire(Reply reply) override {
    Call(std::move(reply), [this] {
      if (row_.holder == id_ || row_.holder.empty() ||
          row_.ends <= row_.Now()) {
        Give();
      }
    });
  }
  void Renew(Reply reply) override {
    Call(std::move(reply), [this] {
      if (row_.holder == id_) Give();
    });
  }
  void Release(Done done) override {
    Call([done = std::move(done)](
             absl::StatusOr<LeaseState> s) mutable { done(s.status()); },
         [this] {
           if (row_.holder == id_) row_.holder = "";
         });
  }
  absl::Duration lasts() const override { return kLasts; }

  absl::Duration delay = absl::Milliseconds(1);
  Answer answer = Answer::kTrue;
  absl::Status error = MakeError(Reason::UNAVAILABLE, "the store is away");

 private:
  void Give() {
    row_.holder = id_;
    row_.ends = row_.Now() + kLasts;
  }
  template <typename Effect>
  void Call(Reply reply, Effect effect) {
    executor_.ScheduleAfter(
        delay, [this, effect, reply = std::move(reply)]() mutable {
          const Answer how = answer;
          if (how != Answer::kNotDone) effect();
          if (how == Answer::kNone) return;
          executor_.ScheduleAfter(delay, [this, how, state = State(),
                                          reply = std::move(reply)]() mutable {
            if (how != Answer::kTrue) return reply(error);
            reply(state);
          });
        });
  }
  LeaseState State() const {
    LeaseState state;
    state.ours = row_.holder == id_;
    state.controller = row_.holder;
    state.epoch = row_.epoch;
    state.left = std::max(row_.ends - row_.Now(), absl::ZeroDuration());
    return state;
  }

  FakeRow& row_;
  core::ManualExecutor& executor_;
  const std::string id_;
};

// A process: it may be stopped, and is then not run.
struct Process {
  Process(FakeRow& row, core::FakeClock& clock, const std::string& id,
          uint64_t seed)
      : executor(clock), lease(row, executor, id) {
    keeper = LeaseKeeper::Create(
        lease, executor,
        {.on_waiting = [this](const LeaseState& s) { seen = s; },
         .on_held =
             [this](const LeaseState& s) {
               EXPECT_FALSE(held);
               held = true;
               seen = s;
             },
         .on_lost =
             [this](absl::Status why) {
               EXPECT_TRUE(held);
               held = false;
               lost = std::move(why);
               keeper->Start();
             },
         .on_failed = [this](absl::Status why) { failed = std::move(why); }},
        seed);
  }

  core::ManualExecutor executor;
  FakeLease lease;
  std::shared_ptr<LeaseKeeper> keeper;
  bool held = false;
  bool stopped = false;
  std::optional<LeaseState> seen;
  std::optional<absl::Status> lost;
  std::optional<absl::Status> failed;
};

class LeaseKeeperTest : public testing::Test {
 protected:
  Process& Add(const std::string& id) {
    processes_.push_back(
        std::make_unique<Process>(row_, clock_, id, processes_.size()));
    processes_.back()->keeper->Start();
    return *processes_.back();
  }
  size_t Held() const {
    size_t held = 0;
    for (const auto& process : processes_) {
      if (process->held && !process->stopped) ++held;
    }
    return held;
  }
  // Runs all that are not stopped, step by step; at no moment do two hold it.
  void RunFor(absl::Duration duration) {
    const absl::Time end = clock_.SteadyNow() + duration;
    while (true) {
      absl::Time next = end;
      for (const auto& process : processes_) {
        if (process->stopped) continue;
        process->executor.RunUntilIdle();
      }
      ASSERT_LE(Held(), 1u);
      for (const auto& process : processes_) {
        if (process->stopped) continue;
        next = std::min(next, process->executor.NextTimer());
      }
      if (clock_.SteadyNow() >= end) return;
      clock_.Advance(std::max(next - clock_.SteadyNow(), absl::ZeroDuration()));
    }
  }

  core::FakeClock clock_;
  FakeRow row_{.clock = clock_};
  std::vector<std::unique_ptr<Process>> processes_;
};

TEST_F(LeaseKeeperTest, FirstHoldsItForAsLongAsItRenews) {
  Process& a = Add("a");
  Process& b = Add("b");
  RunFor(absl::Minutes(10));
  EXPECT_TRUE(a.held);
  EXPECT_FALSE(a.lost.has_value());
  EXPECT_FALSE(b.held);
  EXPECT_EQ(b.seen->controller, "a");
  EXPECT_GT(b.seen->left, kLasts / 2);
}

TEST_F(LeaseKeeperTest, StandbyTakesOverWithinTheLeaseOfOneThatDied) {
  Process& a = Add("a");
  Process& b = Add("b");
  RunFor(absl::Minutes(1));
  a.stopped = true;
  RunFor(kLasts * 0.6);
  EXPECT_FALSE(b.held) << "it was renewed up to a third before";
  RunFor(kLasts * 0.5);
  EXPECT_TRUE(b.held);
}

TEST_F(LeaseKeeperTest, ReleasedOneIsTakenWithinASecond) {
  Process& a = Add("a");
  Process& b = Add("b");
  RunFor(absl::Minutes(1));
  std::optional<absl::Status> released;
  a.keeper->Stop([&](absl::Status status) { released = status; });
  a.held = false;
  RunFor(absl::Milliseconds(1200));
  ASSERT_TRUE(released.has_value());
  EXPECT_OK(*released);
  EXPECT_TRUE(b.held);
}

// PostgresLeaseOptions gives a call so long.
TEST_F(LeaseKeeperTest, RenewalThatFailsInAQuarterLeavesTimeForAnother) {
  Process& a = Add("a");
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(a.held);
  a.lease.delay = kLasts / 8;
  a.lease.answer = FakeLease::Answer::kNotDone;
  // It was sent after a third.
  RunFor(kLasts / 3 + kLasts / 4 - absl::Seconds(1) + absl::Milliseconds(10));
  a.lease.answer = FakeLease::Answer::kTrue;
  RunFor(kLasts);
  EXPECT_TRUE(a.held);
  EXPECT_FALSE(a.lost.has_value());
}

TEST_F(LeaseKeeperTest, WokenOneSaysAtOnceThatItIsLost) {
  Process& a = Add("a");
  Process& b = Add("b");
  RunFor(absl::Minutes(1));
  a.stopped = true;
  RunFor(absl::Hours(1));
  ASSERT_TRUE(b.held);
  a.stopped = false;
  a.executor.RunUntilIdle();
  EXPECT_FALSE(a.held);
  EXPECT_THAT(*a.lost, HasReason(Reason::STALE_EPOCH));
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(b.held);
}

TEST_F(LeaseKeeperTest, StoreThatIsAwayForLessThanTheLeaseDoesNotMatter) {
  Process& a = Add("a");
  RunFor(absl::Minutes(1));
  a.lease.answer = FakeLease::Answer::kNotDone;
  RunFor(kLasts * 0.4);
  a.lease.answer = FakeLease::Answer::kTrue;
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(a.held);
  EXPECT_FALSE(a.lost.has_value());
}

class LeaseLostTest : public LeaseKeeperTest,
                      public testing::WithParamInterface<FakeLease::Answer> {};

TEST_P(LeaseLostTest, WhoCannotRenewStopsBeforeItEndsAndGoesOnLater) {
  Process& a = Add("a");
  RunFor(absl::Minutes(1));
  a.lease.answer = GetParam();
  // The row may be renewed all the same; what counts is what we know.
  RunFor(kLasts - absl::Milliseconds(100));
  EXPECT_FALSE(a.held);
  EXPECT_THAT(*a.lost, HasReason(Reason::STALE_EPOCH));
  if (GetParam() == FakeLease::Answer::kNone) return;
  a.lease.answer = FakeLease::Answer::kTrue;
  RunFor(kLasts);
  EXPECT_TRUE(a.held);
}

INSTANTIATE_TEST_SUITE_P(Answers, LeaseLostTest,
                         testing::Values(FakeLease::Answer::kNotDone,
                                         FakeLease::Answer::kLost,
                                         FakeLease::Answer::kNone),
                         [](const auto& param) {
                           switch (param.param) {
                             case FakeLease::Answer::kTrue:
                               return "True";
                             case FakeLease::Answer::kNotDone:
                               return "NotDone";
                             case FakeLease::Answer::kLost:
                               return "Lost";
                             case FakeLease::Answer::kNone:
                               return "None";
                           }
                           return "";
                         });

TEST_F(LeaseKeeperTest, AnswerThatComesTooLateGivesNothing) {
  Process& a = Add("a");
  a.lease.delay = kLasts / 2;
  RunFor(absl::Minutes(2));
  EXPECT_FALSE(a.held) << "each answer is as old as a lease";
  a.lease.delay = absl::Milliseconds(1);
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(a.held);
}

TEST_F(LeaseKeeperTest, ErrorThatDoesNotPassIsForAPerson) {
  Process& a = Add("a");
  a.lease.answer = FakeLease::Answer::kNotDone;
  a.lease.error = MakeError(Reason::STATE_DAMAGED, "the row is gone");
  RunFor(absl::Minutes(1));
  ASSERT_TRUE(a.failed.has_value());
  EXPECT_THAT(*a.failed, HasReason(Reason::STATE_DAMAGED));
}

TEST_F(LeaseKeeperTest, DestroyedOneTellsNothing) {
  Process& a = Add("a");
  RunFor(absl::Minutes(1));
  a.keeper = nullptr;
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(a.lost.has_value());
}

// Stops, wake-ups, slow and lost answers, drawn by a seed: RunFor looks at all
// times that nobody believes in a lease that another has.
class LeaseChaosTest : public LeaseKeeperTest,
                       public testing::WithParamInterface<uint64_t> {};

TEST_P(LeaseChaosTest, NeverTwoAndSoonOneAgain) {
  core::Random random(GetParam());
  for (const char* id : {"a", "b", "c"}) Add(id);
  for (int round = 0; round < 300; ++round) {
    Process& process = *processes_[random.Uniform(processes_.size())];
    process.stopped = random.Bernoulli(0.3);
    process.lease.delay = absl::Milliseconds(1 + random.Uniform(3000));
    process.lease.answer = random.Bernoulli(0.3)   ? FakeLease::Answer::kNotDone
                           : random.Bernoulli(0.3) ? FakeLease::Answer::kLost
                                                   : FakeLease::Answer::kTrue;
    RunFor(absl::Milliseconds(random.Uniform(8000)));
    if (HasFatalFailure()) return;
  }
  for (const auto& process : processes_) {
    process->stopped = false;
    process->lease.answer = FakeLease::Answer::kTrue;
    process->lease.delay = absl::Milliseconds(1);
  }
  RunFor(2 * kLasts);
  EXPECT_EQ(Held(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeaseChaosTest,
                         testing::Range<uint64_t>(0, 20));

}  // namespace
}  // namespace penstock::client
