#include "proto/wire/connector_status.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/common.pb.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/watch.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/header.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/spec.h"
#include "proto/wire/status.h"
#include "proto/wire/step.h"
#include "proto/wire/text.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::wire {
namespace {

constexpr size_t kTextBytesMax = size_t{8} << 10;
constexpr size_t kSummaryTextBytesMax = size_t{1} << 10;
constexpr size_t kSampleTextBytesMax = size_t{4} << 10;
constexpr size_t kReplyBytesMax = size_t{1} << 20;
// Of what was attempted, beside a spec that runs and may be as long.
constexpr size_t kAttemptBytesMax = size_t{256} << 10;
constexpr int kRetainedStepsMax = 1024;
constexpr int kBlockersMax = 100;
constexpr uint32_t kErrorsMax = 1000;
constexpr uint32_t kErrorsDefault = 100;

v1::Health HealthCutAt(const core::ConnectorStatus& status, size_t bytes_max) {
  v1::Health to;
  to.set_state(ToProto(status.state));
  to.set_condition(ToProto(status.health.condition));
  to.set_reason(ToUtf8(status.health.reason, bytes_max));
  *to.mutable_since() = TimeToProto(status.health_since);
  if (status.first_error.has_value()) {
    to.set_first_error(ToUtf8(*status.first_error, bytes_max));
  }
  to.set_error_count(status.error_count);
  if (status.health.next_attempt != absl::InfinitePast()) {
    *to.mutable_next_attempt() = TimeToProto(status.health.next_attempt);
  }
  return to;
}

v1::StepCounts CountsToProto(const core::ConnectorStatus& status) {
  v1::StepCounts to;
  to.set_base_steps(status.base_steps);
  to.set_made_steps(status.made_steps);
  to.set_released_steps(status.released_steps);
  to.set_completed_steps(status.completed_steps);
  to.set_checkpointed_steps(status.checkpointed_steps);
  return to;
}

std::optional<core::Step> LastStep(const core::ConnectorStatus& status) {
  if (status.made_steps <= status.base_steps) return std::nullopt;
  return status.made_steps - 1;
}

v1::Totals TotalsToProto(const core::ConnectorStatus& status) {
  v1::Totals to;
  *to.mutable_buffered() = ToProto(status.buffered_total);
  *to.mutable_extended() = ToProto(status.extended_total);
  *to.mutable_replayed() = ToProto(status.replayed_total);
  to.set_records_out(status.records_out);
  to.set_records_skipped(status.records_skipped);
  to.set_records_discarded(status.records_discarded);
  to.set_parse_errors(status.parse_errors);
  to.set_already_held_steps(status.already_held_steps);
  to.set_records_refused(status.records_refused);
  to.set_dead_letters(status.dead_letters);
  return to;
}

v1::ShardProgress ShardToProto(const core::ShardStatus& shard, size_t index) {
  v1::ShardProgress to;
  to.set_shard(static_cast<uint32_t>(index));
  to.set_committed_steps(shard.progress);
  to.set_queued_chunks(shard.queued_chunks);
  to.set_parked_chunks(shard.parked_chunks);
  to.set_held_bytes(shard.held_bytes);
  return to;
}

// Name of the arm that is set in the spec's `part`; empty if none is.
std::string ArmName(const google::protobuf::Message& part) {
  const google::protobuf::FieldDescriptor* field =
      part.GetReflection()->GetOneofFieldDescriptor(
          part, part.GetDescriptor()->oneof_decl(0));
  return field == nullptr ? std::string() : field->name();
}

void AddUnknownValue(absl::string_view field, int value,
                     Violations& violations) {
  violations.Add(std::string(field),
                 absl::StrCat("is ", value, ", which this version lacks"),
                 kUnknownValue);
}

void HealthFromProto(const v1::Health& from, core::ConnectorStatus& to,
                     Violations& violations) {
  const auto state = FromProto(from.state());
  if (!state.has_value()) {
    AddUnknownValue("health.state", from.state(), violations);
  }
  const auto condition = FromProto(from.condition());
  if (!condition.has_value()) {
    AddUnknownValue("health.condition", from.condition(), violations);
  }
  to.state = state.value_or(core::ConnectorState::kFailed);
  to.health.condition = condition.value_or(core::Condition::kFatal);
  to.health.reason = from.reason();
  to.health_since = TimeFromProto(from.since()).value_or(absl::InfinitePast());
  if (from.has_first_error()) to.first_error = from.first_error();
  to.error_count = from.error_count();
  if (from.has_next_attempt()) {
    to.health.next_attempt =
        TimeFromProto(from.next_attempt()).value_or(absl::InfinitePast());
  }
}

void CountsFromProto(const v1::StepCounts& from, core::ConnectorStatus& to) {
  to.base_steps = from.base_steps();
  to.made_steps = from.made_steps();
  to.released_steps = from.released_steps();
  to.completed_steps = from.completed_steps();
  to.checkpointed_steps = from.checkpointed_steps();
}

std::optional<core::FtModel> ReadLevel(absl::string_view field,
                                       v1::DeliveryLevel level,
                                       Violations& violations) {
  const DecodedLevel decoded = LevelFromProto(level);
  if (!decoded.ok) AddUnknownValue(field, level, violations);
  return decoded.level;
}

void TotalsFromProto(const v1::Connector& from, core::ConnectorStatus& to) {
  const v1::Totals& totals = from.totals();
  to.queued = FromProto(from.buffered());
  to.buffered_total = FromProto(totals.buffered());
  to.extended_total = FromProto(totals.extended());
  to.replayed_total = FromProto(totals.replayed());
  to.records_out = totals.records_out();
  to.records_skipped = totals.records_skipped();
  to.records_discarded = totals.records_discarded();
  to.parse_errors = totals.parse_errors();
  to.already_held_steps = totals.already_held_steps();
  to.records_refused = totals.records_refused();
  to.dead_letters = totals.dead_letters();
  to.inflight_bytes = from.usage().in_flight_bytes();
  to.chunk_bytes = from.usage().chunk_bytes();
  to.retained_bytes = from.usage().retained_bytes();
}

v1::UpdateAttempt AttemptToProto(const core::SpecAttempt& attempt) {
  v1::UpdateAttempt to;
  // As the spec that runs.
  if (attempt.spec_bytes.size() <= kAttemptBytesMax) {
    to.mutable_spec()->ParseFromString(attempt.spec_bytes);
  }
  to.set_spec_hash(SpecHash(attempt.spec_bytes));
  *to.mutable_time() = TimeToProto(attempt.time);
  if (!attempt.result.ok()) *to.mutable_error() = StatusToProto(attempt.result);
  return to;
}

core::SpecAttempt AttemptFromProto(const v1::UpdateAttempt& from) {
  core::SpecAttempt to;
  to.spec_bytes = SpecToBytes(from.spec());
  to.time = TimeFromProto(from.time()).value_or(absl::InfinitePast());
  if (from.has_error()) to.result = StatusFromProto(from.error());
  return to;
}

// Which errors a request asks for.
absl::Status CheckErrorsAsked(const v1::GetConnectorRequest& request) {
  Violations violations;
  if (request.errors_max() > kErrorsMax) {
    violations.Add("errors_max", absl::StrCat("must be 0 to ", kErrorsMax),
                   kOutOfRange);
  }
  if (request.has_errors_before() && !request.has_errors_tag()) {
    violations.Add("errors_before", "is given only with errors_tag",
                   kContradiction);
  }
  return violations.ToStatus(core::Reason::INVALID_REQUEST);
}

}  // namespace

v1::Health HealthToProto(const core::ConnectorStatus& status) {
  return HealthCutAt(status, kTextBytesMax);
}

v1::ErrorEntry ToProto(const core::ErrorEntry& entry) {
  v1::ErrorEntry to;
  to.set_tag(ToUtf8(entry.tag));
  *to.mutable_time() = TimeToProto(entry.time);
  to.set_count(entry.index);
  to.set_text(ToUtf8(entry.text, kTextBytesMax));
  to.set_fatal(entry.fatal);
  return to;
}

v1::ParseErrorSample ToProto(const core::ParseError& error) {
  v1::ParseErrorSample to;
  to.set_tag(ToUtf8(error.tag));
  to.set_description(ToUtf8(error.description, kTextBytesMax));
  to.set_record_number(error.record_number);
  to.set_line(error.line);
  to.set_byte_offset(error.byte_offset);
  if (error.field.has_value()) {
    to.set_field(ToUtf8(*error.field, kSummaryTextBytesMax));
  }
  to.set_text(ToUtf8(error.invalid_text, kSampleTextBytesMax));
  to.set_suggestion(ToUtf8(error.suggestion, kTextBytesMax));
  to.set_input(ToUtf8(error.input, kTextBytesMax));
  return to;
}

v1::Connector ConnectorToProto(const core::ConnectorStatus& status) {
  v1::Connector to;
  to.set_connector(status.name);
  to.set_instance(status.instance);
  to.set_pipeline(status.pipeline);
  to.set_spec_hash(SpecHash(status.spec_bytes));
  // Bytes of ours: were they not, the spec would be shown empty.
  to.mutable_spec()->ParseFromString(status.spec_bytes);
  *to.mutable_health() = HealthToProto(status);
  to.set_level_asked(LevelToProto(status.level_asked));
  to.set_level(LevelToProto(status.level));
  to.set_end_of_input(status.end_of_input);
  if (status.running_step.has_value()) {
    to.set_running_step(*status.running_step);
  }
  if (const auto last = LastStep(status)) to.set_last_step(*last);
  for (const core::Step step : status.retained_steps) {
    if (to.retained_steps_size() == kRetainedStepsMax) break;
    to.add_retained_steps(step);
  }
  to.set_retained_count(status.retained_steps.size());
  *to.mutable_writer() = ToProto(status.writer);
  to.set_incarnation(status.incarnation);
  if (status.orphaned_since.has_value()) {
    *to.mutable_orphaned_since() = TimeToProto(*status.orphaned_since);
  }
  if (status.attempt.has_value()) {
    *to.mutable_last_update() = AttemptToProto(*status.attempt);
  }
  *to.mutable_steps() = CountsToProto(status);
  *to.mutable_buffered() = ToProto(status.queued);
  to.mutable_usage()->set_in_flight_bytes(status.inflight_bytes);
  to.mutable_usage()->set_chunk_bytes(status.chunk_bytes);
  to.mutable_usage()->set_retained_bytes(status.retained_bytes);
  *to.mutable_totals() = TotalsToProto(status);
  for (size_t i = 0; i < status.shards.size(); ++i) {
    *to.add_shards() = ShardToProto(status.shards[i], i);
  }
  for (const core::Blocker& blocker : status.blockers) {
    if (to.blockers_size() == kBlockersMax) break;
    *to.add_blockers() = ToProto(blocker);
  }
  return to;
}

v1::ConnectorSummary SummaryToProto(const core::ConnectorStatus& status) {
  v1::ConnectorSummary to;
  to.set_connector(status.name);
  to.set_instance(status.instance);
  to.set_pipeline(status.pipeline);
  to.set_spec_hash(SpecHash(status.spec_bytes));
  *to.mutable_health() = HealthCutAt(status, kSummaryTextBytesMax);
  if (status.running_step.has_value()) {
    to.set_running_step(*status.running_step);
  }
  if (const auto last = LastStep(status)) to.set_last_step(*last);
  *to.mutable_steps() = CountsToProto(status);
  *to.mutable_buffered() = ToProto(status.queued);
  to.set_level(LevelToProto(status.level));
  v1::ConnectorSpec spec;
  if (spec.ParseFromString(status.spec_bytes)) {
    to.set_source_type(ArmName(spec.source()));
    to.set_sink_type(ArmName(spec.sink()));
  }
  if (!status.retained_steps.empty()) {
    to.set_first_retained_step(status.retained_steps.front());
  }
  to.set_retained_count(status.retained_steps.size());
  *to.mutable_writer() = ToProto(status.writer);
  to.set_incarnation(status.incarnation);
  if (status.orphaned_since.has_value()) {
    *to.mutable_orphaned_since() = TimeToProto(*status.orphaned_since);
  }
  return to;
}

absl::StatusOr<v1::GetConnectorResponse> GetResponseToProto(
    const core::ConnectorStatus& status,
    const v1::GetConnectorRequest& request) {
  RETURN_IF_ERROR(CheckErrorsAsked(request));
  v1::GetConnectorResponse to;
  *to.mutable_connector() = ConnectorToProto(status);
  std::vector<const core::ErrorEntry*> chosen;
  for (const core::ErrorEntry& error : status.errors) {
    const bool tag =
        !request.has_errors_tag() || error.tag == request.errors_tag();
    const bool before =
        !request.has_errors_before() || error.index < request.errors_before();
    if (tag && before) chosen.push_back(&error);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const core::ErrorEntry* a, const core::ErrorEntry* b) {
                     return a->time > b->time ||
                            (a->time == b->time && a->index > b->index);
                   });
  const size_t max =
      request.has_errors_max() ? request.errors_max() : kErrorsDefault;
  size_t bytes = to.ByteSizeLong();
  for (const core::ErrorEntry* error : chosen) {
    v1::ErrorEntry entry = ToProto(*error);
    // Tag and length: at most 6 bytes.
    bytes += entry.ByteSizeLong() + 6;
    const auto added = static_cast<size_t>(to.errors_size());
    if (added == max || bytes > kReplyBytesMax) {
      to.set_errors_more(true);
      break;
    }
    *to.add_errors() = std::move(entry);
  }
  return to;
}

absl::StatusOr<core::ErrorEntry> FromProto(const v1::ErrorEntry& entry) {
  const auto time = TimeFromProto(entry.time());
  if (!time.has_value()) {
    Violations violations;
    violations.Add("errors.time", "is not a time", kMalformed);
    return violations.ToStatus(core::Reason::INVALID_REQUEST);
  }
  core::ErrorEntry to;
  to.tag = entry.tag();
  to.time = *time;
  to.index = entry.count();
  to.fatal = entry.fatal();
  to.text = entry.text();
  return to;
}

core::ParseError FromProto(const v1::ParseErrorSample& sample) {
  core::ParseError to;
  to.tag = sample.tag();
  to.description = sample.description();
  to.record_number = sample.record_number();
  to.line = sample.line();
  to.byte_offset = sample.byte_offset();
  if (sample.has_field()) to.field = sample.field();
  to.invalid_text = sample.text();
  to.suggestion = sample.suggestion();
  to.input = sample.input();
  return to;
}

absl::StatusOr<core::ConnectorStatus> FromProto(
    const v1::GetConnectorResponse& response) {
  const v1::Connector& from = response.connector();
  Violations violations;
  core::ConnectorStatus to;
  to.name = from.connector();
  to.pipeline = from.pipeline();
  to.instance = from.instance();
  to.spec_bytes = SpecToBytes(from.spec());
  to.writer = FromProto(from.writer());
  to.incarnation = from.incarnation();
  if (from.has_orphaned_since()) {
    to.orphaned_since = TimeFromProto(from.orphaned_since());
  }
  if (from.has_last_update()) {
    to.attempt = AttemptFromProto(from.last_update());
  }
  HealthFromProto(from.health(), to, violations);
  to.level_asked = ReadLevel("level_asked", from.level_asked(), violations);
  to.level = ReadLevel("level", from.level(), violations);
  to.end_of_input = from.end_of_input();
  if (from.has_running_step()) to.running_step = from.running_step();
  CountsFromProto(from.steps(), to);
  to.retained_steps.assign(from.retained_steps().begin(),
                           from.retained_steps().end());
  TotalsFromProto(from, to);
  for (const v1::ShardProgress& shard : from.shards()) {
    to.shards.push_back({.progress = shard.committed_steps(),
                         .queued_chunks = shard.queued_chunks(),
                         .held_bytes = shard.held_bytes(),
                         .parked_chunks = shard.parked_chunks()});
  }
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  for (const v1::Blocker& blocker : from.blockers()) {
    ASSIGN_OR_RETURN(core::Blocker one, FromProto(blocker));
    to.blockers.push_back(std::move(one));
  }
  for (const v1::ErrorEntry& error : response.errors()) {
    ASSIGN_OR_RETURN(core::ErrorEntry one, FromProto(error));
    to.errors.push_back(std::move(one));
  }
  return to;
}

absl::StatusOr<core::ConnectorStatus> FromProto(
    const v1::ConnectorSummary& summary) {
  Violations violations;
  core::ConnectorStatus to;
  to.name = summary.connector();
  to.pipeline = summary.pipeline();
  to.instance = summary.instance();
  to.writer = FromProto(summary.writer());
  to.incarnation = summary.incarnation();
  if (summary.has_orphaned_since()) {
    to.orphaned_since = TimeFromProto(summary.orphaned_since());
  }
  HealthFromProto(summary.health(), to, violations);
  to.level = ReadLevel("level", summary.level(), violations);
  if (summary.has_running_step()) to.running_step = summary.running_step();
  CountsFromProto(summary.steps(), to);
  to.queued = FromProto(summary.buffered());
  if (summary.has_first_retained_step()) {
    to.retained_steps.push_back(summary.first_retained_step());
  }
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  return to;
}

}  // namespace penstock::wire
