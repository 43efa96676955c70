// A watch whose client stops to read.
#pragma once

#include "core/base/notification.h"
#include "proto/penstock/v1/watch.grpc.pb.h"

#include <absl/status/status.h>
#include <absl/time/time.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <memory>
#include <string>

namespace penstock {

// Over a connection of its own. Once it is made it has read its snapshot, and
// reads nothing more.
// Owner: a test. Threads: confined to the test's, but for gRPC's callbacks.
class StalledWatch final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  StalledWatch(const std::string& target, v1::WatchRequest request);
  ~StalledWatch() override;

  // Reads what there still is. Blocks: until the watch has ended, at most for
  // `patience`. Returns: how it ended; DEADLINE_EXCEEDED: it goes on.
  absl::Status ReadOn(absl::Duration patience);

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void Resume();

  const v1::WatchRequest request_;
  const std::unique_ptr<v1::WatchService::Stub> stub_;
  grpc::ClientContext context_;
  v1::WatchResponse response_;
  core::Notification stalled_;
  std::atomic<bool> resumed_{false};
  core::Notification over_;
  grpc::Status status_;
};

}  // namespace penstock
