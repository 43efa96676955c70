// Matchers for absl::Status and absl::StatusOr.
//
//   EXPECT_OK(file->Sync());
//   ASSERT_OK_AND_ASSIGN(auto file, fs.OpenForRead(path));
//   EXPECT_THAT(Parse("7"), IsOkAndHolds(7));
//   EXPECT_THAT(s, StatusIs(absl::StatusCode::kFailedPrecondition,
//                           HasReason("STALE_EPOCH")));
//   EXPECT_THAT(s, StatusIs(absl::StatusCode::kNotFound, HasSubstr("path")));
//   EXPECT_THAT(s, HasReason(Reason::STEP_GAP));
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

namespace penstock::core {
namespace internal {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

inline std::string ReasonOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return "(no reason)";
  return std::string(ReasonName(info->reason));
}

// Is it the error of this reason?
class ReasonMatcher {
 public:
  using is_gtest_matcher = void;
  explicit ReasonMatcher(std::string name) : name_(std::move(name)) {}

  template <typename Result>
  bool MatchAndExplain(const Result& result,
                       ::testing::MatchResultListener* listener) const {
    const std::string actual = ReasonOf(StatusOf(result));
    *listener << "whose reason is " << actual;
    return actual == name_;
  }
  void DescribeTo(std::ostream* out) const { *out << "has reason " << name_; }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not have reason " << name_;
  }

 private:
  std::string name_;
};

// Does the value of a StatusOr match `matcher_`?
template <typename Inner>
class HoldsMatcher {
 public:
  using is_gtest_matcher = void;
  explicit HoldsMatcher(Inner inner) : inner_(std::move(inner)) {}

  template <typename Result>
  bool MatchAndExplain(const Result& result,
                       ::testing::MatchResultListener* listener) const {
    if (!result.ok()) {
      *listener << "which is " << result.status();
      return false;
    }
    return ::testing::ExplainMatchResult(inner_, *result, listener);
  }
  void DescribeTo(std::ostream* out) const {
    *out << "is OK and holds a matching value";
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "is not OK, or holds no matching value";
  }

 private:
  Inner inner_;
};

}  // namespace internal

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = internal::StatusOf(arg);
  *result_listener << "which is " << status;
  return status.ok();
}

// `inner`: a value, or a matcher of the value.
template <typename Inner>
internal::HoldsMatcher<std::decay_t<Inner>> IsOkAndHolds(Inner&& inner) {
  return internal::HoldsMatcher<std::decay_t<Inner>>(
      std::forward<Inner>(inner));
}

// `reason`: a Reason, or its published name.
inline internal::ReasonMatcher HasReason(Reason reason) {
  return internal::ReasonMatcher(std::string(ReasonName(reason)));
}
inline internal::ReasonMatcher HasReason(absl::string_view reason) {
  return internal::ReasonMatcher(std::string(reason));
}

MATCHER_P(StatusIs, code, "has code " + absl::StatusCodeToString(code)) {
  const absl::Status& status = internal::StatusOf(arg);
  *result_listener << "which is " << status;
  return status.code() == code;
}

// `what`: HasReason(...), or a matcher of the message (or the message).
MATCHER_P2(StatusIs, code, what,
           "has code " + absl::StatusCodeToString(code) + " and more") {
  const absl::Status& status = internal::StatusOf(arg);
  *result_listener << "which is " << status << " ";
  if (status.code() != code) return false;
  if constexpr (std::is_same_v<what_type, internal::ReasonMatcher>) {
    return ::testing::ExplainMatchResult(what, status, result_listener);
  } else {
    return ::testing::ExplainMatchResult(::testing::Matcher<std::string>(what),
                                         std::string(status.message()),
                                         result_listener);
  }
}

}  // namespace penstock::core

#define EXPECT_OK(expression) \
  EXPECT_THAT((expression), ::penstock::core::IsOk())
#define ASSERT_OK(expression) \
  ASSERT_THAT((expression), ::penstock::core::IsOk())

#define PENSTOCK_TEST_CONCAT_INNER(a, b) a##b
#define PENSTOCK_TEST_CONCAT(a, b) PENSTOCK_TEST_CONCAT_INNER(a, b)
// For functions that return void. `lhs` has no bare comma.
#define ASSERT_OK_AND_ASSIGN(lhs, expression)                                 \
  PENSTOCK_TEST_ASSIGN(PENSTOCK_TEST_CONCAT(penstock_result_, __LINE__), lhs, \
                       expression)
#define PENSTOCK_TEST_ASSIGN(result, lhs, expression) \
  auto result = (expression);                         \
  ASSERT_OK(result);                                  \
  lhs = *std::move(result)
