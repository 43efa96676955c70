#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace penstock::core {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;
using ::testing::Pointee;

const absl::Status kError = MakeError(Reason::STALE_EPOCH, "epoch 3 is old");

TEST(StatusMatchersTest, IsOkTellsOkFromErrors) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(1), IsOk());
  EXPECT_THAT(kError, Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(kError), Not(IsOk()));
}

TEST(StatusMatchersTest, IsOkAndHoldsLooksAtTheValue) {
  const absl::StatusOr<int> seven = 7;
  EXPECT_THAT(seven, IsOkAndHolds(7));
  EXPECT_THAT(seven, IsOkAndHolds(Gt(6)));
  EXPECT_THAT(seven, Not(IsOkAndHolds(8)));
  EXPECT_THAT(absl::StatusOr<int>(kError), Not(IsOkAndHolds(7)));
}

TEST(StatusMatchersTest, IsOkAndHoldsTakesValuesThatOnlyMove) {
  const absl::StatusOr<std::unique_ptr<int>> seven = std::make_unique<int>(7);
  EXPECT_THAT(seven, IsOkAndHolds(Pointee(7)));
}

TEST(StatusMatchersTest, StatusIsLooksAtCodeAndMessage) {
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(kError, StatusIs(kCode));
  EXPECT_THAT(kError, StatusIs(kCode, "epoch 3 is old"));
  EXPECT_THAT(kError, StatusIs(kCode, HasSubstr("old")));
  EXPECT_THAT(kError, Not(StatusIs(kCode, HasSubstr("new"))));
  EXPECT_THAT(kError, Not(StatusIs(absl::StatusCode::kAborted)));
  EXPECT_THAT(kError,
              Not(StatusIs(absl::StatusCode::kAborted, HasSubstr("old"))));
  EXPECT_THAT(absl::StatusOr<int>(kError), StatusIs(kCode));
  EXPECT_THAT(absl::StatusOr<int>(1), StatusIs(absl::StatusCode::kOk));
}

TEST(StatusMatchersTest, HasReasonStandsAloneOrInStatusIs) {
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(kError, HasReason("STALE_EPOCH"));
  EXPECT_THAT(kError, HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(kError, Not(HasReason("STEP_GAP")));
  EXPECT_THAT(absl::NotFoundError("x"), Not(HasReason("NOT_FOUND")));
  EXPECT_THAT(absl::OkStatus(), Not(HasReason("STALE_EPOCH")));
  EXPECT_THAT(kError, StatusIs(kCode, HasReason("STALE_EPOCH")));
  EXPECT_THAT(kError, Not(StatusIs(kCode, HasReason("STEP_GAP"))));
  EXPECT_THAT(absl::StatusOr<int>(kError),
              StatusIs(kCode, HasReason(Reason::STALE_EPOCH)));
}

TEST(StatusMatchersTest, ExplanationShowsTheStatusAndItsReason) {
  const Matcher<absl::Status> matcher = HasReason("STEP_GAP");
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(matcher.MatchAndExplain(kError, &listener));
  EXPECT_THAT(listener.str(), HasSubstr("STALE_EPOCH"));
  ::testing::StringMatchResultListener other;
  const Matcher<absl::Status> is_ok = IsOk();
  EXPECT_FALSE(is_ok.MatchAndExplain(kError, &other));
  EXPECT_THAT(other.str(), HasSubstr("epoch 3 is old"));
}

TEST(StatusMatchersTest, AssignMacroMovesTheValueOut) {
  absl::StatusOr<std::unique_ptr<int>> source = std::make_unique<int>(7);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<int> value, std::move(source));
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace penstock::core
