#include "core/contract/ft_model.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(FtModelTest, LevelsHaveNames) {
  EXPECT_EQ(LevelName(std::nullopt), "none");
  EXPECT_EQ(LevelName(FtModel::kAtLeastOnce), "at_least_once");
  EXPECT_EQ(LevelName(FtModel::kExactlyOnce), "exactly_once");
}

TEST(FtModelTest, LevelsAreOrdered) {
  const std::optional<FtModel> none;
  const std::optional<FtModel> at_least_once = FtModel::kAtLeastOnce;
  const std::optional<FtModel> exactly_once = FtModel::kExactlyOnce;
  EXPECT_LT(none, at_least_once);
  EXPECT_LT(at_least_once, exactly_once);
}

}  // namespace
}  // namespace penstock::core
