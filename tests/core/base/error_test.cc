#include "core/base/error.h"

#include "tests/support/status_matchers.h"

#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cerrno>
#include <set>
#include <string>

namespace penstock::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ReasonTest : public ::testing::TestWithParam<Reason> {};

TEST_P(ReasonTest, NameParsesBack) {
  EXPECT_EQ(ParseReason(ReasonName(GetParam())), GetParam());
}

TEST_P(ReasonTest, ErrorCarriesCodeReasonAndMetadata) {
  const absl::Status error =
      MakeError(GetParam(), "message", {{"step", "7"}, {"", "empty key"}});
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.code(), CodeOf(GetParam()));
  EXPECT_EQ(error.message(), "message");
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason, GetParam());
  EXPECT_EQ(info->domain, "penstock");
  EXPECT_THAT(info->metadata,
              UnorderedElementsAre(Pair("step", "7"), Pair("", "empty key")));
}

INSTANTIATE_TEST_SUITE_P(All, ReasonTest,
                         ::testing::ValuesIn(AllReasons().begin(),
                                             AllReasons().end()),
                         [](const auto& test) {
                           return std::string(ReasonName(test.param));
                         });

TEST(ReasonNamesTest, AreUnique) {
  std::set<absl::string_view> names;
  for (const Reason reason : AllReasons()) names.insert(ReasonName(reason));
  EXPECT_EQ(names.size(), AllReasons().size());
}

TEST(ReasonNamesTest, ParseRefusesOtherText) {
  EXPECT_EQ(ParseReason("stale_epoch"), std::nullopt);
  EXPECT_EQ(ParseReason("STALE_EPOCH "), std::nullopt);
  EXPECT_EQ(ParseReason(""), std::nullopt);
}

struct CodeCase {
  Reason reason;
  absl::StatusCode code;
};
class ReasonCodeTest : public ::testing::TestWithParam<CodeCase> {};

// The table of the style guide and of the protocol; not the one of error.cc.
TEST_P(ReasonCodeTest, IsAsPublished) {
  EXPECT_EQ(CodeOf(GetParam().reason), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Published, ReasonCodeTest,
    ::testing::Values(
        CodeCase{Reason::INVALID_CONFIG, absl::StatusCode::kInvalidArgument},
        CodeCase{Reason::MALFORMED_FRAME, absl::StatusCode::kInvalidArgument},
        CodeCase{Reason::NO_SUCH_CONNECTOR, absl::StatusCode::kNotFound},
        CodeCase{Reason::ALREADY_EXISTS, absl::StatusCode::kAlreadyExists},
        CodeCase{Reason::ILLEGAL_TRANSITION,
                 absl::StatusCode::kFailedPrecondition},
        CodeCase{Reason::POSITION_EXPIRED, absl::StatusCode::kOutOfRange},
        CodeCase{Reason::STALE_EPOCH, absl::StatusCode::kFailedPrecondition},
        CodeCase{Reason::RELEASE_AHEAD, absl::StatusCode::kFailedPrecondition},
        CodeCase{Reason::BUDGET_EXCEEDED, absl::StatusCode::kResourceExhausted},
        CodeCase{Reason::UNAVAILABLE, absl::StatusCode::kUnavailable},
        CodeCase{Reason::REPLAY_MISMATCH, absl::StatusCode::kDataLoss},
        CodeCase{Reason::PROGRESS_BEHIND,
                 absl::StatusCode::kFailedPrecondition},
        CodeCase{Reason::WRITER_FENCED, absl::StatusCode::kFailedPrecondition},
        CodeCase{Reason::UNSUPPORTED, absl::StatusCode::kUnimplemented},
        CodeCase{Reason::INTERNAL, absl::StatusCode::kInternal}),
    [](const auto& test) {
      return std::string(ReasonName(test.param.reason));
    });

TEST(ErrorInfoTest, MetadataKeepsAnyBytes) {
  const std::string bytes("\0\xff\n,=", 5);
  const absl::Status error =
      MakeError(Reason::STEP_GAP, "m", {{bytes, bytes}, {"long", {}}});
  ASSERT_TRUE(GetErrorInfo(error).has_value());
  EXPECT_EQ(GetErrorInfo(error)->metadata,
            (ErrorMetadata{{bytes, bytes}, {"long", {}}}));
}

TEST(ErrorInfoTest, IsAbsentFromStatusesNotMadeHere) {
  EXPECT_EQ(GetErrorInfo(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(GetErrorInfo(absl::NotFoundError("x")), std::nullopt);
  EXPECT_FALSE(HasReason(absl::NotFoundError("x"), Reason::NOT_FOUND));
}

TEST(ErrorInfoTest, EveryDamagedPayloadIsRefused) {
  const std::string url = "penstock/error_info";
  absl::Status error = MakeError(Reason::STEP_GAP, "m", {{"step", "7"}});
  const std::string whole(*error.GetPayload(url));
  for (size_t size = 0; size < whole.size(); ++size) {
    error.SetPayload(url, absl::Cord(whole.substr(0, size)));
    EXPECT_EQ(GetErrorInfo(error), std::nullopt) << size;
  }
  error.SetPayload(url, absl::Cord(whole + "x"));
  EXPECT_EQ(GetErrorInfo(error), std::nullopt);
}

TEST(ErrorInfoTest, WithErrorInfoKeepsAForeignCode) {
  ErrorInfo info;
  info.reason = Reason::STALE_EPOCH;
  info.domain = "elsewhere";
  const absl::Status status = WithErrorInfo(absl::AbortedError("m"), info);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(GetErrorInfo(status), info);
  EXPECT_OK(WithErrorInfo(absl::OkStatus(), info));
}

TEST(RetryDelayTest, RoundTripsBesideTheReason) {
  const absl::Status status = WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED, "m"), absl::Milliseconds(250));
  EXPECT_EQ(GetRetryDelay(status), absl::Milliseconds(250));
  EXPECT_TRUE(HasReason(status, Reason::BUDGET_EXCEEDED));
}

TEST(RetryDelayTest, NegativeIsZeroAndAbsentIsAbsent) {
  const absl::Status error = MakeError(Reason::BUDGET_EXCEEDED, "m");
  EXPECT_EQ(GetRetryDelay(error), std::nullopt);
  EXPECT_EQ(GetRetryDelay(WithRetryDelay(error, -absl::Seconds(1))),
            absl::ZeroDuration());
  EXPECT_OK(WithRetryDelay(absl::OkStatus(), absl::Seconds(1)));
}

TEST(WithContextTest, KeepsCodeReasonAndDelay) {
  const absl::Status status = WithContext(
      WithRetryDelay(MakeError(Reason::UNAVAILABLE, "no route", {{"a", "b"}}),
                     absl::Seconds(3)),
      "while opening x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no route; while opening x");
  EXPECT_EQ(GetErrorInfo(status)->metadata, (ErrorMetadata{{"a", "b"}}));
  EXPECT_EQ(GetRetryDelay(status), absl::Seconds(3));
  EXPECT_OK(WithContext(absl::OkStatus(), "while opening x"));
}

struct ErrnoCase {
  const char* name;
  int error_number;
  Reason reason;
};
class FileErrorTest : public ::testing::TestWithParam<ErrnoCase> {};

TEST_P(FileErrorTest, HasReasonPathAndText) {
  const absl::Status status =
      MakeFileError(GetParam().error_number, "open", "/a/b");
  EXPECT_THAT(status, HasReason(GetParam().reason));
  EXPECT_THAT(std::string(status.message()), HasSubstr("open /a/b: "));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("path"), "/a/b");
}

INSTANTIATE_TEST_SUITE_P(
    Errno, FileErrorTest,
    ::testing::Values(ErrnoCase{"Enoent", ENOENT, Reason::NOT_FOUND},
                      ErrnoCase{"Eexist", EEXIST, Reason::ALREADY_EXISTS},
                      ErrnoCase{"Enospc", ENOSPC, Reason::STORAGE_FULL},
                      ErrnoCase{"Edquot", EDQUOT, Reason::STORAGE_FULL},
                      ErrnoCase{"Eacces", EACCES, Reason::PERMISSION_DENIED},
                      ErrnoCase{"Erofs", EROFS, Reason::PERMISSION_DENIED},
                      ErrnoCase{"Enotdir", ENOTDIR, Reason::INVALID_CONFIG},
                      ErrnoCase{"Eloop", ELOOP, Reason::INVALID_CONFIG},
                      ErrnoCase{"Eio", EIO, Reason::IO_ERROR}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(FileErrorTest, ARelativeNameSaysFromWhere) {
  const absl::Status relative = MakeFileError(ENOENT, "open", "a.ndjson");
  EXPECT_THAT(std::string(relative.message()),
              ::testing::ContainsRegex("^open a.ndjson: No such .* in /"));
  const absl::Status absolute = MakeFileError(ENOENT, "open", "/a.ndjson");
  EXPECT_THAT(std::string(absolute.message()),
              ::testing::Not(HasSubstr(" in /")));
}

TEST(FileErrorTest, ARefusalSaysWho) {
  EXPECT_THAT(std::string(MakeFileError(EACCES, "open", "/a").message()),
              HasSubstr(absl::StrCat("for user ", geteuid())));
}

TEST(AppendErrorTest, SaysHowMuchWasWritten) {
  const absl::Status status = MakeAppendError(ENOSPC, "/a", 3, 10);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("/a"), HasSubstr("3 of 10 bytes"))));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("written"), "3");
}

TEST(ErrorTextTest, NamesTheReasonAndNoPayload) {
  EXPECT_EQ(
      ErrorText(MakeError(Reason::STORAGE_FULL, "append to /a", {{"k", "v"}})),
      "STORAGE_FULL: append to /a");
  EXPECT_EQ(ErrorText(absl::UnknownError("a surprise")), "UNKNOWN: a surprise");
  EXPECT_EQ(ErrorText(absl::OkStatus()), "OK");
}

TEST(CauseTest, ComesBackAsAnErrorOfItsOwn) {
  const absl::Status error =
      WithCause(MakeError(Reason::ILLEGAL_TRANSITION, "no Queue in FAILED",
                          {{"state", "FAILED"}}),
                MakeError(Reason::MALFORMED_FRAME, "line 3 is no JSON"));
  EXPECT_THAT(error, HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_EQ(GetErrorInfo(error)->metadata.at("state"), "FAILED");
  EXPECT_THAT(std::string(error.message()),
              AllOf(HasSubstr("no Queue in FAILED"),
                    HasSubstr("MALFORMED_FRAME: line 3 is no JSON")));
  const std::optional<absl::Status> cause = CauseOf(error);
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(*cause, MakeError(Reason::MALFORMED_FRAME, "line 3 is no JSON"));
}

TEST(CauseTest, MostErrorsHaveNone) {
  EXPECT_EQ(CauseOf(MakeError(Reason::INTERNAL, "a")), std::nullopt);
  EXPECT_EQ(CauseOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(CauseOf(MakeError(Reason::INTERNAL, "a",
                              {{"cause", "b"}, {"cause_reason", "no such"}})),
            std::nullopt);
}

}  // namespace
}  // namespace penstock::core
