// A worker dies at each write to the disk, at each call of a target.
// See tests/simulation/README.md.
#include "core/base/random.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace penstock::simulation {
namespace {

// What a process does to the disk, and where it dies of it.
struct DiskCase {
  std::string name;
  core::FakeFileSystem::HaltEffect effect;
  // nullopt: only the process dies.
  std::optional<core::FakeFileSystem::Unsynced> unsynced;
};

class DiskFaultTest : public testing::TestWithParam<DiskCase> {};

TEST_P(DiskFaultTest, AWorkerMayDieAtEachWriteToTheDisk) {
  core::Random random(1);
  uint64_t operation = 1;
  bool halted = true;
  // Until a run ends before it has done that many.
  for (; halted; ++operation) {
    SCOPED_TRACE(absl::StrCat("operation ", operation));
    Plan plan = QuietPlan(operation, /*file_sink=*/true, false);
    plan.records.resize(100);
    plan.checkpoint_interval = absl::Milliseconds(30);
    World world(std::move(plan));
    world.Start();
    world.data_disk().HaltAt(operation, GetParam().effect);
    halted = world.RunUntil(
        [&] { return world.data_disk().halted() || world.Finished(); },
        absl::Minutes(1));
    ASSERT_TRUE(halted) << world.Describe();
    halted = world.data_disk().halted();
    if (halted && GetParam().unsynced.has_value()) {
      world.LosePower(*GetParam().unsynced, random, absl::ZeroDuration());
    } else if (halted) {
      world.KillWorker(absl::ZeroDuration());
      world.data_disk().KillProcess();
    }
    ASSERT_TRUE(
        world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)))
        << world.violation() << world.Describe();
    world.CheckComplete();
    ASSERT_EQ(world.violation(), "");
  }
  EXPECT_GT(operation, 50u);
}

INSTANTIATE_TEST_SUITE_P(
    Each, DiskFaultTest,
    testing::Values(
        DiskCase{"BeforeKill", core::FakeFileSystem::HaltEffect::kBefore, {}},
        DiskCase{"AfterKill", core::FakeFileSystem::HaltEffect::kAfter, {}},
        DiskCase{"BeforePowerLoss", core::FakeFileSystem::HaltEffect::kBefore,
                 core::FakeFileSystem::Unsynced::kLost},
        DiskCase{"AfterPowerLoss", core::FakeFileSystem::HaltEffect::kAfter,
                 core::FakeFileSystem::Unsynced::kLost},
        DiskCase{"AfterPowerLossOfSome",
                 core::FakeFileSystem::HaltEffect::kAfter,
                 core::FakeFileSystem::Unsynced::kRandomPrefix}),
    [](const testing::TestParamInfo<DiskCase>& test) {
      return test.param.name;
    });

// The same for the transactional target: before an operation takes effect, or
// after it did and nobody heard of it.
class TargetFaultTest : public testing::TestWithParam<std::tuple<bool, bool>> {
};

TEST_P(TargetFaultTest, AWorkerMayDieAtEachCallOfTheTarget) {
  const auto [separate_committer, takes_effect] = GetParam();
  int last = 1;
  bool died = true;
  for (; died; ++last) {
    SCOPED_TRACE(absl::StrCat("call ", last));
    Plan plan = QuietPlan(static_cast<uint64_t>(last), /*file_sink=*/false,
                          separate_committer);
    plan.records.resize(100);
    plan.checkpoint_interval = absl::Milliseconds(30);
    World world(std::move(plan));
    int calls = 0;
    world.database().SetHook(
        [&world, &calls, last,
         takes_effect = takes_effect](const core::FakeDatabase::Call&)
            -> std::optional<core::FakeDatabase::Fault> {
          if (++calls != last) return std::nullopt;
          world.CrashWorkerHere(nullptr);
          return core::FakeDatabase::Fault{
              .status = absl::UnavailableError("the worker dies"),
              .lost = takes_effect};
        });
    world.Start();
    ASSERT_TRUE(
        world.RunUntil([&] { return world.Finished(); }, absl::Minutes(1)))
        << world.violation() << world.Describe();
    world.CheckComplete();
    ASSERT_EQ(world.violation(), "");
    died = world.outcome().kills > 0;
  }
  EXPECT_GT(last, 30);
}

INSTANTIATE_TEST_SUITE_P(
    Each, TargetFaultTest, testing::Combine(testing::Bool(), testing::Bool()),
    [](const testing::TestParamInfo<std::tuple<bool, bool>>& test) {
      return absl::StrCat(std::get<1>(test.param) ? "After" : "Before",
                          std::get<0>(test.param) ? "WithCommitter" : "");
    });

}  // namespace
}  // namespace penstock::simulation
