// The client of one worker: commands, watches, discovery, health.
// See client/README.md.
#pragma once

#include "client/channel.h"
#include "client/grpc_control.h"
#include "client/session_control.h"
#include "client/watch.h"
#include "core/connector/control.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>

namespace penstock::v1 {
class DescribeConnectorTypeRequest;
class DescribeConnectorTypeResponse;
class DrainResponse;
class ListConnectorTypesResponse;
class ValidateConnectorRequest;
class ValidateConnectorResponse;
}  // namespace penstock::v1

namespace penstock::client::internal {
class CallGroup;
}  // namespace penstock::client::internal

namespace penstock::client {

struct ClientOptions {
  ChannelOptions channel;
  GrpcControlOptions control;
  // Whether control() commands over one Session, as controllers do, or by a
  // call for each command, as people and scripts do.
  bool use_session = false;
  // Of the Session: see SessionControlOptions.
  absl::Duration heartbeat = absl::Seconds(5);
};

// Owner:     the application.
// Threads:   thread-safe.
// Lifecycle: outlives its watches' use of the channel; the destructor is
//            GrpcControl's: it cancels, blocks until callbacks have run.
class Client {
 public:
  template <typename T>
  using Reply = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  // Blocks: never; the connection is made at the first call.
  // Errors: INVALID_CONFIG, as MakeChannel.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      std::string target, const ClientOptions& options = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  const std::string& target() const { return target_; }
  core::Control& control();
  // Null: control() makes calls.
  const SessionControl* session() const { return session_.get(); }
  std::unique_ptr<Watch> StartWatch(const v1::WatchRequest& request,
                                    Watch::OnEvent on_event,
                                    Watch::OnEnd on_end);

  // grpc.health.v1 of the whole worker. OK: it serves. Errors: SHUTTING_DOWN
  // (it answers that it does not serve), UNAVAILABLE, DEADLINE.
  void CheckHealth(absl::Duration deadline,
                   absl::AnyInvocable<void(absl::Status)> done);
  // Blocks: until the worker serves, at most `deadline`; not for callbacks.
  // Errors: the last that was met.
  absl::Status WaitReady(absl::Duration deadline);

  // Block: until the worker answers, at most 10 s, or for ValidateConnector 60
  // s (with `probe` it looks outside); not for callbacks.
  absl::StatusOr<v1::ListConnectorTypesResponse> ListConnectorTypes();
  absl::StatusOr<v1::DescribeConnectorTypeResponse> DescribeConnectorType(
      const v1::DescribeConnectorTypeRequest& request);
  absl::StatusOr<v1::ValidateConnectorResponse> ValidateConnector(
      const v1::ValidateConnectorRequest& request);
  // The level of the worker's log: `info`, `warning` or `error`. Blocks: as
  // above. SetLogLevel returns the one before. Errors: INVALID_REQUEST.
  absl::StatusOr<std::string> GetLogLevel();
  absl::StatusOr<std::string> SetLogLevel(const std::string& level);
  // Drains the whole worker. Blocks: as above, but until it is drained: at most
  // `deadline` more.
  absl::StatusOr<v1::DrainResponse> Drain(absl::Duration deadline,
                                          std::string request_id);

 private:
  Client(std::string target, std::shared_ptr<grpc::Channel> channel,
         const ClientOptions& options);

  const std::string target_;
  // Shared by calls and watches.
  const std::shared_ptr<grpc::Channel> channel_;
  // Health checks; shared with those under way.
  const std::shared_ptr<internal::CallGroup> calls_;
  GrpcControl control_;
  // Null: not used.
  const std::unique_ptr<SessionControl> session_;
};

}  // namespace penstock::client
