#include "server/rpc/position_cache.h"

#include <gtest/gtest.h>

#include <optional>

namespace penstock::server {
namespace {

TEST(PositionCacheTest, KnowsThePositionOfItsInstanceOnly) {
  PositionCache cache;
  cache.Keep("c", "i", "p");
  EXPECT_EQ(cache.Get("c", "i"), "p");
  EXPECT_EQ(cache.Get("c", "j"), std::nullopt);
  EXPECT_EQ(cache.Get("d", "i"), std::nullopt);
}

TEST(PositionCacheTest, ANewInstanceReplacesTheOld) {
  PositionCache cache;
  cache.Keep("c", "i", "p");
  cache.Keep("c", "j", "q");
  EXPECT_EQ(cache.Get("c", "i"), std::nullopt);
  EXPECT_EQ(cache.Get("c", "j"), "q");
}

TEST(PositionCacheTest, AnotherInstanceForgetsNothing) {
  PositionCache cache;
  cache.Keep("c", "i", "p");
  cache.Forget("c", "j");
  EXPECT_EQ(cache.Get("c", "i"), "p");
  cache.Forget("c", "i");
  EXPECT_EQ(cache.Get("c", "i"), std::nullopt);
}

TEST(PositionCacheTest, WithoutAnInstanceItForgetsWhatThereIs) {
  PositionCache cache;
  cache.Keep("c", "i", "p");
  cache.Forget("c", "");
  EXPECT_EQ(cache.Get("c", "i"), std::nullopt);
}

}  // namespace
}  // namespace penstock::server
