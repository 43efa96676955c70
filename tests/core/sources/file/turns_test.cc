#include "core/sources/file/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;

TEST(TurnsTest, NobodyIsNextAtFirst) {
  Turns turns;
  EXPECT_TRUE(turns.IsEmpty());
  EXPECT_EQ(turns.Next(), std::nullopt);
}

TEST(TurnsTest, EachHasItsTurnInOrder) {
  Turns turns;
  for (const uint32_t id : {5, 3, 9}) turns.Add(id);
  std::vector<uint32_t> order;
  for (int i = 0; i < 7; ++i) {
    order.push_back(*turns.Next());
    turns.GoOn(true);
  }
  EXPECT_THAT(order, ElementsAre(5, 3, 9, 5, 3, 9, 5));
}

TEST(TurnsTest, WhoDoesNotGoOnIsOut) {
  Turns turns;
  turns.Add(1);
  EXPECT_EQ(turns.Next(), 1u);
  EXPECT_TRUE(turns.IsEmpty());
  EXPECT_EQ(turns.Next(), std::nullopt);
}

TEST(TurnsTest, OnlySoManyAreUnderWay) {
  Turns turns;
  for (uint32_t id = 0; id < 2 * Turns::kUnderWayMax; ++id) turns.Add(id);
  std::set<uint32_t> seen;
  for (size_t i = 0; i < Turns::kUnderWayMax * (Turns::kTurnsMax - 1); ++i) {
    seen.insert(*turns.Next());
    turns.GoOn(true);
  }
  EXPECT_EQ(seen.size(), Turns::kUnderWayMax);
}

TEST(TurnsTest, WhoHadManyTurnsGivesWay) {
  Turns turns;
  for (uint32_t id = 0; id <= Turns::kUnderWayMax; ++id) turns.Add(id);
  std::set<uint32_t> seen;
  bool gave_way = false;
  for (size_t i = 0; i < 2 * Turns::kUnderWayMax * Turns::kTurnsMax; ++i) {
    seen.insert(*turns.Next());
    if (!turns.GoOn(true)) gave_way = true;
  }
  EXPECT_TRUE(gave_way);
  EXPECT_EQ(seen.size(), Turns::kUnderWayMax + 1);
}

TEST(TurnsTest, WhoMayNotGiveWayDoesNot) {
  Turns turns;
  for (uint32_t id = 0; id <= Turns::kUnderWayMax; ++id) turns.Add(id);
  for (size_t i = 0; i < 2 * Turns::kUnderWayMax * Turns::kTurnsMax; ++i) {
    ASSERT_NE(turns.Next(), std::nullopt);
    ASSERT_TRUE(turns.GoOn(false));
  }
}

}  // namespace
}  // namespace penstock::core
