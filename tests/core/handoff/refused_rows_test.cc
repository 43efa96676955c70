#include "core/handoff/refused_rows.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using ::testing::HasSubstr;

// How many refusals pass before one is too many.
int PassBeforeTheLimit(RefusedRows& rows, int most = 10'000) {
  for (int passed = 0; passed < most; ++passed) {
    if (!rows.AddRefused().ok()) return passed;
  }
  return most;
}

TEST(RefusedRowsTest, StopsAboveTheShareOfTheWindowAlsoAtTheBeginning) {
  RefusedRows rows({.ratio_max = 0.1, .window_rows = 1'000});
  EXPECT_EQ(PassBeforeTheLimit(rows), 100);
}

TEST(RefusedRowsTest, TakenRowsPushRefusedOnesOutOfTheWindow) {
  RefusedRows rows({.ratio_max = 0.1, .window_rows = 1'000});
  for (int i = 0; i < 100; ++i) ASSERT_OK(rows.AddRefused());
  rows.AddTaken(1'000);
  EXPECT_EQ(PassBeforeTheLimit(rows), 100);
}

TEST(RefusedRowsTest, RefusedRowsStayForAWholeWindow) {
  RefusedRows rows({.ratio_max = 0.1, .window_rows = 1'000});
  for (int i = 0; i < 100; ++i) ASSERT_OK(rows.AddRefused());
  rows.AddTaken(799);
  EXPECT_THAT(rows.AddRefused(), HasReason(Reason::TOO_MANY_BAD_ROWS));
}

TEST(RefusedRowsTest, FewBadRowsForEverAreNoReasonToStop) {
  RefusedRows rows({.ratio_max = 0.1, .window_rows = 100});
  for (int i = 0; i < 10'000; ++i) {
    rows.AddTaken(19);
    ASSERT_OK(rows.AddRefused());
  }
}

TEST(RefusedRowsTest, StopsAboveTheTotalHoweverManyRowsWereTaken) {
  RefusedRows rows({.total_max = 3, .ratio_max = 1.0});
  rows.AddTaken(uint64_t{1} << 60);
  EXPECT_EQ(PassBeforeTheLimit(rows), 3);
  const absl::Status error = rows.AddRefused();
  EXPECT_THAT(error, HasReason(Reason::TOO_MANY_BAD_ROWS));
  EXPECT_THAT(std::string(error.message()), HasSubstr("total_max is 3"));
}

TEST(RefusedRowsTest, WithoutLimitsAllMayBeBad) {
  RefusedRows rows({.ratio_max = 1.0, .window_rows = 10});
  EXPECT_EQ(PassBeforeTheLimit(rows), 10'000);
}

TEST(RefusedRowsTest, ATotalOfZeroStopsAtTheFirst) {
  RefusedRows rows({.total_max = 0, .ratio_max = 1.0});
  EXPECT_EQ(PassBeforeTheLimit(rows), 0);
}

}  // namespace
}  // namespace penstock::core
