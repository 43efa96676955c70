#include "proto/wire/update.h"

#include "core/base/error.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

v1::UpdateConnectorRequest Request() {
  v1::UpdateConnectorRequest request;
  request.mutable_fence()->set_pipeline("shop");
  request.mutable_fence()->set_controller_id("c");
  request.mutable_fence()->set_epoch(3);
  request.mutable_fence()->set_nonce("nonce-of-it");
  request.mutable_connector()->set_connector("orders");
  request.mutable_connector()->set_instance("i");
  request.set_request_id("r");
  v1::ConnectorSpec& spec = *request.mutable_spec();
  spec.set_name("orders");
  spec.mutable_source()->mutable_file()->set_path("in");
  spec.mutable_format()->mutable_ndjson();
  spec.mutable_sink()->mutable_file()->set_path("out");
  return request;
}

std::string Running() {
  const auto update = FromProto(Request());
  EXPECT_OK(update);
  return update->spec_bytes;
}

absl::StatusOr<v1::UpdateConnectorResponse> Answer(
    const v1::UpdateConnectorRequest& request) {
  const auto update = FromProto(request);
  EXPECT_OK(update);
  return AnswerUpdate(*update, Running());
}

std::vector<std::string> ReasonsOf(const absl::Status& status) {
  std::vector<std::string> reasons;
  for (const FieldViolation& violation : GetViolations(status)) {
    reasons.push_back(violation.field + ": " + violation.reason);
  }
  return reasons;
}

TEST(UpdateTest, WhatDiffersInNothingIsSuccess) {
  ASSERT_OK_AND_ASSIGN(const v1::UpdateConnectorResponse answer,
                       Answer(Request()));
  EXPECT_THAT(answer.changes(), IsEmpty());
  EXPECT_EQ(answer.resolved_spec().SerializeAsString(), Running());
  EXPECT_EQ(answer.spec_hash(), SpecHash(Running()));
}

TEST(UpdateTest, EachFieldIsRefusedByItsClass) {
  v1::UpdateConnectorRequest request = Request();
  request.mutable_spec()->mutable_limits()->set_step_bytes(1 << 20);
  request.mutable_spec()->set_shards(3);
  request.mutable_spec()->mutable_sink()->mutable_file()->set_path("other");
  const auto answer = Answer(request);
  EXPECT_THAT(answer, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(
      ReasonsOf(answer.status()),
      testing::UnorderedElementsAre("spec.limits.step_bytes: NEEDS_REOPEN",
                                    "spec.shards: NEEDS_CLEAN_CHECKPOINT",
                                    "spec.sink.file.path: NEEDS_RESET"));
}

TEST(UpdateTest, AskedOnlyItSaysWhatWouldChange) {
  v1::UpdateConnectorRequest request = Request();
  request.set_validate_only(true);
  request.mutable_spec()->set_shards(3);
  ASSERT_OK_AND_ASSIGN(const v1::UpdateConnectorResponse answer,
                       Answer(request));
  ASSERT_THAT(answer.changes(), SizeIs(1));
  EXPECT_EQ(answer.changes(0).field(), "shards");
  EXPECT_EQ(answer.changes(0).change(),
            v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT);
  EXPECT_EQ(answer.resolved_spec().shards(), 1u) << "that is what runs";
}

TEST(UpdateTest, AWrongSpecIsRefusedByItsFields) {
  v1::UpdateConnectorRequest request = Request();
  request.mutable_spec()->set_shards(0);
  request.mutable_spec()->clear_sink();
  EXPECT_THAT(FromProto(request), HasReason(Reason::INVALID_CONFIG));
}

TEST(UpdateTest, WithoutARequestIdItIsNoRequest) {
  v1::UpdateConnectorRequest request = Request();
  request.clear_request_id();
  EXPECT_THAT(FromProto(request), HasReason(Reason::INVALID_REQUEST));
}

}  // namespace
}  // namespace penstock::wire
