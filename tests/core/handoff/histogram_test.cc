#include "core/handoff/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;

constexpr double kBounds[] = {1, 10};

TEST(HistogramTest, AValueOnABoundBelongsBelowIt) {
  Histogram histogram(kBounds);
  histogram.Record(1);
  histogram.Record(1.5);
  histogram.Record(10);
  histogram.Record(11);
  EXPECT_THAT(histogram.counts(), ElementsAre(1, 2, 1));
}

TEST(HistogramTest, ItKeepsTheSum) {
  Histogram histogram(kBounds);
  histogram.Record(2);
  histogram.Record(40);
  EXPECT_EQ(histogram.sum(), 42.0);
}

}  // namespace
}  // namespace penstock::core
