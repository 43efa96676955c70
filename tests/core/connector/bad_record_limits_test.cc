#include "core/connector/bad_record_limits.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

TEST(CheckBadRecordsTest, ByDefaultNoNumberIsTooMany) {
  EXPECT_OK(CheckBadRecords({}, {.bad = UINT64_MAX / 2, .good = 0}));
}

TEST(CheckBadRecordsTest, MoreThanTheTotalAreTooMany) {
  const BadRecordLimits limits = {.total_max = 3};
  EXPECT_OK(CheckBadRecords(limits, {.bad = 3}));
  const absl::Status status = CheckBadRecords(limits, {.bad = 4, .good = 9});
  EXPECT_THAT(status, HasReason(Reason::TOO_MANY_BAD_ROWS));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("4 of 13 could not be parsed"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bad_records.total_max is 3"));
}

TEST(CheckBadRecordsTest, NoneMayBeTooMany) {
  EXPECT_OK(CheckBadRecords({.total_max = 0}, {.good = 7}));
  EXPECT_THAT(CheckBadRecords({.total_max = 0}, {.bad = 1, .good = 7}),
              HasReason(Reason::TOO_MANY_BAD_ROWS));
}

TEST(CheckBadRecordsTest, ALargerShareIsTooMuch) {
  const BadRecordLimits limits = {.ratio_max = 0.1, .records_min = 100};
  EXPECT_OK(CheckBadRecords(limits, {.bad = 10, .good = 90}));
  const absl::Status status = CheckBadRecords(limits, {.bad = 11, .good = 90});
  EXPECT_THAT(status, HasReason(Reason::TOO_MANY_BAD_ROWS));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bad_records.ratio_max is 0.1"));
}

TEST(CheckBadRecordsTest, OfFewRecordsNoShareIsTooMuch) {
  const BadRecordLimits limits = {.ratio_max = 0.1, .records_min = 100};
  EXPECT_OK(CheckBadRecords(limits, {.bad = 99}));
  EXPECT_THAT(CheckBadRecords(limits, {.bad = 100}),
              HasReason(Reason::TOO_MANY_BAD_ROWS));
}

}  // namespace
}  // namespace penstock::core
