// ControlService: the commands, one call each.
#pragma once

#include "proto/penstock/v1/control.grpc.pb.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/commands.h"
#include "server/rpc/position_cache.h"
#include "server/rpc/session_hub.h"
#include "server/rpc/unary.h"

#include <grpcpp/support/server_callback.h>

#include <string>

namespace penstock::server {

// Translates and forwards; it decides nothing.
//
// Owner:   the app; outlives the gRPC server. Threads: thread-safe.
class ControlService final : public v1::ControlService::CallbackService {
 public:
  ControlService(Dispatcher& dispatcher, PositionCache& positions,
                 SessionHub& sessions)
      : dispatcher_(dispatcher),
        positions_(positions),
        sessions_(sessions),
        commands_(dispatcher, positions) {}

  grpc::ServerReadReactor<v1::ReplayRequest>* Replay(
      grpc::CallbackServerContext* context,
      v1::ReplayResponse* response) override;
  grpc::ServerUnaryReactor* Extend(grpc::CallbackServerContext* context,
                                   const v1::ExtendRequest* request,
                                   v1::ExtendResponse* response) override;
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context,
                                  const v1::PauseRequest* request,
                                  v1::PauseResponse* response) override;
  grpc::ServerUnaryReactor* Queue(grpc::CallbackServerContext* context,
                                  const v1::QueueRequest* request,
                                  v1::QueueResponse* response) override;
  grpc::ServerWriteReactor<v1::ReadStepPartResponse>* ReadStepPart(
      grpc::CallbackServerContext* context,
      const v1::ReadStepPartRequest* request) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseRequest* request,
                                    v1::ReleaseResponse* response) override;
  grpc::ServerUnaryReactor* PrepareCheckpoint(
      grpc::CallbackServerContext* context,
      const v1::PrepareCheckpointRequest* request,
      v1::PrepareCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* CommitCheckpoint(
      grpc::CallbackServerContext* context,
      const v1::CommitCheckpointRequest* request,
      v1::CommitCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* Disconnect(
      grpc::CallbackServerContext* context,
      const v1::DisconnectRequest* request,
      v1::DisconnectResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;

  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;

 private:
  Dispatcher& dispatcher_;
  PositionCache& positions_;
  SessionHub& sessions_;
  const Commands commands_;
};

}  // namespace penstock::server
