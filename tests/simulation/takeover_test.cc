// Two controllers, or two workers, of which one was stopped and wakes again.
// See tests/simulation/README.md; upholds INV-7.
#include "client/controller/controller.h"
#include "core/base/error.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace penstock::simulation {
namespace {

using client::FaultPoint;
using core::HasReason;
using core::Reason;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Minutes(2);

struct Stop {
  const char* name;
  FaultPoint point;
};
constexpr Stop kStops[] = {
    {"ResultReceived", FaultPoint::kResultReceived},
    {"BeforeJournal", FaultPoint::kBeforeJournal},
    {"AfterJournal", FaultPoint::kAfterJournal},
    {"BeforeRelease", FaultPoint::kBeforeRelease},
    {"AfterRelease", FaultPoint::kAfterRelease},
    {"BeforePrepare", FaultPoint::kBeforePrepare},
    {"AfterPrepare", FaultPoint::kAfterPrepare},
    {"AfterCheckpointStored", FaultPoint::kAfterCheckpointStored},
    {"AfterCommitCheckpoint", FaultPoint::kAfterCommitCheckpoint},
};

class TakeoverTest : public testing::TestWithParam<std::tuple<Stop, bool>> {
 protected:
  static Plan PlanOf() {
    Plan plan = QuietPlan(7, std::get<1>(GetParam()), true);
    plan.checkpoint_interval = absl::Milliseconds(20);
    // Enough that the second checkpoint is not the last.
    const std::vector<std::string> records = plan.records;
    for (int i = 0; i < 3; ++i) {
      plan.records.insert(plan.records.end(), records.begin(), records.end());
    }
    return plan;
  }

  TakeoverTest() : world_(PlanOf()) {
    world_.SetFaultHook([this](FaultPoint point) {
      // The second time, so that something was journaled before.
      if (point == std::get<0>(GetParam()).point && ++passed_ == 2) {
        world_.FreezeController();
      }
    });
  }

  // The first one is stopped in the middle, the second one leads.
  void RunUntilTakenOver() {
    world_.Start();
    ASSERT_TRUE(world_.RunUntil(
        [this] {
          return world_.frozen_controllers().size() == 1 &&
                 world_.store_disk().state.epoch == 2;
        },
        kLong));
    ASSERT_FALSE(world_.Finished());
  }
  void ExpectEverythingOnce() {
    world_.CheckComplete();
    EXPECT_EQ(world_.violation(), "");
  }
  void ExpectTheFirstEndedAsStale() {
    ASSERT_THAT(world_.superseded(), SizeIs(1));
    EXPECT_TRUE(HasReason(world_.superseded()[0], Reason::STALE_EPOCH))
        << world_.superseded()[0];
  }
  // What nobody may change any more.
  struct Trace {
    uint64_t commits = 0;
    uint64_t epoch = 0;
    core::Step base_steps = 0;
    core::Step reserved_steps = 0;
    uint64_t open_number = 0;
    std::vector<core::Step> progress;
    std::vector<std::vector<std::string>> lines;
    uint64_t disk_operations = 0;
    friend bool operator==(const Trace&, const Trace&) = default;
  };
  Trace TraceNow() {
    const client::StoredPipeline& state = world_.store_disk().state;
    const client::StoredConnector& stored = state.connectors.at(kConnector);
    return {.commits = world_.store_disk().commits,
            .epoch = state.epoch,
            .base_steps = stored.base_steps,
            .reserved_steps = stored.reserved_steps,
            .open_number = stored.open_number,
            .progress = world_.Progress(),
            .lines = world_.Lines(),
            .disk_operations = world_.data_disk().mutating_operations()};
  }

  World world_;
  int passed_ = 0;
};

TEST_P(TakeoverTest, AControllerThatWakesMidwayEndsAsStale) {
  ASSERT_NO_FATAL_FAILURE(RunUntilTakenOver());
  ASSERT_TRUE(world_.RunFor(absl::Milliseconds(30)));
  world_.WakeAll();
  ASSERT_TRUE(world_.RunUntil(
      [this] { return world_.Finished() && world_.superseded().size() == 1; },
      kLong))
      << world_.Describe();
  ExpectTheFirstEndedAsStale();
  EXPECT_EQ(world_.store_disk().state.epoch, 2u);
  ExpectEverythingOnce();
}

TEST_P(TakeoverTest, AControllerThatWakesAfterTheEndChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(RunUntilTakenOver());
  ASSERT_TRUE(world_.RunUntil([this] { return world_.Finished(); }, kLong));
  // What the second one left behind is done, too.
  ASSERT_TRUE(world_.RunFor(absl::Seconds(10)));
  const Trace before = TraceNow();
  world_.WakeAll();
  ASSERT_TRUE(world_.RunUntil(
      [this] { return world_.superseded().size() == 1; }, kLong));
  ASSERT_TRUE(world_.RunFor(absl::Seconds(10)));
  ExpectTheFirstEndedAsStale();
  EXPECT_TRUE(before == TraceNow());
  ExpectEverythingOnce();
}

TEST_P(TakeoverTest, TheFenceOutlivesTheWorker) {
  ASSERT_NO_FATAL_FAILURE(RunUntilTakenOver());
  // The second one has commanded this worker.
  ASSERT_TRUE(world_.RunUntil(
      [this] { return world_.worker()->host->epoch == 2; }, kLong));
  world_.HoldControllers(true);
  world_.FreezeController();
  world_.KillWorker(absl::ZeroDuration());
  // Nobody but the first one is awake, and it cannot ask the store who leads.
  world_.frozen_controllers()[0]->store->Hold(true);
  world_.WakeController(0);
  ASSERT_TRUE(world_.RunFor(absl::Minutes(1))) << world_.violation();
  // Unless a call that was under way has told it.
  if (world_.superseded().empty()) {
    world_.frozen_controllers()[0]->store->Hold(false);
  }
  ASSERT_TRUE(world_.RunUntil(
      [this] { return world_.superseded().size() == 1; }, kLong))
      << world_.violation() << world_.Describe();
  ExpectTheFirstEndedAsStale();
  EXPECT_EQ(world_.worker()->host->epoch, 2u);
  world_.HoldControllers(false);
  world_.WakeAll();
  ASSERT_TRUE(world_.RunUntil([this] { return world_.Finished(); }, kLong));
  ExpectEverythingOnce();
}

INSTANTIATE_TEST_SUITE_P(
    EachStop, TakeoverTest,
    testing::Combine(testing::ValuesIn(kStops), testing::Bool()),
    [](const testing::TestParamInfo<std::tuple<Stop, bool>>& test) {
      return absl::StrCat(std::get<0>(test.param).name,
                          std::get<1>(test.param) ? "File" : "Fake");
    });

// A controller that was stopped before it led, and wakes when another one, of a
// newer file, has ended: it leads, and with it its file. What the newer one
// says holds again when that one is run again.
TEST(EarlierFileTest, ItsControllerThatWakesIsNotTheEnd) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Plan plan = QuietPlan(seed, false, true);
    plan.specs.push_back(plan.specs.front());
    ++plan.specs.back().limits.steps_outstanding_max;
    World world(plan);
    const auto stored_spec = [&] {
      return world.store_disk().state.connectors.at(kConnector).spec_bytes;
    };
    world.Start();
    world.FreezeController();
    world.EditSpec(1);
    ASSERT_TRUE(world.RunUntil([&] { return world.Finished(); }, kLong));
    EXPECT_EQ(stored_spec(), SpecBytes(1));
    world.WakeAll();
    ASSERT_TRUE(
        world.RunUntil([&] { return stored_spec() == SpecBytes(0); }, kLong));
    EXPECT_FALSE(world.Finished());
    ASSERT_TRUE(world.RunUntil([&] { return world.Finished(); }, kLong))
        << world.violation();
    EXPECT_EQ(world.store_disk().state.epoch, 3u);
    world.CheckComplete();
    EXPECT_EQ(world.violation(), "");
  }
}

// A worker that is stopped with released steps, and wakes when another one, on
// another host, has its place: its commits meet the writer fence.
class ZombieWorkerTest : public testing::TestWithParam<bool> {};

TEST_P(ZombieWorkerTest, AWorkerThatWakesWritesNothing) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(QuietPlan(seed, GetParam(), true));
    world.Start();
    ASSERT_TRUE(world.RunUntil(
        [&] {
          const auto status = world.Status();
          const std::vector<core::Step> progress = world.Progress();
          return status.has_value() && !progress.empty() &&
                 status->released_steps > progress[0] && progress[0] > 0;
        },
        kLong));
    world.FreezeWorker();
    ASSERT_TRUE(world.RunUntil([&] { return world.Finished(); }, kLong));
    const std::vector<core::Step> progress = world.Progress();
    world.WakeAll();
    ASSERT_TRUE(world.RunFor(absl::Minutes(1)));
    ASSERT_THAT(world.frozen_workers(), SizeIs(1));
    const auto zombies = world.frozen_workers()[0]->dispatcher->Statuses();
    ASSERT_THAT(zombies, SizeIs(1));
    EXPECT_EQ(zombies[0].state, core::ConnectorState::kFailed);
    EXPECT_EQ(world.Progress(), progress);
    world.CheckComplete();
    EXPECT_EQ(world.violation(), "");
  }
}

// Stops the worker, which has not opened the target yet, lets another one do
// so, and wakes the first.
void ExpectThatALateOpenIsRefused(World& world) {
  world.FreezeWorker();
  ASSERT_TRUE(world.RunUntil([&] { return !world.Progress().empty(); }, kLong));
  world.WakeAll();
  ASSERT_TRUE(world.RunUntil([&] { return world.Finished(); }, kLong))
      << world.violation();
  ASSERT_THAT(world.frozen_workers(), SizeIs(1));
  EXPECT_THAT(world.frozen_workers()[0]->dispatcher->Statuses(), SizeIs(0));
  world.CheckComplete();
  EXPECT_EQ(world.violation(), "");
}

bool IsOpening(World& world) {
  return world.worker()->dispatcher->Find(kConnector) != nullptr &&
         world.Progress().empty();
}

// The same request was carried out by another worker meanwhile.
TEST_P(ZombieWorkerTest, AnOpenThatWakesTooLateIsRefused) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(QuietPlan(seed, GetParam(), true));
    world.Start();
    ASSERT_TRUE(world.RunUntil([&] { return IsOpening(world); }, kLong));
    ASSERT_NO_FATAL_FAILURE(ExpectThatALateOpenIsRefused(world));
  }
}

TEST_P(ZombieWorkerTest, AnOpenOfALowerWriterIsRefused) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(QuietPlan(seed, GetParam(), true));
    world.Start();
    ASSERT_TRUE(world.RunUntil([&] { return IsOpening(world); }, kLong));
    world.FreezeController();
    ASSERT_NO_FATAL_FAILURE(ExpectThatALateOpenIsRefused(world));
  }
}

INSTANTIATE_TEST_SUITE_P(EachSink, ZombieWorkerTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& test) {
                           return test.param ? "File" : "Fake";
                         });

}  // namespace
}  // namespace penstock::simulation
