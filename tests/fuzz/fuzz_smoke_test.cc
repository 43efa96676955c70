// What the fuzzers run, for every compiler: each seed, and each seed damaged in
// many ways.
#include "tests/core/format/random_lines.h"
#include "tests/fuzz/fuzz_format.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

std::vector<std::string> SeedsOf(const std::string& format) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(PENSTOCK_FUZZ_SEEDS) / format)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return seeds;
}

class FuzzSmokeTest : public testing::TestWithParam<std::string> {};

TEST_P(FuzzSmokeTest, EverySeedIsParsedToTheSameHoweverItIsCut) {
  const std::vector<std::string> seeds = SeedsOf(GetParam());
  ASSERT_THAT(seeds, testing::Not(testing::IsEmpty()));
  for (const std::string& seed : seeds) {
    for (int choice = 0; choice < 256; ++choice) {
      FuzzFormat(GetParam(), std::string(1, static_cast<char>(choice)) + seed);
    }
  }
}

TEST_P(FuzzSmokeTest, SoIsWhatIsDamaged) {
  Random random = TestRandom();
  const std::vector<std::string> seeds = SeedsOf(GetParam());
  for (int round = 0; round < 3'000; ++round) {
    std::string text = seeds[random.Uniform(seeds.size())];
    if (random.Bernoulli(0.5)) text += seeds[random.Uniform(seeds.size())];
    const char choice = static_cast<char>(random.Uniform(256));
    FuzzFormat(GetParam(),
               std::string(1, choice) + Damage(std::move(text), random));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzSmokeTest, testing::ValuesIn(FuzzedFormats()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace penstock::core
