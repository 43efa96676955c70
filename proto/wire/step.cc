#include "proto/wire/step.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/common.pb.h"
#include "proto/penstock/v1/step.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/text.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>

#include <utility>
#include <variant>

namespace penstock::wire {
namespace {

constexpr size_t kDetailBytesMax = size_t{8} << 10;
// Replay data below this stays where it is: a part would hardly be shorter.
constexpr size_t kPartWorthwhileBytes = 64;

void SetHash(uint64_t value, uint64_t count, v1::StepHash& to) {
  to.set_algorithm(v1::HASH_ALGORITHM_XXH3_64);
  to.set_count(count);
  to.set_value(value);
}

void ResumeToProto(const core::StepResult& result, v1::Resume& to) {
  const auto& kind = result.resume.kind();
  if (std::holds_alternative<core::Resume::Barrier>(kind)) {
    to.mutable_barrier();
  } else if (const auto* seek = std::get_if<core::Resume::Seek>(&kind)) {
    *to.mutable_seek()->mutable_seek() = PositionToProto(seek->seek);
  } else if (const auto* replay = std::get_if<core::Resume::Replay>(&kind)) {
    auto& message = *to.mutable_replay();
    *message.mutable_seek() = PositionToProto(replay->seek);
    message.mutable_data()->set_msgpack(replay->replay);
    SetHash(
        replay->hash,
        result.hash.has_value() ? result.hash->count : result.amount.records,
        *message.mutable_hash());
  }
}

// The position at `path`; an empty one after a violation.
DecodedPosition ReadPosition(const v1::Position& position,
                             const std::string& path, Violations& violations) {
  absl::StatusOr<DecodedPosition> decoded = FromProto(position, path);
  if (decoded.ok()) return *std::move(decoded);
  for (const FieldViolation& violation : GetViolations(decoded.status())) {
    violations.Add(violation.field, violation.description, violation.reason);
  }
  return {};
}

// A step's own position at `path`.
std::string SeekFromProto(const v1::Position& position, bool given,
                          const std::string& path, Violations& violations) {
  if (!given) {
    violations.Add(path, "is missing", kRequired);
    return {};
  }
  DecodedPosition decoded = ReadPosition(position, path, violations);
  if (decoded.part.has_value()) {
    violations.Add(JoinPath(path, "part"), "a step's seek is never a part",
                   kMalformed);
  }
  return std::move(decoded.json);
}

void FullPositionFromProto(const v1::Position& position,
                           const std::string& path, DecodedStep& step,
                           Violations& violations) {
  DecodedPosition decoded = ReadPosition(position, path, violations);
  step.full_position = decoded.part;
  step.result.full_position = std::move(decoded.json);
}

void ReplayFromProto(const v1::Resume::Replay& replay, const std::string& path,
                     DecodedStep& step, Violations& violations) {
  core::Resume::Replay to;
  to.seek = SeekFromProto(replay.seek(), replay.has_seek(),
                          JoinPath(path, "seek"), violations);
  switch (replay.data().content_case()) {
    case v1::ReplayData::kMsgpack:
      to.replay = replay.data().msgpack();
      break;
    case v1::ReplayData::kPart:
      step.replay_data = FromProto(replay.data().part());
      break;
    case v1::ReplayData::CONTENT_NOT_SET:
      violations.Add(JoinPath(path, "data"),
                     "is missing; nil where the source needs none", kRequired);
      break;
  }
  if (replay.hash().algorithm() != v1::HASH_ALGORITHM_XXH3_64) {
    violations.Add(JoinPath(path, "hash.algorithm"),
                   absl::StrCat("is ", replay.hash().algorithm(),
                                ", which is not an algorithm of this version"),
                   kUnknownValue);
  }
  to.hash = replay.hash().value();
  step.result.hash = core::StepHash{.value = replay.hash().value(),
                                    .count = replay.hash().count()};
  step.result.resume = core::Resume(std::move(to));
}

void ResumeFromProto(const v1::Resume& resume, const std::string& path,
                     DecodedStep& step, Violations& violations) {
  switch (resume.kind_case()) {
    case v1::Resume::kBarrier:
    // Absent at level none, where nobody resumes.
    case v1::Resume::KIND_NOT_SET:
      step.result.resume = core::Resume(core::Resume::Barrier{});
      break;
    case v1::Resume::kSeek:
      step.result.resume = core::Resume(core::Resume::Seek{
          SeekFromProto(resume.seek().seek(), resume.seek().has_seek(),
                        JoinPath(path, "seek.seek"), violations)});
      break;
    case v1::Resume::kReplay:
      ReplayFromProto(resume.replay(), JoinPath(path, "replay"), step,
                      violations);
      break;
  }
}

void WatermarksFromProto(const v1::StepResult& result, absl::string_view path,
                         core::StepResult& to, Violations& violations) {
  for (int i = 0; i < result.watermarks_size(); ++i) {
    const v1::Watermark& from = result.watermarks(i);
    const auto time = TimeFromProto(from.ingest_time());
    if (!from.has_ingest_time() || !time.has_value()) {
      violations.Add(
          absl::StrCat(JoinPath(path, "watermarks["), i, "].ingest_time"),
          "is missing or not a time", kRequired);
      continue;
    }
    core::Watermark& watermark = to.watermarks.emplace_back();
    watermark.timestamp = *time;
    if (from.has_metadata()) watermark.metadata = from.metadata();
  }
}

}  // namespace

v1::BufferAmount ToProto(const core::BufferSize& size) {
  v1::BufferAmount result;
  result.set_records(size.records);
  result.set_bytes(size.bytes);
  return result;
}

core::BufferSize FromProto(const v1::BufferAmount& amount) {
  return {.records = amount.records(), .bytes = amount.bytes()};
}

v1::Position PositionToProto(absl::string_view json) {
  v1::Position result;
  result.set_format(std::string(kPositionFormat));
  result.set_version(kPositionVersion);
  result.set_json(json.data(), json.size());
  return result;
}

absl::StatusOr<DecodedPosition> FromProto(const v1::Position& position,
                                          absl::string_view path) {
  Violations violations;
  DecodedPosition result;
  if (position.format() != kPositionFormat) {
    violations.Add(JoinPath(path, "format"),
                   absl::StrCat("is '", position.format(), "', known is '",
                                kPositionFormat, "'"),
                   kUnsupportedField);
  } else if (position.version() != kPositionVersion) {
    violations.Add(JoinPath(path, "version"),
                   absl::StrCat("is ", position.version(), ", known is ",
                                kPositionVersion),
                   kUnsupportedField);
  }
  switch (position.content_case()) {
    case v1::Position::kJson:
      result.json = position.json();
      break;
    case v1::Position::kPart:
      result.part = FromProto(position.part());
      break;
    case v1::Position::CONTENT_NOT_SET:
      violations.Add(JoinPath(path, "json"), "is missing", kRequired);
      break;
  }
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  return result;
}

v1::StepResult ToProto(const core::StepResult& result, size_t bytes_max) {
  v1::StepResult to;
  to.set_step(result.step);
  *to.mutable_amount() = ToProto(result.amount);
  ResumeToProto(result, *to.mutable_resume());
  for (const core::Watermark& watermark : result.watermarks) {
    v1::Watermark& added = *to.add_watermarks();
    *added.mutable_ingest_time() = TimeToProto(watermark.timestamp);
    if (watermark.metadata.has_value()) {
      added.set_metadata(*watermark.metadata);
    }
  }
  if (result.transaction_started || result.transaction_committed ||
      result.transaction_label.has_value()) {
    v1::StepTransaction& transaction = *to.mutable_transaction();
    transaction.set_started(result.transaction_started);
    transaction.set_committed(result.transaction_committed);
    if (result.transaction_label.has_value()) {
      transaction.set_label(ToUtf8(*result.transaction_label));
    }
  }
  to.set_end_of_input(result.end_of_input);
  to.set_stopped_because(ToProto(result.stopped_because));
  to.set_skipped_records(result.skipped_records);
  to.set_position_complete(result.position_complete);
  if (result.full_position.has_value()) {
    *to.mutable_full_position() = PositionToProto(*result.full_position);
    if (to.ByteSizeLong() > bytes_max &&
        result.full_position->size() > kPartWorthwhileBytes) {
      *to.mutable_full_position()->mutable_part() =
          ToProto(PartOf(*result.full_position));
    }
  }
  if (to.resume().has_replay() && to.ByteSizeLong() > bytes_max) {
    v1::ReplayData& data =
        *to.mutable_resume()->mutable_replay()->mutable_data();
    if (data.msgpack().size() > kPartWorthwhileBytes) {
      const Part part = PartOf(data.msgpack());
      *data.mutable_part() = ToProto(part);
    }
  }
  return to;
}

absl::StatusOr<DecodedStep> FromProto(const v1::StepResult& result,
                                      absl::string_view path) {
  Violations violations;
  DecodedStep step;
  core::StepResult& to = step.result;
  to.step = result.step();
  to.amount = FromProto(result.amount());
  ResumeFromProto(result.resume(), JoinPath(path, "resume"), step, violations);
  if (result.has_full_position()) {
    FullPositionFromProto(result.full_position(),
                          JoinPath(path, "full_position"), step, violations);
  }
  WatermarksFromProto(result, path, to, violations);
  if (result.has_transaction()) {
    to.transaction_started = result.transaction().started();
    to.transaction_committed = result.transaction().committed();
    if (result.transaction().has_label()) {
      to.transaction_label = result.transaction().label();
    }
  }
  to.end_of_input = result.end_of_input();
  if (const auto reason = FromProto(result.stopped_because())) {
    to.stopped_because = *reason;
  } else {
    violations.Add(JoinPath(path, "stopped_because"),
                   absl::StrCat("is ", result.stopped_because(),
                                ", which is not a reason of this version"),
                   kUnknownValue);
  }
  to.skipped_records = result.skipped_records();
  to.position_complete = result.position_complete();
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  return step;
}

void FillReplayData(std::string data, DecodedStep& step) {
  CHECK(step.replay_data.has_value());
  core::Resume::Replay replay =
      std::get<core::Resume::Replay>(step.result.resume.kind());
  replay.replay = std::move(data);
  step.result.resume = core::Resume(std::move(replay));
  step.replay_data.reset();
}

void FillFullPosition(std::string data, DecodedStep& step) {
  CHECK(step.full_position.has_value());
  step.result.full_position = std::move(data);
  step.full_position.reset();
}

v1::Blocker ToProto(const core::Blocker& blocker) {
  v1::Blocker result;
  result.set_kind(ToProto(blocker.kind));
  result.set_step(blocker.step);
  if (blocker.shard.has_value()) result.set_shard(*blocker.shard);
  *result.mutable_since() = TimeToProto(blocker.since);
  result.set_detail(ToUtf8(blocker.text, kDetailBytesMax));
  return result;
}

absl::StatusOr<core::Blocker> FromProto(const v1::Blocker& blocker) {
  const auto kind = FromProto(blocker.kind());
  const auto since = TimeFromProto(blocker.since());
  Violations violations;
  if (!kind.has_value()) {
    violations.Add("blockers.kind",
                   absl::StrCat("is ", blocker.kind(),
                                ", which is not a kind of this version"),
                   kUnknownValue);
  }
  if (!since.has_value()) {
    violations.Add("blockers.since", "is not a time", kMalformed);
  }
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  core::Blocker result;
  result.kind = *kind;
  result.step = blocker.step();
  if (blocker.has_shard()) result.shard = blocker.shard();
  result.since = *since;
  result.text = blocker.detail();
  return result;
}

}  // namespace penstock::wire
