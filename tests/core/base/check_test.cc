#include "core/base/check.h"

#include "core/base/error.h"

#include <absl/status/statusor.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace penstock::core {
namespace {

enum class Colour { kRed = 3, kGreen = 4 };

struct Opaque {
  int value;
  bool operator==(const Opaque&) const = default;
};

class CheckDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CheckDeathTest, FailedCheckPrintsPlaceConditionAndMessage) {
  EXPECT_DEATH(CHECK(1 > 2) << "shard " << 7,
               "check_test.cc:.*check failed: 1 > 2 shard 7");
}

TEST_F(CheckDeathTest, FailedComparisonPrintsBothValues) {
  const int rows = 3;
  EXPECT_DEATH(CHECK_EQ(rows, 4) << "in step",
               "check failed: rows == 4 \\(3 vs. 4\\) in step");
}

TEST_F(CheckDeathTest, FailedComparisonPrintsEnumsAsNumbers) {
  EXPECT_DEATH(CHECK_EQ(Colour::kRed, Colour::kGreen), "\\(3 vs. 4\\)");
}

TEST_F(CheckDeathTest, FailedComparisonOfUnprintableTypesStillAborts) {
  EXPECT_DEATH(CHECK_EQ(Opaque{1}, Opaque{2}), "a value of 4 bytes");
}

TEST_F(CheckDeathTest, FailedCheckOkPrintsTheStatus) {
  EXPECT_DEATH(CHECK_OK(MakeError(Reason::STEP_GAP, "gap of 3")), "gap of 3");
}

TEST_F(CheckDeathTest, EveryComparisonCanFail) {
  EXPECT_DEATH(CHECK_NE(1, 1), "1 != 1");
  EXPECT_DEATH(CHECK_LT(2, 2), "2 < 2");
  EXPECT_DEATH(CHECK_LE(3, 2), "3 <= 2");
  EXPECT_DEATH(CHECK_GT(2, 2), "2 > 2");
  EXPECT_DEATH(CHECK_GE(2, 3), "2 >= 3");
}

TEST_F(CheckDeathTest, SignDoesNotMatterToComparisons) {
  // As built-in operators would have it, -1 is above every unsigned number.
  CHECK_LT(-1, uint64_t{1});
  EXPECT_DEATH(CHECK_GT(-1, std::numeric_limits<uint64_t>::max()), "-1 vs");
}

#ifdef NDEBUG
TEST(CheckTest, DcheckDoesNotEvaluateInRelease) {
  int evaluations = 0;
  DCHECK(++evaluations > 99) << "not reached";
  DCHECK_EQ(++evaluations, 99);
  EXPECT_EQ(evaluations, 0);
}
#else
TEST_F(CheckDeathTest, DcheckAbortsInDebug) {
  EXPECT_DEATH(DCHECK(false), "check failed");
  EXPECT_DEATH(DCHECK_GE(1, 2), "1 >= 2");
}
#endif

TEST(CheckTest, HoldingChecksEvaluateOnceAndNoMessage) {
  int evaluations = 0;
  int messages = 0;
  CHECK(++evaluations == 1) << ++messages;
  CHECK_EQ(++evaluations, 2) << ++messages;
  CHECK_OK(absl::StatusOr<int>(7)) << ++messages;
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(messages, 0);
}

TEST(CheckTest, ElseBindsToTheIfAroundTheCheck) {
  const std::string text = "x";
  bool else_taken = false;
  if (text.empty())
    CHECK(true);
  else
    else_taken = true;
  EXPECT_TRUE(else_taken);
}

}  // namespace
}  // namespace penstock::core
