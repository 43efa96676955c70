#include "core/base/status_macros.h"

#include "tests/support/status_matchers.h"

#include <absl/status/statusor.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

absl::Status Fail() {
  return WithRetryDelay(MakeError(Reason::UNAVAILABLE, "down", {{"a", "b"}}),
                        absl::Seconds(2));
}

absl::Status PassUp(const absl::Status& status) {
  RETURN_IF_ERROR(status);
  return absl::AlreadyExistsError("passed");
}

absl::Status PassUpWithContext(const absl::Status& status, int& evaluated) {
  RETURN_IF_ERROR(status)
  << "while opening " << ++evaluated;
  return absl::OkStatus();
}

absl::StatusOr<std::string> PassUpAsResult(const absl::StatusOr<int>& result) {
  RETURN_IF_ERROR(result)
  << "while counting";
  return "counted";
}

absl::StatusOr<int> Twice(absl::StatusOr<int> result) {
  ASSIGN_OR_RETURN(const int value, std::move(result));
  return 2 * value;
}

absl::Status AssignTo(absl::StatusOr<int> result, int& out) {
  ASSIGN_OR_RETURN(out, std::move(result), _ << "while assigning " << 7);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<int>> TakeBoth() {
  ASSIGN_OR_RETURN(std::unique_ptr<int> a, absl::StatusOr<std::unique_ptr<int>>(
                                               std::make_unique<int>(3)));
  ASSIGN_OR_RETURN(
      auto b, absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(4)));
  *a += *b;
  return a;
}

TEST(ReturnIfErrorTest, OkGoesOn) {
  EXPECT_THAT(PassUp(absl::OkStatus()),
              StatusIs(absl::StatusCode::kAlreadyExists, "passed"));
}

TEST(ReturnIfErrorTest, ErrorReturnsUnchanged) {
  EXPECT_EQ(PassUp(Fail()), Fail());
}

TEST(ReturnIfErrorTest, ContextKeepsCodeReasonAndDelay) {
  int evaluated = 0;
  const absl::Status status = PassUpWithContext(Fail(), evaluated);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               "down; while opening 1"));
  EXPECT_EQ(GetErrorInfo(status)->metadata, (ErrorMetadata{{"a", "b"}}));
  EXPECT_EQ(GetRetryDelay(status), absl::Seconds(2));
}

TEST(ReturnIfErrorTest, ContextIsNotEvaluatedWithoutError) {
  int evaluated = 0;
  EXPECT_OK(PassUpWithContext(absl::OkStatus(), evaluated));
  EXPECT_EQ(evaluated, 0);
}

TEST(ReturnIfErrorTest, WorksBetweenResultsOfOtherTypes) {
  EXPECT_THAT(PassUpAsResult(1), IsOkAndHolds("counted"));
  EXPECT_THAT(PassUpAsResult(Fail()),
              StatusIs(absl::StatusCode::kUnavailable, "down; while counting"));
}

TEST(ReturnIfErrorTest, ElseBindsToTheIfAroundIt) {
  const auto run = [](bool first) -> absl::Status {
    if (first)
      RETURN_IF_ERROR(Fail());
    else
      return absl::NotFoundError("else");
    return absl::OkStatus();
  };
  EXPECT_THAT(run(true), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(run(false), StatusIs(absl::StatusCode::kNotFound));
}

TEST(AssignOrReturnTest, AssignsTheValue) {
  EXPECT_THAT(Twice(21), IsOkAndHolds(42));
  int out = 0;
  EXPECT_OK(AssignTo(5, out));
  EXPECT_EQ(out, 5);
}

TEST(AssignOrReturnTest, ErrorReturnsWithContextAndLeavesTheTarget) {
  int out = 1;
  EXPECT_THAT(AssignTo(Fail(), out), StatusIs(absl::StatusCode::kUnavailable,
                                              "down; while assigning 7"));
  EXPECT_EQ(out, 1);
  EXPECT_EQ(Twice(Fail()).status(), Fail());
}

TEST(AssignOrReturnTest, MovesWhatCannotBeCopied) {
  const auto both = TakeBoth();
  ASSERT_OK(both);
  EXPECT_EQ(**both, 7);
}

}  // namespace
}  // namespace penstock::core
