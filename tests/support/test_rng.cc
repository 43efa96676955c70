#include "tests/support/test_rng.h"

#include "core/base/check.h"
#include "core/base/environment.h"

#include <absl/strings/numbers.h>
#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <string>

namespace penstock::core {

uint64_t TestSeed() {
  uint64_t seed = 0;
  const std::optional<std::string> given = GetEnv("PENSTOCK_TEST_SEED");
  if (given.has_value()) {
    CHECK(absl::SimpleAtoi(*given, &seed)) << "PENSTOCK_TEST_SEED=" << *given;
  } else {
    seed = SeededFromEntropy().Next64();
  }
  std::cout << "PENSTOCK_TEST_SEED=" << seed << std::endl;
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

Random TestRandom() { return Random(TestSeed()); }

}  // namespace penstock::core
