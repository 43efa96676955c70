// ConnectorService: lifecycle and discovery.
#pragma once

#include "core/connector/registry.h"
#include "core/contract/component.h"
#include "proto/penstock/v1/connector.grpc.pb.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/commands.h"
#include "server/rpc/dry_run.h"
#include "server/rpc/position_cache.h"
#include "server/rpc/worker_info.h"

#include <grpcpp/support/server_callback.h>

#include <utility>

namespace penstock::server {

// Translates and forwards; it decides nothing. ExecuteCommand is checked as a
// command is, and then UNSUPPORTED: no connector type has commands
// (deploy/adr/2026-11-30-no-custom-commands-yet.md).
//
// Owner:   the app; outlives the gRPC server, and is outlived by what it is
//          made of. Threads: thread-safe.
class ConnectorService final : public v1::ConnectorService::CallbackService {
 public:
  ConnectorService(Dispatcher& dispatcher, PositionCache& positions,
                   const core::Registry& registry,
                   const core::Environment& environment,
                   WorkerIdentity identity)
      : dispatcher_(dispatcher),
        registry_(registry),
        environment_(environment),
        commands_(dispatcher, positions),
        identity_(std::move(identity)) {}

  grpc::ServerUnaryReactor* ListConnectorTypes(
      grpc::CallbackServerContext* context,
      const v1::ListConnectorTypesRequest* request,
      v1::ListConnectorTypesResponse* response) override;
  grpc::ServerUnaryReactor* DescribeConnectorType(
      grpc::CallbackServerContext* context,
      const v1::DescribeConnectorTypeRequest* request,
      v1::DescribeConnectorTypeResponse* response) override;
  grpc::ServerUnaryReactor* ValidateConnector(
      grpc::CallbackServerContext* context,
      const v1::ValidateConnectorRequest* request,
      v1::ValidateConnectorResponse* response) override;
  grpc::ServerReadReactor<v1::OpenConnectorRequest>* OpenConnector(
      grpc::CallbackServerContext* context,
      v1::OpenConnectorResponse* response) override;
  grpc::ServerUnaryReactor* GetConnector(
      grpc::CallbackServerContext* context,
      const v1::GetConnectorRequest* request,
      v1::GetConnectorResponse* response) override;
  grpc::ServerUnaryReactor* ListConnectors(
      grpc::CallbackServerContext* context,
      const v1::ListConnectorsRequest* request,
      v1::ListConnectorsResponse* response) override;
  grpc::ServerUnaryReactor* ExecuteCommand(
      grpc::CallbackServerContext* context,
      const v1::ExecuteCommandRequest* request,
      v1::ExecuteCommandResponse* response) override;
  grpc::ServerUnaryReactor* UpdateConnector(
      grpc::CallbackServerContext* context,
      const v1::UpdateConnectorRequest* request,
      v1::UpdateConnectorResponse* response) override;
  grpc::ServerUnaryReactor* DeleteConnector(
      grpc::CallbackServerContext* context,
      const v1::DeleteConnectorRequest* request,
      v1::DeleteConnectorResponse* response) override;

 private:
  Dispatcher& dispatcher_;
  const core::Registry& registry_;
  const core::Environment environment_;
  const Commands commands_;
  const WorkerIdentity identity_;
  ProbeSlots probe_slots_;
};

}  // namespace penstock::server
