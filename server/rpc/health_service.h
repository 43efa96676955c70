// grpc.health.v1 for the worker and for each connector.
#pragma once

#include "proto/grpc/health/v1/health.grpc.pb.h"
#include "server/dispatch/dispatcher.h"

#include <absl/strings/string_view.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <string>

namespace penstock::server {

// Answers from the state at the time, so nothing has to be told and nothing is
// kept of connectors that are gone. Services: "" and penstock's own are the
// worker, `connector/NAME` is a connector.
//
// Owner:     the app; outlives the gRPC server. Threads: thread-safe.
// Lifecycle: serving; SetDraining; Close ends the watches.
// Bound:     kWatchesMax watches; one more is RESOURCE_EXHAUSTED.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  static constexpr int kWatchesMax = 1000;

  // `connectors` outlives this.
  explicit HealthService(const ConnectorStatuses& connectors)
      : connectors_(connectors) {}

  // The worker is NOT_SERVING from now on.
  void SetDraining() { is_draining_ = true; }
  // Ends every watch, now and later, within half a second: the end of a server
  // waits for none.
  void Close() { is_closed_ = true; }

  grpc::ServerUnaryReactor* Check(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request,
      grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  class Watcher;

  // SERVICE_UNKNOWN: there is no such thing.
  Status StatusOf(const std::string& service) const;

  const ConnectorStatuses& connectors_;
  std::atomic<bool> is_draining_{false};
  std::atomic<bool> is_closed_{false};
  std::atomic<int> watches_{0};
};

}  // namespace penstock::server
