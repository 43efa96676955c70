#include "core/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

namespace penstock::core {
namespace {

using ::testing::MatchesRegex;

// Seeds of simulations stay valid only as long as these numbers do. They were
// computed from the published algorithms by an independent program.
TEST(RandomTest, SequenceOfASeedIsFrozen) {
  Random random(42);
  EXPECT_EQ(random.Next64(), 1546998764402558742u);
  EXPECT_EQ(random.Next64(), 6990951692964543102u);
  EXPECT_EQ(random.Next64(), 12544586762248559009u);
}

TEST(RandomTest, EqualSeedsGiveEqualSequences) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.Next64(), b.Next64());
}

TEST(RandomTest, OtherSeedsGiveOtherSequences) {
  EXPECT_NE(Random(0).Next64(), Random(1).Next64());
}

TEST(RandomTest, UniformReachesAllAndOnlyWhatIsBelowTheBound) {
  Random random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.Uniform(7));
  // Seven standard deviations around 10,000.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 650);
}

TEST(RandomTest, UniformOfOneIsZero) { EXPECT_EQ(Random(1).Uniform(1), 0u); }

TEST(RandomTest, UniformInIncludesBothEnds) {
  Random random(1);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.UniformIn(-1, 1));
  EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1}));
}

TEST(RandomTest, UniformInCoversTheWholeRange) {
  Random random(1);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = random.UniformIn(std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<int64_t>::max());
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(RandomTest, DoubleStaysBelowOneAndIsCentred) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.Double();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.03);
}

TEST(RandomTest, BernoulliKeepsItsEnds) {
  Random random(1);
  int hits = 0;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_FALSE(random.Bernoulli(0));
    ASSERT_TRUE(random.Bernoulli(1));
    hits += random.Bernoulli(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2500, 350);
}

TEST(RandomTest, ForksDiffer) {
  Random random(1);
  EXPECT_NE(random.Fork().Next64(), random.Fork().Next64());
}

TEST(RandomDeathTest, EmptyRangesAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Random random(1);
  EXPECT_DEATH(random.Uniform(0), "bound > 0");
  EXPECT_DEATH(random.UniformIn(2, 1), "low <= high");
}

TEST(SeededFromEntropyTest, DiffersEachTime) {
  EXPECT_NE(SeededFromEntropy().Next64(), SeededFromEntropy().Next64());
}

TEST(RandomIdTest, Is32HexadecimalDigitsAndNeverTheSame) {
  Random random(1);
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = RandomId(random);
    ASSERT_THAT(id, MatchesRegex("[0-9a-f]+"));
    ASSERT_EQ(id.size(), 32u);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace penstock::core
