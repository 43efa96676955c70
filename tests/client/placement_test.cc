#include "client/placement.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::client {
namespace {

TEST(PlacementTest, AWorkerLessMovesOnlyWhatItHad) {
  const std::vector<std::string> three = {"a", "b", "c"};
  const std::vector<std::string> two = {"c", "a"};
  std::vector<int> counts(3);
  for (int i = 0; i < 3000; ++i) {
    const std::string name = absl::StrCat("connector-", i);
    const std::string before = three[PlaceOf(name, three)];
    ++counts[PlaceOf(name, three)];
    if (before == "b") continue;
    EXPECT_EQ(two[PlaceOf(name, two)], before);
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace penstock::client
