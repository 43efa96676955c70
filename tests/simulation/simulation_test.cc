// Runs many seeds. A failure prints the seed; run it alone with
//   PENSTOCK_SIMULATION_SEED=<seed> simulation_tests
#include "core/base/environment.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace penstock::simulation {
namespace {

uint64_t Number(const char* name, uint64_t otherwise) {
  uint64_t number = 0;
  const auto text = core::GetEnv(name);
  return text.has_value() && absl::SimpleAtoi(*text, &number) ? number
                                                              : otherwise;
}

// Each part runs its share of the seeds, so that ctest uses both cores.
class SimulationTest : public testing::TestWithParam<uint64_t> {};

constexpr uint64_t kParts = 10;

TEST_P(SimulationTest, EverySeedDeliversEachRecordExactlyOnce) {
  const uint64_t seeds = Number("PENSTOCK_SIMULATION_SEEDS", 1200);
  const uint64_t first = Number("PENSTOCK_SIMULATION_FIRST", 1);
  Outcome all;
  for (uint64_t i = GetParam(); i < seeds; i += kParts) {
    const uint64_t seed = first + i;
    const Outcome outcome = World(DrawPlan(seed)).Run();
    ASSERT_EQ(outcome.violation, "") << "seed " << seed;
    all.events += outcome.events;
    all.kills += outcome.kills;
    all.freezes += outcome.freezes;
    all.power_losses += outcome.power_losses;
  }
  // A simulation without faults would prove nothing.
  EXPECT_GT(all.kills, 0u);
  EXPECT_GT(all.freezes, 0u);
  EXPECT_GT(all.power_losses, 0u);
  RecordProperty("events", absl::StrCat(all.events));
  RecordProperty("kills", absl::StrCat(all.kills));
}

INSTANTIATE_TEST_SUITE_P(Part, SimulationTest,
                         testing::Range(uint64_t{0}, kParts));

TEST(SimulationSeedTest, OneSeedRunsAlone) {
  const uint64_t seed = Number("PENSTOCK_SIMULATION_SEED", 0);
  if (seed == 0) GTEST_SKIP() << "PENSTOCK_SIMULATION_SEED is not set";
  EXPECT_EQ(World(DrawPlan(seed)).Run().violation, "");
}

}  // namespace
}  // namespace penstock::simulation
