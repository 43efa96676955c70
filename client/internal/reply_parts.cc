#include "client/internal/reply_parts.h"

#include "client/internal/parts.h"
#include "proto/wire/fragments.h"
#include "proto/wire/requests.h"
#include "proto/wire/step.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace penstock::client::internal {

std::string ReplayDataOf(const core::StepResult& result) {
  const auto* replay = std::get_if<core::Resume::Replay>(&result.resume.kind());
  return replay == nullptr ? std::string() : replay->replay;
}

absl::Duration ReplyParts::TransferTime(uint64_t bytes) const {
  return absl::Seconds(
      static_cast<double>(
          std::min(bytes, wire::FragmentAssembler::kWholeBytesMax)) /
      static_cast<double>(deadlines_.slowest_bytes_per_second));
}

void ReplyParts::FinishOpen(const std::string& connector,
                            absl::StatusOr<v1::OpenConnectorResponse> response,
                            Reply<core::OpenReply> reply) {
  if (!response.ok()) return Deliver(std::move(reply), {response.status()});
  absl::StatusOr<wire::DecodedOpenReply> decoded = wire::FromProto(*response);
  if (!decoded.ok()) return Deliver(std::move(reply), {decoded.status()});
  if (!decoded->base_position.has_value()) {
    return Deliver<core::OpenReply>(std::move(reply),
                                    std::move(decoded->reply));
  }
  const PartRequest part = {
      .ref = {.connector = connector, .instance = decoded->reply.instance},
      .step = decoded->reply.base_steps,
      .part = v1::STEP_PART_BASE_POSITION,
      .announced = *decoded->base_position};
  ReadPart(group_, control_,
           deadlines_.open + TransferTime(part.announced.length), part,
           [this, opened = std::move(decoded->reply), reply = std::move(reply)](
               absl::StatusOr<std::string> json) mutable {
             if (!json.ok()) {
               return Deliver(std::move(reply), {json.status()});
             }
             opened.position = *std::move(json);
             Deliver<core::OpenReply>(std::move(reply), std::move(opened));
           });
}

void ReplyParts::FinishQueue(const core::ConnectorRef& ref,
                             absl::StatusOr<v1::QueueResponse> response,
                             Reply<core::QueueReply> reply) {
  if (!response.ok()) return Deliver(std::move(reply), {response.status()});
  absl::StatusOr<wire::DecodedQueueReply> decoded = wire::FromProto(*response);
  if (!decoded.ok()) return Deliver(std::move(reply), {decoded.status()});
  core::QueueReply answer;
  answer.no_step = decoded->no_step;
  if (!decoded->step.has_value()) {
    return Deliver<core::QueueReply>(std::move(reply), std::move(answer));
  }
  CompleteStep(ref, *std::move(decoded->step), std::move(reply));
}

void ReplyParts::CompleteStep(const core::ConnectorRef& ref,
                              wire::DecodedStep step,
                              Reply<core::QueueReply> reply) {
  PartRequest part = {.ref = ref, .step = step.result.step};
  if (step.full_position.has_value()) {
    part.part = v1::STEP_PART_FULL_POSITION;
    part.announced = *step.full_position;
  } else if (step.replay_data.has_value()) {
    part.part = v1::STEP_PART_REPLAY_DATA;
    part.announced = *step.replay_data;
  } else {
    core::QueueReply whole;
    whole.result =
        std::make_shared<const core::StepResult>(std::move(step.result));
    return Deliver<core::QueueReply>(std::move(reply), std::move(whole));
  }
  ReadPart(group_, control_,
           deadlines_.prompt + TransferTime(part.announced.length), part,
           [this, part, step = std::move(step), reply = std::move(reply)](
               absl::StatusOr<std::string> data) mutable {
             if (!data.ok()) {
               return Deliver(std::move(reply), {data.status()});
             }
             if (part.part == v1::STEP_PART_FULL_POSITION) {
               wire::FillFullPosition(*std::move(data), step);
             } else {
               wire::FillReplayData(*std::move(data), step);
             }
             CompleteStep(part.ref, std::move(step), std::move(reply));
           });
}

}  // namespace penstock::client::internal
