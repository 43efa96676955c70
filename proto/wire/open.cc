// Open's part of requests.h.
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/header.h"
#include "proto/wire/names.h"
#include "proto/wire/requests.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {
namespace {

core::Writer ReadWriter(const v1::OpenConnectorStart& start,
                        Violations& violations) {
  const v1::Writer& writer = start.writer();
  if (writer.epoch() != start.fence().epoch()) {
    violations.Add("writer.epoch", "must be fence.epoch", kContradiction);
  }
  if (writer.open_number() == 0) {
    violations.Add("writer.open_number", "must be 1 or higher", kRequired);
  }
  return FromProto(writer);
}

core::Step ReadJournaled(const v1::OpenConnectorStart& start,
                         Violations& violations) {
  if (!start.has_journaled_steps()) return start.base_steps();
  if (start.journaled_steps() < start.base_steps()) {
    violations.Add("journaled_steps", "must be at least base_steps",
                   kOutOfRange);
  }
  return start.journaled_steps();
}

// What the core cannot do yet is refused unless it asks for what holds anyway.
void CheckUnsupported(const v1::OpenConnectorStart& start,
                      Violations& violations) {
  if (!start.has_adopt() || start.adopt() == v1::ADOPT_TARGET_REFUSE) return;
  if (start.adopt() == v1::ADOPT_TARGET_APPEND) {
    violations.Add("adopt", "APPEND is not supported in this version",
                   kUnsupportedField);
    return;
  }
  violations.Add("adopt",
                 absl::StrCat("is ", start.adopt(), ", must be REFUSE"),
                 start.adopt() == 0 ? kUnspecified : kUnknownValue);
}

std::optional<Part> ReadPosition(const v1::OpenConnectorStart& start,
                                 Violations& violations) {
  if (!start.has_position()) return std::nullopt;
  const v1::PositionHeader& position = start.position();
  if (position.format() != kPositionFormat ||
      position.version() != kPositionVersion) {
    violations.Add(
        "position.format",
        absl::StrCat("is '", position.format(), "' version ",
                     position.version(), ", known is '", kPositionFormat,
                     "' version ", kPositionVersion),
        kUnsupportedField);
  }
  if (!position.has_part()) {
    violations.Add("position.part", "is missing", kRequired);
  }
  return FromProto(position.part());
}

}  // namespace

absl::StatusOr<v1::OpenConnectorStart> ToProto(
    const core::OpenRequest& request) {
  v1::OpenConnectorStart to;
  *to.mutable_fence() = ToProto(request.fence);
  to.set_request_id(request.request_id);
  if (request.spec_bytes.empty()) {
    *to.mutable_spec() = SpecToProto(request.spec);
  } else if (!to.mutable_spec()->ParseFromString(request.spec_bytes)) {
    return core::MakeError(core::Reason::STATE_DAMAGED,
                           "stored bytes are no connector specification");
  }
  *to.mutable_writer() = ToProto(request.writer);
  to.set_base_steps(request.base_steps);
  // The core's zero is "not known": nothing is journaled above the base.
  to.set_journaled_steps(std::max(request.journaled_steps, request.base_steps));
  to.set_incarnation(request.incarnation);
  to.set_first_open(request.first_open);
  to.set_checkpointing(request.checkpointing);
  if (request.position.has_value()) {
    v1::PositionHeader& position = *to.mutable_position();
    position.set_format(std::string(kPositionFormat));
    position.set_version(kPositionVersion);
    *position.mutable_part() = ToProto(PartOf(*request.position));
  }
  return to;
}

absl::StatusOr<DecodedOpen> FromProto(const v1::OpenConnectorStart& start) {
  Violations violations;
  DecodedOpen result;
  core::OpenRequest& to = result.request;
  to.fence = ReadFence(start.fence(), "fence", violations);
  CheckRequestId(start.request_id(), violations);
  to.request_id = start.request_id();
  to.writer = ReadWriter(start, violations);
  to.base_steps = start.base_steps();
  to.journaled_steps = ReadJournaled(start, violations);
  if (!IsIncarnation(start.incarnation())) {
    violations.Add("incarnation", "must be 8 to 64 characters of [A-Za-z0-9_-]",
                   start.incarnation().empty() ? kRequired : kMalformed);
  }
  to.incarnation = start.incarnation();
  to.first_open = start.first_open();
  to.checkpointing = start.checkpointing();
  result.position = ReadPosition(start, violations);
  if (!start.has_spec()) {
    violations.Add("spec", "is missing", kRequired);
  }
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  ASSIGN_OR_RETURN(to.spec, SpecFromProto(start.spec()));
  to.spec_bytes = SpecToBytes(to.spec);
  CheckUnsupported(start, violations);
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  return result;
}

v1::OpenConnectorResponse ToProto(const core::OpenReply& reply,
                                  const core::ConnectorSpec& spec) {
  v1::OpenConnectorResponse to;
  to.set_instance(reply.instance);
  *to.mutable_base_position() = PositionToProto(reply.position);
  if (reply.position.size() > kPositionInlineMax) {
    *to.mutable_base_position()->mutable_part() =
        ToProto(PartOf(reply.position));
  }
  to.set_base_steps(reply.base_steps);
  for (const core::Step steps : reply.shard_progress) {
    v1::ShardProgress& shard = *to.add_shards();
    shard.set_shard(static_cast<uint32_t>(to.shards_size() - 1));
    shard.set_committed_steps(steps);
  }
  to.set_level(LevelToProto(reply.level));
  if (reply.level < spec.level) {
    to.set_level_reason(absl::StrCat("source or sink reaches ",
                                     core::LevelName(reply.level), " at most"));
  }
  *to.mutable_resolved_spec() = SpecToProto(spec);
  to.set_spec_hash(SpecHash(SpecToBytes(to.resolved_spec())));
  return to;
}

absl::StatusOr<DecodedOpenReply> FromProto(
    const v1::OpenConnectorResponse& response) {
  Violations violations;
  DecodedOpenReply result;
  result.reply.instance = response.instance();
  result.reply.base_steps = response.base_steps();
  for (int i = 0; i < response.shards_size(); ++i) {
    const v1::ShardProgress& shard = response.shards(i);
    if (shard.shard() != static_cast<uint32_t>(i)) {
      violations.Add(absl::StrCat("shards[", i, "].shard"),
                     "shards are not in order", kMalformed);
    }
    result.reply.shard_progress.push_back(shard.committed_steps());
  }
  const DecodedLevel level = LevelFromProto(response.level());
  if (!level.ok) {
    violations.Add("level",
                   absl::StrCat("is ", response.level(),
                                ", which is not a level of this version"),
                   kUnknownValue);
  }
  result.reply.level = level.level;
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  ASSIGN_OR_RETURN(DecodedPosition position,
                   FromProto(response.base_position(), "base_position"));
  result.reply.position = std::move(position.json);
  result.base_position = position.part;
  return result;
}

}  // namespace penstock::wire
