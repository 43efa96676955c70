#include "proto/wire/update.h"

#include "core/base/error.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  return update->request.spec_bytes;
}

// What a connector that runs as Request() asks for answers.
absl::StatusOr<v1::UpdateConnectorResponse> Answer(
    const v1::UpdateConnectorRequest& request) {
  const auto update = FromProto(request);
  EXPECT_OK(update);
  const absl::Status checked = update->request.check(Running());
  if (!checked.ok()) return checked;
  return AnswerUpdate(update->request, {.before = Running()});
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

// One field that differs, and what becomes of that.
struct Cell {
  std::string field;
  // Empty: it is taken over.
  std::string reason;
  void (*change)(v1::ConnectorSpec& spec);
};

class UpdateCellTest : public testing::TestWithParam<Cell> {};

std::vector<Cell> Cells() {
  using Spec = v1::ConnectorSpec;
  const std::string reopen = "NEEDS_REOPEN";
  const std::string clean = "NEEDS_CLEAN_CHECKPOINT";
  const std::string reset = "NEEDS_RESET";
  return {
      {"allow_lower", "", [](Spec& s) { s.set_allow_lower(true); }},
      {"orphan_timeout", "",
       [](Spec& s) { s.mutable_orphan_timeout()->set_seconds(9); }},
      {"limits.step_bytes", "",
       [](Spec& s) { s.mutable_limits()->set_step_bytes(1 << 20); }},
      {"limits.step_linger", "",
       [](Spec& s) {
         s.mutable_limits()->mutable_step_linger()->set_seconds(9);
       }},
      {"limits.step_bytes_max", "",
       [](Spec& s) { s.mutable_limits()->set_step_bytes_max(9 << 20); }},
      {"limits.steps_outstanding_max", "",
       [](Spec& s) { s.mutable_limits()->set_steps_outstanding_max(9); }},
      {"limits.step_records_max", "",
       [](Spec& s) { s.mutable_limits()->set_step_records_max(9); }},
      {"limits.block_bytes", reopen,
       [](Spec& s) { s.mutable_limits()->set_block_bytes(1 << 19); }},
      {"limits.queued_bytes_max", reopen,
       [](Spec& s) { s.mutable_limits()->set_queued_bytes_max(1 << 24); }},
      {"limits.chunk_age_max", reopen,
       [](Spec& s) {
         s.mutable_limits()->mutable_chunk_age_max()->set_seconds(9);
       }},
      {"limits.shard_queue_chunks_max", reopen,
       [](Spec& s) { s.mutable_limits()->set_shard_queue_chunks_max(3); }},
      {"limits.in_flight_high_mark", reopen,
       [](Spec& s) { s.mutable_limits()->set_in_flight_high_mark(0.9); }},
      {"limits.in_flight_low_mark", reopen,
       [](Spec& s) { s.mutable_limits()->set_in_flight_low_mark(0.4); }},
      {"limits.retained_bytes_max", reopen,
       [](Spec& s) { s.mutable_limits()->set_retained_bytes_max(1 << 25); }},
      {"limits.memory_max", reopen,
       [](Spec& s) { s.mutable_limits()->set_memory_max(1 << 30); }},
      {"on_refused_row", reopen,
       [](Spec& s) { s.set_on_refused_row(v1::BAD_RECORD_POLICY_SKIP); }},
      {"bad_records.total_max", reopen,
       [](Spec& s) { s.mutable_bad_records()->set_total_max(9); }},
      {"refused_rows.total_max", reopen,
       [](Spec& s) { s.mutable_refused_rows()->set_total_max(9); }},
      {"delivery.write_deadline", reopen,
       [](Spec& s) {
         s.mutable_delivery()->mutable_write_deadline()->set_seconds(9);
       }},
      {"delivery.retry.jitter", reopen,
       [](Spec& s) { s.mutable_delivery()->mutable_retry()->set_jitter(0.5); }},
      {"sink.file.compression", reopen,
       [](Spec& s) {
         s.mutable_sink()->mutable_file()->set_compression(
             v1::OUTPUT_COMPRESSION_GZIP);
       }},
      {"shards", clean, [](Spec& s) { s.set_shards(3); }},
      {"limits.record_bytes_max", clean,
       [](Spec& s) { s.mutable_limits()->set_record_bytes_max(9); }},
      {"on_parse_error", clean,
       [](Spec& s) { s.set_on_parse_error(v1::BAD_RECORD_POLICY_FAIL); }},
      {"format", clean, [](Spec& s) { s.mutable_format()->mutable_raw(); }},
      {"name", reset, [](Spec& s) { s.set_name("other"); }},
      {"source.file.path", reset,
       [](Spec& s) { s.mutable_source()->mutable_file()->set_path("o"); }},
      {"sink.file.path", reset,
       [](Spec& s) { s.mutable_sink()->mutable_file()->set_path("o"); }},
      {"level", reset, [](Spec& s) { s.set_level(v1::DELIVERY_LEVEL_NONE); }},
  };
}

INSTANTIATE_TEST_SUITE_P(Fields, UpdateCellTest, testing::ValuesIn(Cells()),
                         [](const auto& param) {
                           std::string name;
                           for (const char c : param.param.field) {
                             if (c != '.' && c != '_') name += c;
                           }
                           return name;
                         });

TEST_P(UpdateCellTest, IsTakenOverOrRefusedByName) {
  v1::UpdateConnectorRequest request = Request();
  GetParam().change(*request.mutable_spec());
  const auto answer = Answer(request);
  if (!GetParam().reason.empty()) {
    EXPECT_THAT(answer, HasReason(Reason::INVALID_CONFIG));
    EXPECT_THAT(ReasonsOf(answer.status()),
                ElementsAre(absl::StrCat("spec.", GetParam().field, ": ",
                                         GetParam().reason)));
    return;
  }
  ASSERT_OK(answer);
  ASSERT_THAT(answer->changes(), SizeIs(1));
  EXPECT_EQ(answer->changes(0).field(), GetParam().field);
  EXPECT_EQ(answer->changes(0).change(), v1::CHANGE_CLASS_REPLAY_SAFE);
  EXPECT_NE(answer->spec_hash(), SpecHash(Running()));
}

// Each of these is taken over by core/connector/driver_terms.cc, or says
// nothing to a connector that is open.
TEST(UpdateTest, NoOtherFieldIsInPlace) {
  std::vector<std::string> expected;
  for (const Cell& cell : Cells()) {
    if (!cell.reason.empty()) continue;
    expected.push_back(cell.field.substr(cell.field.find('.') + 1));
  }
  std::vector<std::string> in_place;
  const auto& file = *v1::ConnectorSpec::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) {
    for (int j = 0; j < file.message_type(i)->field_count(); ++j) {
      const auto& field = *file.message_type(i)->field(j);
      const auto& config = field.options().GetExtension(v1::config);
      if (!config.in_place()) continue;
      in_place.push_back(field.name());
      EXPECT_EQ(config.change(), v1::CHANGE_CLASS_REPLAY_SAFE) << field.name();
    }
  }
  EXPECT_THAT(in_place, testing::UnorderedElementsAreArray(expected));
}

TEST(UpdateTest, OneFieldThatIsRefusedIsEnough) {
  v1::UpdateConnectorRequest request = Request();
  request.mutable_spec()->mutable_limits()->set_step_bytes(1 << 20);
  request.mutable_spec()->set_shards(3);
  request.mutable_spec()->mutable_sink()->mutable_file()->set_path("other");
  const auto answer = Answer(request);
  EXPECT_THAT(answer, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(
      ReasonsOf(answer.status()),
      testing::UnorderedElementsAre("spec.shards: NEEDS_CLEAN_CHECKPOINT",
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
