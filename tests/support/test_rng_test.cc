#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace penstock::core {
namespace {

TEST(TestSeedTest, IsTheOneGiven) {
  const char* const before = std::getenv("PENSTOCK_TEST_SEED");
  if (before != nullptr) GTEST_SKIP() << "a seed is given";
  ASSERT_EQ(::setenv("PENSTOCK_TEST_SEED", "17", 1), 0);
  EXPECT_EQ(TestSeed(), 17u);
  EXPECT_EQ(TestRandom().Next64(), Random(17).Next64());
  ASSERT_EQ(::unsetenv("PENSTOCK_TEST_SEED"), 0);
}

TEST(TestSeedTest, DiffersWhenNoneIsGiven) {
  if (std::getenv("PENSTOCK_TEST_SEED") != nullptr) {
    GTEST_SKIP() << "a seed is given";
  }
  EXPECT_NE(TestSeed(), TestSeed());
}

}  // namespace
}  // namespace penstock::core
