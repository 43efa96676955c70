#include "core/base/error.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/requests.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::ElementsAre;

v1::ConnectorSpec Spec() {
  v1::ConnectorSpec spec;
  spec.set_name("orders");
  spec.mutable_source()->mutable_file()->set_path("/in");
  spec.mutable_format()->mutable_raw();
  spec.mutable_sink()->mutable_null();
  spec.set_shards(4);
  return spec;
}

core::OpenRequest Request() {
  core::OpenRequest request;
  request.fence = {.pipeline = "shop",
                   .controller_id = "me",
                   .epoch = 7,
                   .nonce = "0123456789"};
  request.request_id = "open-1";
  request.spec_bytes = Spec().SerializeAsString();
  request.incarnation = "abcdefgh";
  request.writer = {.epoch = 7, .open_number = 3};
  request.base_steps = 100;
  request.journaled_steps = 110;
  request.first_open = true;
  request.position = "{ \"z\":9223372036854775807, \"a\":1 }";
  request.checkpointing = true;
  return request;
}

v1::OpenConnectorStart Start() {
  auto start = ToProto(Request());
  EXPECT_TRUE(start.ok()) << start.status();
  return *std::move(start);
}

std::vector<std::string> FieldsOf(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetViolations(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(OpenTest, RequestComesBack) {
  ASSERT_OK_AND_ASSIGN(const DecodedOpen open, FromProto(Start()));
  const core::OpenRequest& request = open.request;
  EXPECT_EQ(request.fence, Request().fence);
  EXPECT_EQ(request.request_id, "open-1");
  EXPECT_EQ(request.incarnation, "abcdefgh");
  EXPECT_EQ(request.writer, Request().writer);
  EXPECT_EQ(request.base_steps, 100u);
  EXPECT_EQ(request.journaled_steps, 110u);
  EXPECT_TRUE(request.first_open);
  EXPECT_TRUE(request.checkpointing);
  EXPECT_EQ(request.spec.name, "orders");
  EXPECT_EQ(request.spec.shards, 4u);
}

TEST(OpenTest, PositionIsNamedAndFollowsInFragments) {
  ASSERT_OK_AND_ASSIGN(const DecodedOpen open, FromProto(Start()));
  EXPECT_EQ(open.request.position, std::nullopt);
  EXPECT_EQ(open.position, PartOf(*Request().position));
}

TEST(OpenTest, WithoutPositionThereIsNone) {
  core::OpenRequest request = Request();
  request.position.reset();
  ASSERT_OK_AND_ASSIGN(const auto start, ToProto(request));
  EXPECT_FALSE(start.has_position());
  ASSERT_OK_AND_ASSIGN(const DecodedOpen open, FromProto(start));
  EXPECT_EQ(open.position, std::nullopt);
}

TEST(OpenTest, SpecBytesAreTheResolvedSpec) {
  ASSERT_OK_AND_ASSIGN(const DecodedOpen open, FromProto(Start()));
  EXPECT_EQ(open.request.spec_bytes, SpecToBytes(open.request.spec));
  EXPECT_NE(open.request.spec_bytes, Request().spec_bytes);
}

TEST(OpenTest, SpecIsSentWhereThereAreNoBytes) {
  core::OpenRequest request = Request();
  ASSERT_OK_AND_ASSIGN(request.spec, SpecFromBytes(request.spec_bytes));
  request.spec_bytes.clear();
  ASSERT_OK_AND_ASSIGN(const auto start, ToProto(request));
  EXPECT_EQ(start.spec().SerializeAsString(), SpecToBytes(request.spec));
}

TEST(OpenTest, SpecBytesThatDoNotParseAreDamage) {
  core::OpenRequest request = Request();
  request.spec_bytes = "\xFF\xFF";
  EXPECT_THAT(ToProto(request), HasReason(Reason::STATE_DAMAGED));
}

TEST(OpenTest, NothingJournaledMeansTheBase) {
  v1::OpenConnectorStart start = Start();
  start.clear_journaled_steps();
  ASSERT_OK_AND_ASSIGN(const DecodedOpen open, FromProto(start));
  EXPECT_EQ(open.request.journaled_steps, 100u);
  core::OpenRequest request = Request();
  request.journaled_steps = 0;
  ASSERT_OK_AND_ASSIGN(start, ToProto(request));
  EXPECT_EQ(start.journaled_steps(), 100u);
}

TEST(OpenTest, EmptyRequestNamesAllThatIsMissing) {
  EXPECT_THAT(
      FieldsOf(FromProto(v1::OpenConnectorStart()).status()),
      ElementsAre("fence.pipeline", "fence.epoch", "fence.nonce", "request_id",
                  "writer.open_number", "incarnation", "spec"));
}

TEST(OpenTest, WhatContradictsItselfIsRefused) {
  v1::OpenConnectorStart start = Start();
  start.mutable_writer()->set_epoch(8);
  start.set_journaled_steps(99);
  start.mutable_position()->clear_part();
  EXPECT_THAT(FieldsOf(FromProto(start).status()),
              ElementsAre("writer.epoch", "journaled_steps", "position.part"));
}

TEST(OpenTest, WrongSpecIsInvalidConfigBelowSpec) {
  v1::OpenConnectorStart start = Start();
  start.mutable_spec()->mutable_source()->mutable_file()->clear_path();
  const absl::Status status = FromProto(start).status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(FieldsOf(status), ElementsAre("spec.source.file.path"));
}

TEST(OpenTest, WhatHoldsAnywayMayBeGiven) {
  v1::OpenConnectorStart start = Start();
  start.set_adopt(v1::ADOPT_TARGET_REFUSE);
  EXPECT_OK(FromProto(start));
}

TEST(OpenTest, WhatTheCoreLacksIsUnsupported) {
  v1::OpenConnectorStart start = Start();
  start.set_adopt(v1::ADOPT_TARGET_APPEND);
  const absl::Status status = FromProto(start).status();
  EXPECT_THAT(status, HasReason(Reason::UNSUPPORTED));
  EXPECT_THAT(FieldsOf(status), ElementsAre("adopt"));
}

TEST(OpenTest, AdoptUnspecifiedIsAnError) {
  v1::OpenConnectorStart start = Start();
  start.set_adopt(v1::ADOPT_TARGET_UNSPECIFIED);
  EXPECT_THAT(FromProto(start), HasReason(Reason::INVALID_REQUEST));
}

TEST(OpenTest, OtherPositionFormatIsUnsupported) {
  v1::OpenConnectorStart start = Start();
  start.mutable_position()->set_format("xml");
  EXPECT_THAT(FromProto(start), HasReason(Reason::UNSUPPORTED));
}

core::OpenReply Reply() {
  core::OpenReply reply;
  reply.instance = "i-1";
  reply.position = "{ \"z\":9223372036854775807, \"a\":1 }";
  reply.base_steps = 100;
  reply.shard_progress = {100, 105, INT64_MAX};
  reply.level = core::FtModel::kExactlyOnce;
  return reply;
}

core::ConnectorSpec CoreSpec() {
  auto spec = SpecFromProto(Spec());
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *std::move(spec);
}

TEST(OpenReplyTest, ComesBack) {
  ASSERT_OK_AND_ASSIGN(const DecodedOpenReply decoded,
                       FromProto(ToProto(Reply(), CoreSpec())));
  EXPECT_EQ(decoded.reply.instance, "i-1");
  EXPECT_EQ(decoded.reply.position, Reply().position);
  EXPECT_EQ(decoded.reply.base_steps, 100u);
  EXPECT_EQ(decoded.reply.shard_progress, Reply().shard_progress);
  EXPECT_EQ(decoded.reply.level, core::FtModel::kExactlyOnce);
  EXPECT_EQ(decoded.base_position, std::nullopt);
}

TEST(OpenReplyTest, SaysTheResolvedSpecAndItsHash) {
  const v1::OpenConnectorResponse response = ToProto(Reply(), CoreSpec());
  EXPECT_EQ(response.resolved_spec().SerializeAsString(),
            SpecToBytes(CoreSpec()));
  EXPECT_EQ(response.spec_hash(), SpecHash(SpecToBytes(CoreSpec())));
  EXPECT_EQ(response.level_reason(), "");
}

TEST(OpenReplyTest, SaysWhyTheLevelIsLower) {
  core::OpenReply reply = Reply();
  reply.level = std::nullopt;
  EXPECT_EQ(ToProto(reply, CoreSpec()).level_reason(),
            "source or sink reaches none at most");
}

TEST(OpenReplyTest, LongPositionIsNamed) {
  core::OpenReply reply = Reply();
  reply.position = std::string(kPositionInlineMax + 1, ' ');
  ASSERT_OK_AND_ASSIGN(const DecodedOpenReply decoded,
                       FromProto(ToProto(reply, CoreSpec())));
  EXPECT_EQ(decoded.base_position, PartOf(reply.position));
  EXPECT_EQ(decoded.reply.position, "");
}

TEST(OpenReplyTest, UnknownLevelAndShardsOutOfOrderAreRefused) {
  v1::OpenConnectorResponse response = ToProto(Reply(), CoreSpec());
  response.set_level(v1::DELIVERY_LEVEL_UNSPECIFIED);
  response.mutable_shards(1)->set_shard(2);
  EXPECT_THAT(FieldsOf(FromProto(response).status()),
              ElementsAre("shards[1].shard", "level"));
}

}  // namespace
}  // namespace penstock::wire
