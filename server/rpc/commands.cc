#include "server/rpc/commands.h"

#include "core/base/error.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/header.h"
#include "proto/wire/step.h"
#include "proto/wire/update.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::server {
namespace {

// Passes the core's answer on as a message.
template <typename Reply, typename Response>
auto Encoding(Commands::Answer<Response> answer) {
  return [answer = std::move(answer)](absl::StatusOr<Reply> reply) mutable {
    if (!reply.ok()) return answer(reply.status());
    answer(wire::ToProto(*reply));
  };
}

// Answers `response` once the core has said that all is well.
template <typename Response>
auto Saying(Response response, Commands::Answer<Response> answer) {
  return [response = std::move(response),
          answer = std::move(answer)](absl::Status status) mutable {
    if (!status.ok()) return answer(std::move(status));
    answer(std::move(response));
  };
}

}  // namespace

void Commands::Open(core::OpenRequest request,
                    Answer<v1::OpenConnectorResponse> answer) const {
  // Configurations in a spec are shared, constant pointers: cheap to keep.
  core::ConnectorSpec spec = request.spec;
  dispatcher_.Open(
      std::move(request), [positions = &positions_, spec = std::move(spec),
                           answer = std::move(answer)](
                              absl::StatusOr<core::OpenReply> reply) mutable {
        if (!reply.ok()) return answer(reply.status());
        if (reply->position.size() > wire::kPositionInlineMax) {
          positions->Keep(spec.name, reply->instance, reply->position);
        }
        answer(wire::ToProto(*reply, spec));
      });
}

void Commands::Delete(const v1::DeleteConnectorRequest& request,
                      Answer<v1::DeleteConnectorResponse> answer) const {
  auto command = wire::FromProto(request);
  if (!command.ok()) return answer(command.status());
  core::ConnectorRef ref = command->header.ref;
  dispatcher_.Delete(std::move(command->header), command->request,
                     [positions = &positions_, ref = std::move(ref),
                      answer = std::move(answer)](
                         absl::StatusOr<core::DisconnectReply> reply) mutable {
                       if (!reply.ok()) return answer(reply.status());
                       positions->Forget(ref.connector, ref.instance);
                       answer(wire::DeleteToProto(*reply));
                     });
}

void Commands::Update(const v1::UpdateConnectorRequest& request,
                      Answer<v1::UpdateConnectorResponse> answer) const {
  auto update = wire::FromProto(request);
  if (!update.ok()) return answer(update.status());
  core::UpdateRequest asked = update->request;
  dispatcher_.Update(std::move(update->header), std::move(update->request),
                     [asked = std::move(asked), answer = std::move(answer)](
                         absl::StatusOr<core::UpdateReply> reply) mutable {
                       if (!reply.ok()) return answer(reply.status());
                       answer(wire::AnswerUpdate(asked, *reply));
                     });
}

void Commands::Execute(const v1::ExecuteCommandRequest& request,
                       Answer<v1::ExecuteCommandResponse> answer) const {
  wire::Violations violations;
  core::CommandHeader header = wire::ReadHeader(request, violations);
  const absl::Status read = violations.ToStatus(core::Reason::INVALID_REQUEST);
  if (!read.ok()) return answer(read);
  const std::string name = header.ref.connector;
  dispatcher_.Admit(std::move(header), [name, answer = std::move(answer)](
                                           absl::Status admitted) mutable {
    if (!admitted.ok()) return answer(std::move(admitted));
    answer(core::MakeError(
        core::Reason::UNSUPPORTED,
        absl::StrCat("giving connector '", name, "' a command of its own: ",
                     "neither its source nor its sink has any")));
  });
}

void Commands::Get(const v1::GetConnectorRequest& request,
                   Answer<v1::GetConnectorResponse> answer) const {
  dispatcher_.Get(request.connector(),
                  [request, answer = std::move(answer)](
                      absl::StatusOr<core::ConnectorStatus> status) mutable {
                    if (!status.ok()) return answer(status.status());
                    answer(wire::GetResponseToProto(*status, request));
                  });
}

void Commands::Replay(core::CommandHeader header, core::ReplayRequest request,
                      Answer<v1::ReplayResponse> answer) const {
  dispatcher_.Replay(std::move(header), std::move(request),
                     Encoding<core::ReplayReply>(std::move(answer)));
}

void Commands::Extend(const v1::ExtendRequest& request,
                      Answer<v1::ExtendResponse> answer) const {
  auto header = wire::FromProto(request);
  if (!header.ok()) return answer(header.status());
  v1::ExtendResponse response;
  response.set_state(v1::CONNECTOR_STATE_RUNNING);
  dispatcher_.Extend(*std::move(header),
                     Saying(std::move(response), std::move(answer)));
}

void Commands::Pause(const v1::PauseRequest& request,
                     Answer<v1::PauseResponse> answer) const {
  auto header = wire::FromProto(request);
  if (!header.ok()) return answer(header.status());
  v1::PauseResponse response;
  response.set_state(v1::CONNECTOR_STATE_PAUSED);
  dispatcher_.Pause(*std::move(header),
                    Saying(std::move(response), std::move(answer)));
}

void Commands::Queue(const v1::QueueRequest& request,
                     Answer<v1::QueueResponse> answer) const {
  auto command = wire::FromProto(request);
  if (!command.ok()) return answer(command.status());
  dispatcher_.Queue(std::move(command->header), command->request,
                    Encoding<core::QueueReply>(std::move(answer)));
}

std::optional<core::ConnectorStatus> Commands::LookUp(
    const core::ConnectorRef& ref) const {
  auto status = dispatcher_.StatusOf(ref.connector);
  // That life may be gone by now; what was asked took effect all the same.
  if (status.has_value() && status->instance != ref.instance) status.reset();
  return status;
}

void Commands::Release(const v1::ReleaseRequest& request,
                       Answer<v1::ReleaseResponse> answer) const {
  auto header = wire::FromProto(request);
  if (!header.ok()) return answer(header.status());
  const core::ConnectorRef ref = header->ref;
  const core::Step steps = *header->released_steps;
  dispatcher_.Release(
      *std::move(header), [this, ref, steps, answer = std::move(answer)](
                              absl::Status status) mutable {
        if (!status.ok()) return answer(std::move(status));
        v1::ReleaseResponse response;
        // It may be higher by now.
        const auto now = LookUp(ref);
        response.set_released_steps(
            now.has_value() ? std::max(steps, now->released_steps) : steps);
        answer(std::move(response));
      });
}

void Commands::PrepareCheckpoint(
    const v1::PrepareCheckpointRequest& request,
    Answer<v1::PrepareCheckpointResponse> answer) const {
  auto command = wire::FromProto(request);
  if (!command.ok()) return answer(command.status());
  dispatcher_.PrepareCheckpoint(
      std::move(command->header), command->request,
      Encoding<core::PrepareCheckpointReply>(std::move(answer)));
}

void Commands::CommitCheckpoint(
    const v1::CommitCheckpointRequest& request,
    Answer<v1::CommitCheckpointResponse> answer) const {
  auto command = wire::FromProto(request);
  if (!command.ok()) return answer(command.status());
  const core::ConnectorRef ref = command->header.ref;
  const core::Step steps = command->request.steps;
  dispatcher_.CommitCheckpoint(
      std::move(command->header), command->request,
      [this, ref, steps,
       answer = std::move(answer)](absl::Status status) mutable {
        if (!status.ok()) return answer(std::move(status));
        // Only a commit that took effect forgets: a stale one has none.
        positions_.Forget(ref.connector, ref.instance);
        v1::CommitCheckpointResponse response;
        const auto now = LookUp(ref);
        response.set_checkpointed_steps(
            now.has_value() ? std::max(steps, now->checkpointed_steps) : steps);
        answer(std::move(response));
      });
}

void Commands::Disconnect(const v1::DisconnectRequest& request,
                          Answer<v1::DisconnectResponse> answer) const {
  auto command = wire::FromProto(request);
  if (!command.ok()) return answer(command.status());
  dispatcher_.Disconnect(std::move(command->header), command->request,
                         Encoding<core::DisconnectReply>(std::move(answer)));
}

}  // namespace penstock::server
