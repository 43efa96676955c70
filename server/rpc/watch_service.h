// WatchService: events as server streams.
#pragma once

#include "proto/penstock/v1/watch.grpc.pb.h"
#include "server/rpc/watch_hub.h"

#include <grpcpp/support/server_callback.h>

namespace penstock::server {

// Owner:   the app; outlives the gRPC server. Threads: thread-safe.
// Bound:   a watch that has ended, and whose last write its client does not
//          read, is cut off after `last_write_max`. One without news is told
//          where it is each `progress_note`.
class WatchService final : public v1::WatchService::CallbackService {
 public:
  struct Times {
    absl::Duration last_write_max = absl::Seconds(5);
    absl::Duration progress_note = absl::Seconds(10);
  };

  WatchService(WatchHub& hub, core::Executor& executor)
      : WatchService(hub, executor, Times()) {}
  WatchService(WatchHub& hub, core::Executor& executor, const Times& times)
      : hub_(hub), executor_(executor), times_(times) {}

  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(
      grpc::CallbackServerContext* context,
      const v1::WatchRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchCompletionResponse>* WatchCompletion(
      grpc::CallbackServerContext* context,
      const v1::WatchCompletionRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchCheckpointResponse>* WatchCheckpoint(
      grpc::CallbackServerContext* context,
      const v1::WatchCheckpointRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchHealthResponse>* WatchHealth(
      grpc::CallbackServerContext* context,
      const v1::WatchHealthRequest* request) override;

 private:
  WatchHub& hub_;
  core::Executor& executor_;
  const Times times_;
};

}  // namespace penstock::server
