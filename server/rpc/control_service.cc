#include "server/rpc/control_service.h"

#include "core/base/error.h"
#include "proto/wire/requests.h"
#include "proto/wire/status.h"
#include "proto/wire/step.h"
#include "server/rpc/fragment_writer.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

// Longest time a Drain asked over RPC may take when it names none.
constexpr absl::Duration kDrainDefault = absl::Seconds(25);

// Takes a ReplayStart, then fragments until the data is whole, then replays.
// Owner: itself, from creation to OnDone. One read in flight.
class ReplayReactor final : public grpc::ServerReadReactor<v1::ReplayRequest> {
 public:
  ReplayReactor(const Commands& commands, v1::ReplayResponse& response)
      : commands_(commands), response_(response) {
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Fail("the stream ended before all of the replay data");
    if (message_.has_start()) return OnStart();
    if (!message_.has_data() || !assembler_.has_value()) {
      return Fail(
          "a replay is `start`, then `data` if the journaled result "
          "names some");
    }
    if (const absl::Status added = assembler_->Add(message_.data());
        !added.ok()) {
      return Finish(wire::StatusToGrpc(added));
    }
    if (!assembler_->complete()) return StartRead(&message_);
    auto data = std::move(*assembler_).Finish();
    if (!data.ok()) return Finish(wire::StatusToGrpc(data.status()));
    wire::FillReplayData(*std::move(data), decoded_.step);
    Run(std::move(decoded_.step.result));
  }
  void OnCancel() override {}  // The replay goes on; asking again joins it.
  void OnDone() override { delete this; }

 private:
  void OnStart() {
    if (started_) return Fail("`start` came twice");
    started_ = true;
    auto decoded = wire::FromProto(message_.start());
    if (!decoded.ok()) return Finish(wire::StatusToGrpc(decoded.status()));
    decoded_ = *std::move(decoded);
    if (!decoded_.step.replay_data.has_value()) {
      return Run(std::move(decoded_.step.result));
    }
    assembler_.emplace(*decoded_.step.replay_data);
    StartRead(&message_);
  }

  void Run(core::StepResult result) {
    commands_.Replay(
        std::move(decoded_.header),
        core::ReplayRequest{.result = std::move(result),
                            .previous_steps = decoded_.previous_steps},
        [this](absl::StatusOr<v1::ReplayResponse> reply) {
          if (reply.ok()) response_ = *std::move(reply);
          Finish(wire::StatusToGrpc(reply.status()));
        });
  }

  void Fail(absl::string_view what) {
    Finish(wire::StatusToGrpc(
        core::MakeError(core::Reason::INVALID_REQUEST,
                        absl::StrCat("reading a Replay stream: ", what))));
  }

  const Commands& commands_;
  v1::ReplayResponse& response_;
  v1::ReplayRequest message_;
  bool started_ = false;
  wire::DecodedReplay decoded_;
  std::optional<wire::FragmentAssembler> assembler_;
};

// What a ReadStepPart asks for.
absl::StatusOr<std::string> PartOf(Dispatcher& dispatcher,
                                   PositionCache& positions,
                                   const v1::ReadStepPartRequest& request) {
  const std::string& name = request.connector().connector();
  const auto connector = dispatcher.Find(name);
  if (connector == nullptr ||
      connector->instance() != request.connector().instance()) {
    return core::MakeError(core::Reason::INSTANCE_MISMATCH,
                           absl::StrCat("reading a part of step ",
                                        request.step(), " of connector '", name,
                                        "': that instance is not open here"));
  }
  if (request.part() == v1::STEP_PART_BASE_POSITION) {
    if (auto position = positions.Get(name, connector->instance())) {
      return *std::move(position);
    }
  } else if (const auto result = connector->Retained(request.step())) {
    if (request.part() == v1::STEP_PART_REPLAY_DATA) {
      const auto* replay =
          std::get_if<core::Resume::Replay>(&result->resume.kind());
      if (replay != nullptr) return replay->replay;
    } else if (request.part() == v1::STEP_PART_FULL_POSITION) {
      if (result->full_position.has_value()) return *result->full_position;
    }
  }
  return core::MakeError(
      core::Reason::STEP_RELEASED,
      absl::StrCat("reading a part of step ", request.step(), " of connector '",
                   name,
                   "': it is not retained any more, or has no such part"));
}

}  // namespace

grpc::ServerReadReactor<v1::ReplayRequest>* ControlService::Replay(
    grpc::CallbackServerContext* /*context*/, v1::ReplayResponse* response) {
  return new ReplayReactor(commands_, *response);
}

grpc::ServerUnaryReactor* ControlService::Extend(
    grpc::CallbackServerContext* context, const v1::ExtendRequest* request,
    v1::ExtendResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Extend(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::Pause(
    grpc::CallbackServerContext* context, const v1::PauseRequest* request,
    v1::PauseResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Pause(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::Queue(
    grpc::CallbackServerContext* context, const v1::QueueRequest* request,
    v1::QueueResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Queue(*request, std::move(answer));
  });
}

grpc::ServerWriteReactor<v1::ReadStepPartResponse>*
ControlService::ReadStepPart(grpc::CallbackServerContext* /*context*/,
                             const v1::ReadStepPartRequest* request) {
  return new FragmentWriter(PartOf(dispatcher_, positions_, *request),
                            request->offset());
}

grpc::ServerUnaryReactor* ControlService::Release(
    grpc::CallbackServerContext* context, const v1::ReleaseRequest* request,
    v1::ReleaseResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Release(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::PrepareCheckpoint(
    grpc::CallbackServerContext* context,
    const v1::PrepareCheckpointRequest* request,
    v1::PrepareCheckpointResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.PrepareCheckpoint(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::CommitCheckpoint(
    grpc::CallbackServerContext* context,
    const v1::CommitCheckpointRequest* request,
    v1::CommitCheckpointResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.CommitCheckpoint(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::Disconnect(
    grpc::CallbackServerContext* context, const v1::DisconnectRequest* request,
    v1::DisconnectResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Disconnect(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ControlService::Drain(
    grpc::CallbackServerContext* context, const v1::DrainRequest* request,
    v1::DrainResponse* response) {
  return Unary(
      context, wire::FromProto(*request),
      [&](wire::DecodedDrain drain, UnaryDone done) {
        const absl::Duration deadline = drain.deadline.value_or(kDrainDefault);
        if (drain.header.has_value()) {
          return dispatcher_.DrainConnector(
              *std::move(drain.header), deadline,
              [response, done = std::move(done)](
                  absl::StatusOr<core::DrainedConnector> drained) mutable {
                if (drained.ok()) *response = wire::ToProto({*drained});
                done(drained.status());
              });
        }
        dispatcher_.Drain(
            deadline, [response, done = std::move(done)](
                          std::vector<core::DrainedConnector> drained) mutable {
              *response = wire::ToProto(drained);
              done(absl::OkStatus());
            });
      });
}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>*
ControlService::Session(grpc::CallbackServerContext* context) {
  return sessions_.Start(*context);
}

}  // namespace penstock::server
