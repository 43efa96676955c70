#include "core/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace penstock::core {
namespace {

TEST(GetEnvTest, TellsUnsetFromEmpty) {
  ASSERT_EQ(::setenv("PENSTOCK_ENVIRONMENT_TEST", "", 1), 0);
  EXPECT_EQ(GetEnv("PENSTOCK_ENVIRONMENT_TEST"), "");
  ASSERT_EQ(::unsetenv("PENSTOCK_ENVIRONMENT_TEST"), 0);
  EXPECT_EQ(GetEnv("PENSTOCK_ENVIRONMENT_TEST"), std::nullopt);
}

TEST(GetEnvTest, GivesTheValue) {
  ASSERT_EQ(::setenv("PENSTOCK_ENVIRONMENT_TEST", "a=b", 1), 0);
  EXPECT_EQ(GetEnv("PENSTOCK_ENVIRONMENT_TEST"), "a=b");
  ASSERT_EQ(::unsetenv("PENSTOCK_ENVIRONMENT_TEST"), 0);
}

}  // namespace
}  // namespace penstock::core
