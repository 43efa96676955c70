// Runs many seeds. A failure prints the seed; run it alone with
//   PENSTOCK_SIMULATION_SEED=<seed> simulation_tests
#include "core/base/environment.h"
#include "tests/simulation/trouble.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace penstock::simulation {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kSeeds = 600;
#else
constexpr uint64_t kSeeds = 5000;
#endif

uint64_t Number(const char* name, uint64_t otherwise) {
  uint64_t number = 0;
  const auto text = core::GetEnv(name);
  return text.has_value() && absl::SimpleAtoi(*text, &number) ? number
                                                              : otherwise;
}

// Each part runs its share of the seeds, so that ctest uses both cores.
class SimulationTest : public testing::TestWithParam<uint64_t> {};

constexpr uint64_t kParts = 5;

TEST_P(SimulationTest, EverySeedDeliversEachRecordExactlyOnce) {
  const uint64_t seeds = Number("PENSTOCK_SIMULATION_SEEDS", kSeeds);
  const uint64_t first = Number("PENSTOCK_SIMULATION_FIRST", 1);
  Outcome all;
  uint64_t connectors_max = 0;
  uint64_t workers_max = 0;
  absl::Duration peace_max;
  for (uint64_t i = GetParam(); i < seeds; i += kParts) {
    const uint64_t seed = first + i;
    const SeedOutcome ended = RunSeed(seed);
    ASSERT_EQ(ended.outcome.violation, "") << "seed " << seed;
    connectors_max = std::max(connectors_max, ended.outcome.connectors);
    workers_max = std::max(workers_max, ended.outcome.workers);
    all.moves += ended.outcome.moves;
    all.events += ended.outcome.events;
    all.kills += ended.outcome.kills;
    all.freezes += ended.outcome.freezes;
    all.full_disks += ended.outcome.full_disks;
    all.overdue += ended.outcome.overdue;
    all.power_losses += ended.outcome.power_losses;
    all.tampers += ended.outcome.tampers;
    all.mismatches += ended.outcome.mismatches;
    all.replayed += ended.outcome.replayed;
    all.already_held += ended.outcome.already_held;
    all.specs_at_once += ended.outcome.specs_at_once;
    all.specs_clean += ended.outcome.specs_clean;
    all.doubled += ended.outcome.doubled;
    all.letters += ended.outcome.letters;
    all.adopted += ended.outcome.adopted;
    peace_max = std::max(peace_max, ended.peace);
  }
  // A simulation without faults would prove nothing.
  EXPECT_GT(connectors_max, 1u);
  EXPECT_GT(workers_max, 2u);
  EXPECT_GT(all.moves, 0u);
  EXPECT_GT(all.kills, 0u);
  EXPECT_GT(all.freezes, 0u);
  EXPECT_GT(all.power_losses, 0u);
  EXPECT_GT(all.full_disks, 0u);
  EXPECT_GT(all.overdue, 0u);
  EXPECT_GT(all.replayed, 0u);
  EXPECT_GT(all.already_held, 0u);
  EXPECT_GT(all.mismatches, 0u);
  EXPECT_GT(all.specs_at_once, 0u);
  EXPECT_GT(all.specs_clean, 0u);
  EXPECT_GT(all.letters, 0u);
  EXPECT_GT(all.doubled, 0u);
  EXPECT_GT(all.adopted, 0u);
  RecordProperty("events", absl::StrCat(all.events));
  RecordProperty("moves", absl::StrCat(all.moves));
  RecordProperty("kills", absl::StrCat(all.kills));
  RecordProperty("freezes", absl::StrCat(all.freezes));
  RecordProperty("power_losses", absl::StrCat(all.power_losses));
  RecordProperty("full_disks", absl::StrCat(all.full_disks));
  RecordProperty("overdue", absl::StrCat(all.overdue));
  RecordProperty("tampers", absl::StrCat(all.tampers));
  RecordProperty("mismatches", absl::StrCat(all.mismatches));
  RecordProperty("replayed", absl::StrCat(all.replayed));
  RecordProperty("already_held", absl::StrCat(all.already_held));
  RecordProperty("specs_at_once", absl::StrCat(all.specs_at_once));
  RecordProperty("specs_clean", absl::StrCat(all.specs_clean));
  RecordProperty("doubled", absl::StrCat(all.doubled));
  RecordProperty("letters", absl::StrCat(all.letters));
  RecordProperty("adopted", absl::StrCat(all.adopted));
  RecordProperty("peace_max", absl::FormatDuration(peace_max));
}

INSTANTIATE_TEST_SUITE_P(Part, SimulationTest,
                         testing::Range(uint64_t{0}, kParts));

TEST(SimulationSeedTest, OneSeedRunsAlone) {
  const uint64_t seed = Number("PENSTOCK_SIMULATION_SEED", 0);
  if (seed == 0) GTEST_SKIP() << "PENSTOCK_SIMULATION_SEED is not set";
  EXPECT_EQ(RunSeed(seed).outcome.violation, "");
}

// Each line of seeds/found.txt: a seed, a date, a bug that it found.
std::vector<uint64_t> FoundSeeds() {
  std::vector<uint64_t> seeds;
  std::ifstream file(PENSTOCK_SIMULATION_FOUND);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    uint64_t seed = 0;
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(0, line.find(' ')), &seed))
        << line;
    seeds.push_back(seed);
  }
  return seeds;
}

TEST(SimulationSeedTest, SeedsThatFoundBugsPass) {
  const std::vector<uint64_t> seeds = FoundSeeds();
  EXPECT_FALSE(seeds.empty());
  for (const uint64_t seed : seeds) {
    EXPECT_EQ(RunSeed(seed).outcome.violation, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock::simulation
