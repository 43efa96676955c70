// OperationsService: what concerns the worker as a whole.
#pragma once

#include "proto/penstock/v1/operations.grpc.pb.h"

#include <grpcpp/support/server_callback.h>

namespace penstock::server {

// Owner: the app; outlives the gRPC server. Threads: thread-safe.
class OperationsService final : public v1::OperationsService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetLogLevel(
      grpc::CallbackServerContext* context,
      const v1::GetLogLevelRequest* request,
      v1::GetLogLevelResponse* response) override;
  // The change itself is logged at whatever level.
  grpc::ServerUnaryReactor* SetLogLevel(
      grpc::CallbackServerContext* context,
      const v1::SetLogLevelRequest* request,
      v1::SetLogLevelResponse* response) override;
};

}  // namespace penstock::server
