#include "core/format/rows/field_finder.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

constexpr uint32_t kNone = FieldFinder::kNone;

TEST(FieldFinderTest, FindsByExactName) {
  const std::vector<Column> columns = {{.name = "id"}, {.name = "Name"}};
  FieldFinder finder(columns);
  EXPECT_EQ(finder.Find("id", 0), 0u);
  EXPECT_EQ(finder.Find("Name", 1), 1u);
  EXPECT_EQ(finder.Find("name", 1), kNone);
  EXPECT_EQ(finder.Find("", 5), kNone);
}

TEST(FieldFinderTest, WhatStoodAtAPlaceBeforeDecidesNothing) {
  const std::vector<Column> columns = {{.name = "a"}, {.name = "b"}};
  FieldFinder finder(columns);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(finder.Find("a", 0), 0u);
    EXPECT_EQ(finder.Find("b", 0), 1u);
    EXPECT_EQ(finder.Find("c", 0), kNone);
    EXPECT_EQ(finder.Find("c", 0), kNone);
    EXPECT_EQ(finder.Find("", 0), kNone);
  }
}

TEST(FieldFinderTest, FarPlacesAndLongNamesAreFoundToo) {
  const std::string longest(256, 'n');
  const std::vector<Column> columns = {{.name = longest}, {.name = "b"}};
  FieldFinder finder(columns);
  EXPECT_EQ(finder.Find(longest, 0), 0u);
  EXPECT_EQ(finder.Find(longest + "n", 0), kNone);
  for (size_t place : {255u, 256u, 1'000'000u}) {
    EXPECT_EQ(finder.Find("b", place), 1u);
    EXPECT_EQ(finder.Find("b", place), 1u);
  }
}

}  // namespace
}  // namespace penstock::core
