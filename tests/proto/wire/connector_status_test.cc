#include "proto/wire/connector_status.h"

#include "core/base/error.h"
#include "proto/penstock/v1/common.pb.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/watch.pb.h"
#include "proto/wire/spec.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string SpecBytes() {
  v1::ConnectorSpec spec;
  spec.set_name("orders");
  spec.mutable_source()->mutable_file()->set_path("/in");
  spec.mutable_format()->mutable_raw();
  spec.mutable_sink()->mutable_null();
  return spec.SerializeAsString();
}

core::ConnectorStatus FullStatus() {
  core::ConnectorStatus status;
  status.name = "orders";
  status.pipeline = "shop";
  status.instance = "i-1";
  status.incarnation = "incarnation-1";
  status.writer = {.epoch = 7, .open_number = 9};
  status.spec_bytes = SpecBytes();
  status.state = core::ConnectorState::kPaused;
  status.level_asked = core::FtModel::kExactlyOnce;
  status.level = core::FtModel::kAtLeastOnce;
  status.end_of_input = true;
  status.running_step = 111;
  status.base_steps = 100;
  status.made_steps = 110;
  status.released_steps = 108;
  status.completed_steps = 106;
  status.checkpointed_steps = 104;
  status.retained_steps = {108, 109};
  status.buffered_total = {.records = 1, .bytes = INT64_MAX};
  status.extended_total = {.records = 2, .bytes = 20};
  status.replayed_total = {.records = 3, .bytes = 30};
  status.queued = {.records = 4, .bytes = 40};
  status.records_out = 5;
  status.records_skipped = 6;
  status.records_discarded = 7;
  status.records_refused = 17;
  status.dead_letters = 18;
  status.parse_errors = 8;
  status.already_held_steps = 9;
  status.inflight_bytes = 10;
  status.chunk_bytes = 110;
  status.retained_bytes = 11;
  status.shards = {{.progress = 106,
                    .queued_chunks = 1,
                    .held_bytes = 2,
                    .parked_chunks = 3},
                   {.progress = 107}};
  status.health = {.condition = core::Condition::kDegraded,
                   .reason = "retrying",
                   .next_attempt = absl::FromUnixSeconds(20)};
  status.health_since = absl::FromUnixSeconds(10);
  status.first_error = "refused";
  status.error_count = 12;
  status.errors = {{.tag = "read",
                    .time = absl::FromUnixSeconds(1),
                    .index = 1,
                    .fatal = false,
                    .text = "old"},
                   {.tag = "commit",
                    .time = absl::FromUnixSeconds(2),
                    .index = 1,
                    .fatal = true,
                    .text = "new"}};
  status.blockers = {{.kind = core::Blocker::Kind::kUnreleasedStep,
                      .step = 108,
                      .shard = std::nullopt,
                      .since = absl::FromUnixSeconds(3),
                      .text = ""}};
  return status;
}

v1::GetConnectorResponse Response(const core::ConnectorStatus& status) {
  auto response = GetResponseToProto(status, v1::GetConnectorRequest());
  EXPECT_TRUE(response.ok()) << response.status();
  return *std::move(response);
}

TEST(ConnectorStatusTest, ComesBack) {
  const core::ConnectorStatus sent = FullStatus();
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(Response(sent)));
  EXPECT_EQ(back.name, sent.name);
  EXPECT_EQ(back.pipeline, sent.pipeline);
  EXPECT_EQ(back.instance, sent.instance);
  EXPECT_EQ(back.incarnation, sent.incarnation);
  EXPECT_EQ(back.writer, sent.writer);
  EXPECT_EQ(back.spec_bytes, sent.spec_bytes);
  EXPECT_EQ(back.state, sent.state);
  EXPECT_EQ(back.level_asked, sent.level_asked);
  EXPECT_EQ(back.level, sent.level);
  EXPECT_TRUE(back.end_of_input);
  EXPECT_EQ(back.running_step, 111u);
  EXPECT_EQ(back.base_steps, 100u);
  EXPECT_EQ(back.made_steps, 110u);
  EXPECT_EQ(back.released_steps, 108u);
  EXPECT_EQ(back.completed_steps, 106u);
  EXPECT_EQ(back.checkpointed_steps, 104u);
  EXPECT_THAT(back.retained_steps, ElementsAre(108, 109));
}

TEST(ConnectorStatusTest, TotalsComeBack) {
  const core::ConnectorStatus sent = FullStatus();
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(Response(sent)));
  EXPECT_EQ(back.buffered_total, sent.buffered_total);
  EXPECT_EQ(back.extended_total, sent.extended_total);
  EXPECT_EQ(back.replayed_total, sent.replayed_total);
  EXPECT_EQ(back.queued, sent.queued);
  EXPECT_EQ(back.records_out, 5u);
  EXPECT_EQ(back.records_skipped, 6u);
  EXPECT_EQ(back.records_discarded, 7u);
  EXPECT_EQ(back.records_refused, 17u);
  EXPECT_EQ(back.dead_letters, 18u);
  EXPECT_EQ(back.parse_errors, 8u);
  EXPECT_EQ(back.already_held_steps, 9u);
  EXPECT_EQ(back.inflight_bytes, 10u);
  EXPECT_EQ(back.chunk_bytes, 110u);
  EXPECT_EQ(back.retained_bytes, 11u);
}

TEST(ConnectorStatusTest, ShardsHealthErrorsAndBlockersComeBack) {
  const core::ConnectorStatus sent = FullStatus();
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(Response(sent)));
  ASSERT_THAT(back.shards, SizeIs(2));
  EXPECT_EQ(back.shards[0].progress, 106u);
  EXPECT_EQ(back.shards[0].queued_chunks, 1u);
  EXPECT_EQ(back.shards[0].held_bytes, 2u);
  EXPECT_EQ(back.shards[0].parked_chunks, 3u);
  EXPECT_EQ(back.shards[1].progress, 107u);
  EXPECT_EQ(back.health.condition, core::Condition::kDegraded);
  EXPECT_EQ(back.health.reason, "retrying");
  EXPECT_EQ(back.health.next_attempt, absl::FromUnixSeconds(20));
  EXPECT_EQ(back.health_since, absl::FromUnixSeconds(10));
  EXPECT_EQ(back.first_error, "refused");
  EXPECT_EQ(back.error_count, 12u);
  ASSERT_THAT(back.errors, SizeIs(2));
  EXPECT_EQ(back.errors[0].text, "new");
  EXPECT_TRUE(back.errors[0].fatal);
  EXPECT_EQ(back.errors[1].text, "old");
  EXPECT_EQ(back.errors[1].index, 1u);
  ASSERT_THAT(back.blockers, SizeIs(1));
  EXPECT_EQ(back.blockers[0].kind, core::Blocker::Kind::kUnreleasedStep);
}

TEST(ConnectorStatusTest, OrphanhoodComesBackInShortToo) {
  core::ConnectorStatus status = FullStatus();
  EXPECT_FALSE(ConnectorToProto(status).has_orphaned_since());
  EXPECT_FALSE(SummaryToProto(status).has_orphaned_since());
  status.orphaned_since = absl::FromUnixSeconds(30);
  ASSERT_OK_AND_ASSIGN(const auto whole, FromProto(Response(status)));
  EXPECT_EQ(whole.orphaned_since, status.orphaned_since);
  ASSERT_OK_AND_ASSIGN(const auto in_short, FromProto(SummaryToProto(status)));
  EXPECT_EQ(in_short.orphaned_since, status.orphaned_since);
}

TEST(ConnectorStatusTest, WhatWasAttemptedComesBack) {
  core::ConnectorStatus status = FullStatus();
  EXPECT_FALSE(ConnectorToProto(status).has_last_update());
  status.attempt = core::SpecAttempt{
      .spec_bytes = status.spec_bytes,
      .time = absl::FromUnixSeconds(31),
      .result = core::MakeError(core::Reason::INVALID_CONFIG, "no")};
  const v1::Connector shown = ConnectorToProto(status);
  EXPECT_EQ(shown.last_update().spec_hash(), shown.spec_hash());
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(Response(status)));
  ASSERT_TRUE(back.attempt.has_value());
  EXPECT_EQ(back.attempt->spec_bytes, status.spec_bytes);
  EXPECT_EQ(back.attempt->time, absl::FromUnixSeconds(31));
  EXPECT_THAT(back.attempt->result,
              core::HasReason(core::Reason::INVALID_CONFIG));
  status.attempt->result = absl::OkStatus();
  EXPECT_FALSE(ConnectorToProto(status).last_update().has_error());
}

TEST(ConnectorStatusTest, OfALongSpecThatWasAttemptedOnlyItsHashIsShown) {
  core::ConnectorStatus status = FullStatus();
  v1::ConnectorSpec spec;
  spec.set_name(std::string(size_t{256} << 10, 'n'));
  status.attempt = core::SpecAttempt{.spec_bytes = spec.SerializeAsString(),
                                     .time = absl::FromUnixSeconds(31),
                                     .result = absl::OkStatus()};
  const v1::UpdateAttempt shown = ConnectorToProto(status).last_update();
  EXPECT_FALSE(shown.has_spec());
  EXPECT_EQ(shown.spec_hash(), SpecHash(status.attempt->spec_bytes));
  EXPECT_TRUE(shown.has_time());
}

TEST(ConnectorStatusTest, LastStepIsAbsentBeforeTheFirst) {
  core::ConnectorStatus status = FullStatus();
  EXPECT_EQ(ConnectorToProto(status).last_step(), 109u);
  status.made_steps = status.base_steps;
  EXPECT_FALSE(ConnectorToProto(status).has_last_step());
}

TEST(ConnectorStatusTest, NoNextAttemptIsAbsent) {
  core::ConnectorStatus status = FullStatus();
  status.health.next_attempt = absl::InfinitePast();
  EXPECT_FALSE(HealthToProto(status).has_next_attempt());
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(Response(status)));
  EXPECT_EQ(back.health.next_attempt, absl::InfinitePast());
}

TEST(ConnectorStatusTest, SpecHashIsThatOfOpen) {
  EXPECT_EQ(ConnectorToProto(FullStatus()).spec_hash(), SpecHash(SpecBytes()));
  EXPECT_EQ(SummaryToProto(FullStatus()).spec_hash(), SpecHash(SpecBytes()));
}

TEST(ConnectorStatusTest, ListsAreCutAndCounted) {
  core::ConnectorStatus status = FullStatus();
  status.retained_steps.resize(2000);
  status.blockers.resize(200);
  const v1::Connector connector = ConnectorToProto(status);
  EXPECT_EQ(connector.retained_steps_size(), 1024);
  EXPECT_EQ(connector.retained_count(), 2000u);
  EXPECT_EQ(connector.blockers_size(), 100);
}

TEST(ConnectorStatusTest, TextsAreCutAndMadeUtf8) {
  core::ConnectorStatus status = FullStatus();
  status.health.reason = "\xFF" + std::string(10'000, 'x');
  EXPECT_EQ(HealthToProto(status).reason().size(), 8192u);
  EXPECT_EQ(SummaryToProto(status).health().reason().size(), 1024u);
  EXPECT_OK(FromProto(Response(status)));
}

TEST(ConnectorStatusTest, UnknownStateIsRefused) {
  v1::GetConnectorResponse response = Response(FullStatus());
  response.mutable_connector()->mutable_health()->set_state(
      static_cast<v1::ConnectorState>(99));
  EXPECT_THAT(FromProto(response), HasReason(Reason::INVALID_REQUEST));
}

TEST(ConnectorStatusTest, SummaryComesBackAsFarAsItSays) {
  const core::ConnectorStatus sent = FullStatus();
  const v1::ConnectorSummary summary = SummaryToProto(sent);
  EXPECT_EQ(summary.source_type(), "file");
  EXPECT_EQ(summary.sink_type(), "null");
  EXPECT_EQ(summary.retained_count(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto back, FromProto(summary));
  EXPECT_EQ(back.name, "orders");
  EXPECT_EQ(back.instance, "i-1");
  EXPECT_EQ(back.incarnation, "incarnation-1");
  EXPECT_EQ(back.writer.open_number, 9u);
  EXPECT_EQ(back.state, core::ConnectorState::kPaused);
  EXPECT_EQ(back.level, core::FtModel::kAtLeastOnce);
  EXPECT_EQ(back.made_steps, 110u);
  EXPECT_EQ(back.queued, sent.queued);
  EXPECT_THAT(back.retained_steps, ElementsAre(108));
}

// --- Which errors a GetConnector answers -----------------------------------

core::ConnectorStatus StatusWithErrors(int count) {
  core::ConnectorStatus status = FullStatus();
  status.errors.clear();
  for (int i = 1; i <= count; ++i) {
    status.errors.push_back({.tag = i % 2 == 0 ? "even" : "odd",
                             .time = absl::FromUnixSeconds(i),
                             .index = static_cast<uint64_t>(i),
                             .fatal = false,
                             .text = absl::StrCat("e", i)});
  }
  return status;
}

TEST(GetResponseTest, AnswersAHundredErrorsNewestFirst) {
  const v1::GetConnectorResponse response = Response(StatusWithErrors(150));
  ASSERT_EQ(response.errors_size(), 100);
  EXPECT_EQ(response.errors(0).text(), "e150");
  EXPECT_EQ(response.errors(99).text(), "e51");
  EXPECT_TRUE(response.errors_more());
}

TEST(GetResponseTest, ExactlyAllIsNotMore) {
  EXPECT_FALSE(Response(StatusWithErrors(100)).errors_more());
}

TEST(GetResponseTest, PicksByTagAndCount) {
  v1::GetConnectorRequest request;
  request.set_errors_max(2);
  request.set_errors_tag("odd");
  request.set_errors_before(7);
  ASSERT_OK_AND_ASSIGN(const auto response,
                       GetResponseToProto(StatusWithErrors(10), request));
  ASSERT_EQ(response.errors_size(), 2);
  EXPECT_EQ(response.errors(0).text(), "e5");
  EXPECT_EQ(response.errors(1).text(), "e3");
  EXPECT_TRUE(response.errors_more());
}

TEST(GetResponseTest, StaysBelowOneMebibyte) {
  core::ConnectorStatus status = StatusWithErrors(1000);
  for (core::ErrorEntry& error : status.errors) {
    error.text = std::string(8000, 'x');
  }
  v1::GetConnectorRequest request;
  request.set_errors_max(1000);
  ASSERT_OK_AND_ASSIGN(const auto response,
                       GetResponseToProto(status, request));
  EXPECT_LE(response.ByteSizeLong(), size_t{1} << 20);
  EXPECT_TRUE(response.errors_more());
}

TEST(GetResponseTest, WrongRequestIsRefused) {
  v1::GetConnectorRequest request;
  request.set_errors_max(1001);
  EXPECT_THAT(GetResponseToProto(FullStatus(), request),
              HasReason(Reason::INVALID_REQUEST));
  request.set_errors_max(0);
  EXPECT_OK(GetResponseToProto(FullStatus(), request));
  request.set_errors_before(1);
  EXPECT_THAT(GetResponseToProto(FullStatus(), request),
              HasReason(Reason::INVALID_REQUEST));
}

TEST(ParseErrorTest, ComesBack) {
  core::ParseError error;
  error.tag = "syntax";
  error.description = "no value";
  error.record_number = 1;
  error.line = 2;
  error.byte_offset = INT64_MAX;
  error.field = "user.id";
  error.invalid_text = "{";
  error.suggestion = "close it";
  error.input = "/in.ndjson";
  const core::ParseError back = FromProto(ToProto(error));
  EXPECT_EQ(back.tag, error.tag);
  EXPECT_EQ(back.description, error.description);
  EXPECT_EQ(back.record_number, error.record_number);
  EXPECT_EQ(back.line, error.line);
  EXPECT_EQ(back.byte_offset, error.byte_offset);
  EXPECT_EQ(back.field, error.field);
  EXPECT_EQ(back.invalid_text, error.invalid_text);
  EXPECT_EQ(back.suggestion, error.suggestion);
  EXPECT_EQ(back.input, error.input);
}

TEST(ParseErrorTest, BytesThatAreNoUtf8AreReplaced) {
  core::ParseError error;
  error.invalid_text = "a\xFF";
  EXPECT_EQ(ToProto(error).text(), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace penstock::wire
