// A stream of events of a worker.
// See client/README.md and `protocol.md` rule 11.
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <memory>

namespace grpc {
class Channel;
}  // namespace grpc

namespace penstock::v1 {
class WatchEvent;
class WatchRequest;
}  // namespace penstock::v1

namespace penstock::client::internal {
class CallGroup;
}  // namespace penstock::client::internal

namespace penstock::client {

// One WatchService.Watch.
//
// Owner:     whoever watches.
// Threads:   thread-compatible. Callbacks run one at a time on gRPC's threads
//            and must not block: as long as one runs, nothing more is read, and
//            a worker cuts off who reads too slowly (SLOW_WATCHER).
// Lifecycle: Start; events; `on_end` exactly once, at last. The destructor ends
//            the stream (CANCELLED) and blocks until `on_end` has run, so it
//            must not run in a callback. It does not reconnect: Start again
//            with from_sequence and run_id.
// Bound:     one response of the worker, below 1 MiB.
class Watch {
 public:
  using OnEvent = absl::AnyInvocable<void(const v1::WatchEvent&)>;
  using OnEnd = absl::AnyInvocable<void(absl::Status)>;

  static std::unique_ptr<Watch> Start(
      const std::shared_ptr<grpc::Channel>& channel,
      const v1::WatchRequest& request, OnEvent on_event, OnEnd on_end);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // Ends the stream soon, without waiting; may be called in a callback.
  void Cancel();

 private:
  class Stream;
  Watch(std::shared_ptr<grpc::Channel> channel,
        std::shared_ptr<internal::CallGroup> group);

  // Shared with other users of the connection; held until the stream has ended.
  const std::shared_ptr<grpc::Channel> channel_;
  // Shared with the stream until it has ended.
  const std::shared_ptr<internal::CallGroup> group_;
};

}  // namespace penstock::client
