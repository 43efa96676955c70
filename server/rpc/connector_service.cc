#include "server/rpc/connector_service.h"

#include "core/base/error.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/requests.h"
#include "proto/wire/spec.h"
#include "proto/wire/status.h"
#include "proto/wire/update.h"
#include "server/rpc/discovery.h"
#include "server/rpc/dry_run.h"
#include "server/rpc/unary.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::server {
namespace {

constexpr uint32_t kPageDefault = 100;
constexpr uint32_t kPageMax = 1000;
// A page stays below this, see ListConnectorsRequest.
constexpr size_t kPageBytesMax = size_t{1} << 20;

// Takes an OpenConnectorStart, then the position's fragments, then opens.
// Owner: itself, from creation to OnDone. One read in flight.
class OpenReactor final
    : public grpc::ServerReadReactor<v1::OpenConnectorRequest> {
 public:
  OpenReactor(const Commands& commands, v1::OpenConnectorResponse& response)
      : commands_(commands), response_(response) {
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return FailShort();
    if (message_.has_start()) return OnStart();
    if (!message_.has_position() || !assembler_.has_value()) {
      return Fail("an open is `start`, then `position` if start names one");
    }
    if (const absl::Status added = assembler_->Add(message_.position());
        !added.ok()) {
      return Finish(wire::StatusToGrpc(added));
    }
    if (!assembler_->complete()) return StartRead(&message_);
    auto position = std::move(*assembler_).Finish();
    if (!position.ok()) {
      return Finish(wire::StatusToGrpc(position.status()));
    }
    decoded_.request.position = *std::move(position);
    Run();
  }
  void OnCancel() override {}  // The open goes on; the same request joins it.
  void OnDone() override { delete this; }

 private:
  void OnStart() {
    if (started_) return Fail("`start` came twice");
    started_ = true;
    auto decoded = wire::FromProto(message_.start());
    if (!decoded.ok()) return Finish(wire::StatusToGrpc(decoded.status()));
    decoded_ = *std::move(decoded);
    if (!decoded_.position.has_value()) return Run();
    assembler_.emplace(*decoded_.position);
    StartRead(&message_);
  }

  void Run() {
    commands_.Open(std::move(decoded_.request),
                   [this](absl::StatusOr<v1::OpenConnectorResponse> reply) {
                     if (reply.ok()) response_ = *std::move(reply);
                     Finish(wire::StatusToGrpc(reply.status()));
                   });
  }

  void Fail(absl::string_view what) {
    Finish(wire::StatusToGrpc(core::MakeError(
        core::Reason::INVALID_REQUEST,
        absl::StrCat("reading an OpenConnector stream: ", what))));
  }

  // The stream is over.
  void FailShort() {
    if (!started_) return Fail("it ended before `start`");
    Finish(wire::StatusToGrpc(core::MakeError(
        core::Reason::MALFORMED_FRAME,
        "reading an OpenConnector stream: it ended before all of the position "
        "that `start` announces")));
  }

  const Commands& commands_;
  v1::OpenConnectorResponse& response_;
  v1::OpenConnectorRequest message_;
  bool started_ = false;
  wire::DecodedOpen decoded_;
  std::optional<wire::FragmentAssembler> assembler_;
};

// The connectors behind `token` in the order of their names.
v1::ListConnectorsResponse PageOf(std::vector<core::ConnectorStatus> statuses,
                                  const v1::ListConnectorsRequest& request) {
  std::sort(statuses.begin(), statuses.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const uint32_t size = std::clamp<uint32_t>(
      request.has_page_size() ? request.page_size() : kPageDefault, 1,
      kPageMax);
  v1::ListConnectorsResponse response;
  size_t bytes = 0;
  for (const core::ConnectorStatus& status : statuses) {
    if (status.name <= request.page_token()) continue;
    if (request.has_pipeline() && status.pipeline != request.pipeline()) {
      continue;
    }
    v1::ConnectorSummary summary = wire::SummaryToProto(status);
    bytes += summary.ByteSizeLong();
    if (static_cast<uint32_t>(response.connectors_size()) == size ||
        (response.connectors_size() > 0 && bytes > kPageBytesMax)) {
      response.set_next_page_token(
          response.connectors(response.connectors_size() - 1).connector());
      break;
    }
    *response.add_connectors() = std::move(summary);
  }
  return response;
}

}  // namespace

grpc::ServerUnaryReactor* ConnectorService::ListConnectorTypes(
    grpc::CallbackServerContext* context,
    const v1::ListConnectorTypesRequest* request,
    v1::ListConnectorTypesResponse* response) {
  for (v1::ConnectorType& type :
       ListTypes(registry_, environment_, request->kind())) {
    *response->add_types() = std::move(type);
  }
  *response->mutable_worker() = WorkerInfoOf(identity_, dispatcher_);
  *response->mutable_now() = wire::TimeToProto(environment_.clock.Now());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* ConnectorService::DescribeConnectorType(
    grpc::CallbackServerContext* context,
    const v1::DescribeConnectorTypeRequest* request,
    v1::DescribeConnectorTypeResponse* response) {
  auto described = DescribeType(registry_, environment_, *request);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (described.ok()) *response = *std::move(described);
  reactor->Finish(wire::StatusToGrpc(described.status()));
  return reactor;
}

grpc::ServerUnaryReactor* ConnectorService::ValidateConnector(
    grpc::CallbackServerContext* /*context*/,
    const v1::ValidateConnectorRequest* request,
    v1::ValidateConnectorResponse* response) {
  const uint64_t committed = dispatcher_.memory_committed();
  const uint64_t most = dispatcher_.memory_max();
  return StartDryRun({.registry = registry_,
                      .environment = environment_,
                      .slots = probe_slots_,
                      .memory_left = most > committed ? most - committed : 0},
                     *request, *response);
}

grpc::ServerReadReactor<v1::OpenConnectorRequest>*
ConnectorService::OpenConnector(grpc::CallbackServerContext* /*context*/,
                                v1::OpenConnectorResponse* response) {
  return new OpenReactor(commands_, *response);
}

grpc::ServerUnaryReactor* ConnectorService::GetConnector(
    grpc::CallbackServerContext* context,
    const v1::GetConnectorRequest* request,
    v1::GetConnectorResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Get(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ConnectorService::ListConnectors(
    grpc::CallbackServerContext* context,
    const v1::ListConnectorsRequest* request,
    v1::ListConnectorsResponse* response) {
  *response = PageOf(dispatcher_.Statuses(), *request);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* ConnectorService::UpdateConnector(
    grpc::CallbackServerContext* context,
    const v1::UpdateConnectorRequest* request,
    v1::UpdateConnectorResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Update(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ConnectorService::ExecuteCommand(
    grpc::CallbackServerContext* context,
    const v1::ExecuteCommandRequest* request,
    v1::ExecuteCommandResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Execute(*request, std::move(answer));
  });
}

grpc::ServerUnaryReactor* ConnectorService::DeleteConnector(
    grpc::CallbackServerContext* context,
    const v1::DeleteConnectorRequest* request,
    v1::DeleteConnectorResponse* response) {
  return Forward(context, response, [&](auto answer) {
    commands_.Delete(*request, std::move(answer));
  });
}

}  // namespace penstock::server
