#include "proto/wire/status.h"

#include "core/base/error.h"
#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;
using core::StatusIs;
using ::testing::SizeIs;

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

// Every published reason passes both ways.
class EveryReasonTest : public ::testing::TestWithParam<Reason> {};

TEST_P(EveryReasonTest, ComesBackThroughGrpc) {
  const absl::Status sent = MakeError(GetParam(), "doing this: it failed",
                                      {{"step", "7"}, {"path", "/a b"}});
  const grpc::Status wire = StatusToGrpc(sent);
  EXPECT_EQ(static_cast<int>(wire.error_code()),
            static_cast<int>(core::CodeOf(GetParam())));
  EXPECT_EQ(wire.error_message(), "doing this: it failed");
  EXPECT_EQ(StatusFromGrpc(wire), sent);
  EXPECT_EQ(core::GetErrorInfo(StatusFromGrpc(wire)), core::GetErrorInfo(sent));
}

TEST_P(EveryReasonTest, StandsInTheDetailsUnderItsPublishedName) {
  const v1::Status proto = StatusToProto(MakeError(GetParam(), "x"));
  ASSERT_EQ(proto.details_size(), 1);
  EXPECT_EQ(proto.details(0).type_url(), kErrorInfoUrl);
  v1::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(proto.details(0).value()));
  EXPECT_EQ(info.reason(), core::ReasonName(GetParam()));
  EXPECT_EQ(info.domain(), "penstock");
}

INSTANTIATE_TEST_SUITE_P(All, EveryReasonTest,
                         ::testing::ValuesIn(core::AllReasons().begin(),
                                             core::AllReasons().end()),
                         [](const auto& test) {
                           return std::string(core::ReasonName(test.param));
                         });

TEST(StatusTest, OkIsOk) {
  EXPECT_TRUE(StatusToGrpc(absl::OkStatus()).ok());
  EXPECT_THAT(StatusFromGrpc(grpc::Status::OK), IsOk());
  EXPECT_EQ(StatusToProto(absl::OkStatus()).ByteSizeLong(), 0u);
}

// The bytes that any google.rpc client decodes.
TEST(StatusTest, EncodingIsThatOfGoogleRpcStatus) {
  const grpc::Status wire =
      StatusToGrpc(MakeError(Reason::STEP_GAP, "gap", {{"a", "b"}}));
  const std::string info =
      "\x0A\x08STEP_GAP"  // 1: reason
      "\x12\x08penstock"  // 2: domain
      "\x1A\x06\x0A\x01"
      "a\x12\x01"
      "b";  // 3: metadata {a: b}
  const std::string any = absl::StrCat("\x0A\x28", kErrorInfoUrl, "\x12",
                                       std::string(1, char(info.size())), info);
  EXPECT_EQ(wire.error_details(),
            absl::StrCat("\x08\x09",     // 1: code FAILED_PRECONDITION
                         "\x12\x03gap",  // 2: message
                         "\x1A", std::string(1, char(any.size())), any));
}

TEST(StatusTest, RetryDelayComesBack) {
  const absl::Status sent = core::WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED, "no room"), absl::Milliseconds(250));
  EXPECT_EQ(StatusFromGrpc(StatusToGrpc(sent)), sent);
  EXPECT_EQ(core::GetRetryDelay(StatusFromGrpc(StatusToGrpc(sent))),
            absl::Milliseconds(250));
}

TEST(StatusTest, RetryDelayOnTheWireIsAboveZero) {
  const absl::Status sent = core::WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED, "no room"), absl::ZeroDuration());
  EXPECT_EQ(core::GetRetryDelay(StatusFromGrpc(StatusToGrpc(sent))),
            absl::Milliseconds(1));
}

TEST(StatusTest, ViolationsComeBack) {
  const std::vector<FieldViolation> violations = {
      {"source.file.path", "is missing", "REQUIRED"},
      {"shards", "is 0", "OUT_OF_RANGE"}};
  const absl::Status sent =
      WithViolations(MakeError(Reason::INVALID_CONFIG, "bad"), violations);
  EXPECT_EQ(GetViolations(StatusFromGrpc(StatusToGrpc(sent))), violations);
}

TEST(StatusTest, StatusWithoutReasonGetsTheGeneralOneOfItsCode) {
  EXPECT_THAT(
      StatusFromGrpc(StatusToGrpc(absl::NotFoundError("x"))),
      StatusIs(absl::StatusCode::kNotFound, HasReason(Reason::NOT_FOUND)));
  EXPECT_THAT(StatusFromGrpc(StatusToGrpc(absl::FailedPreconditionError("x"))),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasReason(Reason::INTERNAL)));
}

TEST(StatusTest, WhatGrpcItselfReportsGetsTheGeneralReason) {
  EXPECT_THAT(
      StatusFromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "refused")),
      StatusIs(absl::StatusCode::kUnavailable, HasReason(Reason::UNAVAILABLE)));
  EXPECT_THAT(StatusFromGrpc(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED,
                                          "Deadline Exceeded")),
              HasReason(Reason::DEADLINE));
  EXPECT_THAT(StatusFromGrpc(grpc::Status(grpc::StatusCode::CANCELLED, "")),
              HasReason(Reason::CANCELLED));
}

v1::Status NewerPeersStatus() {
  v1::ErrorInfo info;
  info.set_reason("MOON_TOO_FULL");
  info.set_domain("penstock");
  (*info.mutable_metadata())["moon"] = "full";
  v1::Status status;
  status.set_code(9);
  status.set_message("the moon is too full");
  status.add_details()->set_type_url(kErrorInfoUrl);
  status.mutable_details(0)->set_value(info.SerializeAsString());
  return status;
}

TEST(StatusTest, UnknownReasonKeepsCodeAndText) {
  const absl::Status status = StatusFromProto(NewerPeersStatus());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "the moon is too full");
  EXPECT_EQ(core::GetErrorInfo(status), std::nullopt);
}

TEST(StatusTest, UnknownReasonIsPassedOnAsItCame) {
  const absl::Status status = StatusFromProto(NewerPeersStatus());
  EXPECT_EQ(StatusToProto(status).SerializeAsString(),
            NewerPeersStatus().SerializeAsString());
}

TEST(StatusTest, ReasonOfAnotherDomainIsNotOurs) {
  v1::Status status = NewerPeersStatus();
  v1::ErrorInfo info;
  info.set_reason("STALE_EPOCH");
  info.set_domain("proxy.example");
  status.mutable_details(0)->set_value(info.SerializeAsString());
  EXPECT_EQ(core::GetErrorInfo(StatusFromProto(status)), std::nullopt);
}

TEST(StatusTest, CodeOfTheCallHoldsOverTheDetails) {
  const grpc::Status wire(grpc::StatusCode::UNAVAILABLE, "x",
                          NewerPeersStatus().SerializeAsString());
  EXPECT_EQ(StatusFromGrpc(wire).code(), absl::StatusCode::kUnavailable);
}

TEST(StatusTest, DetailsThatDoNotParseAreLeftOut) {
  const grpc::Status wire(grpc::StatusCode::NOT_FOUND, "gone", "\xFF\xFF");
  EXPECT_THAT(StatusFromGrpc(wire),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
}

TEST(StatusTest, CodeOutOfRangeIsUnknown) {
  v1::Status status;
  status.set_code(99);
  EXPECT_EQ(StatusFromProto(status).code(), absl::StatusCode::kUnknown);
}

TEST(StatusTest, EverythingFitsIntoMetadataWhateverItCarries) {
  std::vector<FieldViolation> violations(
      100, {std::string(300, 'f'), std::string(900, 'd'), "REQUIRED"});
  core::ErrorMetadata metadata;
  for (int i = 0; i < 40; ++i) {
    metadata[absl::StrCat("key", i)] = std::string(2000, 'v');
  }
  const absl::Status sent = WithViolations(
      MakeError(Reason::INVALID_CONFIG, std::string(9000, 'm'), metadata),
      violations);
  const grpc::Status wire = StatusToGrpc(sent);
  // Percent-encoding makes three bytes of one at worst, base64 four of three.
  EXPECT_LT(
      3 * wire.error_message().size() + 4 * wire.error_details().size() / 3,
      size_t{8000});
  const absl::Status received = StatusFromGrpc(wire);
  EXPECT_THAT(received, HasReason(Reason::INVALID_CONFIG));
  EXPECT_FALSE(GetViolations(received).empty());
}

TEST(StatusTest, TextThatIsNoUtf8IsReplaced) {
  const grpc::Status wire = StatusToGrpc(
      MakeError(Reason::IO_ERROR, "open /a\xFF", {{"path", "/a\xFF"}}));
  const absl::Status received = StatusFromGrpc(wire);
  EXPECT_EQ(received.message(), "open /a\xEF\xBF\xBD");
  EXPECT_EQ(core::GetErrorInfo(received)->metadata.at("path"),
            "/a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace penstock::wire
