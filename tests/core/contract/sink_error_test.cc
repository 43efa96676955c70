#include "core/contract/sink_error.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::core {
namespace {

using Kind = SinkErrorKind;

struct CodeCase {
  const char* name;
  absl::StatusCode code;
  Kind kind;
};

class KindOfCodeTest : public ::testing::TestWithParam<CodeCase> {};

TEST_P(KindOfCodeTest, AnErrorWithoutAReasonGoesByItsCode) {
  EXPECT_EQ(KindOfSinkError(absl::Status(GetParam().code, "")),
            GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, KindOfCodeTest,
    ::testing::Values(
        CodeCase{"Unavailable", absl::StatusCode::kUnavailable,
                 Kind::kRetryable},
        CodeCase{"Deadline", absl::StatusCode::kDeadlineExceeded,
                 Kind::kRetryable},
        CodeCase{"Exhausted", absl::StatusCode::kResourceExhausted,
                 Kind::kRetryable},
        CodeCase{"Aborted", absl::StatusCode::kAborted, Kind::kRetryable},
        CodeCase{"Invalid", absl::StatusCode::kInvalidArgument, Kind::kBadRow},
        CodeCase{"Cancelled", absl::StatusCode::kCancelled, Kind::kFatal},
        CodeCase{"Unknown", absl::StatusCode::kUnknown, Kind::kFatal},
        CodeCase{"NotFound", absl::StatusCode::kNotFound, Kind::kFatal},
        CodeCase{"Exists", absl::StatusCode::kAlreadyExists, Kind::kFatal},
        CodeCase{"Permission", absl::StatusCode::kPermissionDenied,
                 Kind::kFatal},
        CodeCase{"Precondition", absl::StatusCode::kFailedPrecondition,
                 Kind::kFatal},
        CodeCase{"Range", absl::StatusCode::kOutOfRange, Kind::kFatal},
        CodeCase{"Unimplemented", absl::StatusCode::kUnimplemented,
                 Kind::kFatal},
        CodeCase{"Internal", absl::StatusCode::kInternal, Kind::kFatal},
        CodeCase{"DataLoss", absl::StatusCode::kDataLoss, Kind::kFatal},
        CodeCase{"Unauthenticated", absl::StatusCode::kUnauthenticated,
                 Kind::kFatal}),
    [](const auto& value) { return std::string(value.param.name); });

// Reasons that say more than their code, and all that may be tried again.
Kind Expected(Reason reason) {
  static const std::set<Reason> kRetryable = {
      Reason::BUDGET_EXCEEDED, Reason::RETAINED_FULL, Reason::STEPS_OUTSTANDING,
      Reason::MEMORY_REFUSED,  Reason::SLOW_WATCHER,  Reason::STORAGE_FULL,
      Reason::UNAVAILABLE,     Reason::SHUTTING_DOWN, Reason::DEADLINE};
  static const std::set<Reason> kBadRow = {
      Reason::ROW_REFUSED, Reason::RECORD_TOO_LARGE, Reason::MALFORMED_FRAME};
  if (reason == Reason::WRITER_FENCED) return Kind::kFenced;
  if (kRetryable.contains(reason)) return Kind::kRetryable;
  return kBadRow.contains(reason) ? Kind::kBadRow : Kind::kFatal;
}

class KindOfReasonTest : public ::testing::TestWithParam<Reason> {};

TEST_P(KindOfReasonTest, IsAsInTheTable) {
  EXPECT_EQ(KindOfSinkError(MakeError(GetParam(), "")), Expected(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, KindOfReasonTest,
                         ::testing::ValuesIn(AllReasons().begin(),
                                             AllReasons().end()),
                         [](const auto& value) {
                           return std::string(ReasonName(value.param));
                         });

TEST(IsRetryableTest, SaysNoToSuccessAndToBadRows) {
  EXPECT_FALSE(IsRetryable(absl::OkStatus()));
  EXPECT_FALSE(IsRetryable(MakeRowRefused("no such column")));
  EXPECT_TRUE(IsRetryable(MakeError(Reason::STORAGE_FULL, "")));
}

TEST(RowRefusedTest, NamesTheRowThatTheTargetNamed) {
  const absl::Status named = MakeRowRefused("value too long", 17);
  EXPECT_THAT(named, HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(RefusedRow(WithContext(named, "while pushing")), 17u);
  EXPECT_EQ(RefusedRow(MakeRowRefused("value too long")), std::nullopt);
}

TEST(RowRefusedTest, OtherErrorsNameNoRow) {
  EXPECT_EQ(RefusedRow(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(RefusedRow(MakeError(Reason::UNAVAILABLE, "", {{"row", "1"}})),
            std::nullopt);
  EXPECT_EQ(RefusedRow(MakeError(Reason::ROW_REFUSED, "", {{"row", "x"}})),
            std::nullopt);
}

}  // namespace
}  // namespace penstock::core
