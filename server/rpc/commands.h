// The commands as messages: what the unary RPCs and the Session share.
#pragma once

#include "core/connector/requests.h"
#include "proto/penstock/v1/command.pb.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/requests.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/position_cache.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <optional>

namespace penstock::server {

// Decodes, hands over to the dispatcher, encodes the answer; decides nothing.
//
// Owner:   the services, one each. Threads: thread-safe.
class Commands {
 public:
  // Exactly once, on any thread, perhaps before the call returns.
  template <typename Response>
  using Answer = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  // Both outlive it; it outlives every answer that is still to come.
  Commands(Dispatcher& dispatcher, PositionCache& positions)
      : dispatcher_(dispatcher), positions_(positions) {}

  // `request`: put together with its position.
  void Open(core::OpenRequest request,
            Answer<v1::OpenConnectorResponse> answer) const;
  void Update(const v1::UpdateConnectorRequest& request,
              Answer<v1::UpdateConnectorResponse> answer) const;
  // UNSUPPORTED, once it is sure that a command would have come through.
  void Execute(const v1::ExecuteCommandRequest& request,
               Answer<v1::ExecuteCommandResponse> answer) const;
  void Delete(const v1::DeleteConnectorRequest& request,
              Answer<v1::DeleteConnectorResponse> answer) const;
  void Get(const v1::GetConnectorRequest& request,
           Answer<v1::GetConnectorResponse> answer) const;
  // Put together with its data.
  void Replay(core::CommandHeader header, core::ReplayRequest request,
              Answer<v1::ReplayResponse> answer) const;
  void Extend(const v1::ExtendRequest& request,
              Answer<v1::ExtendResponse> answer) const;
  void Pause(const v1::PauseRequest& request,
             Answer<v1::PauseResponse> answer) const;
  void Queue(const v1::QueueRequest& request,
             Answer<v1::QueueResponse> answer) const;
  void Release(const v1::ReleaseRequest& request,
               Answer<v1::ReleaseResponse> answer) const;
  void PrepareCheckpoint(const v1::PrepareCheckpointRequest& request,
                         Answer<v1::PrepareCheckpointResponse> answer) const;
  void CommitCheckpoint(const v1::CommitCheckpointRequest& request,
                        Answer<v1::CommitCheckpointResponse> answer) const;
  void Disconnect(const v1::DisconnectRequest& request,
                  Answer<v1::DisconnectResponse> answer) const;

 private:
  // How that life of a connector stands now; nullopt: it is gone.
  std::optional<core::ConnectorStatus> LookUp(
      const core::ConnectorRef& ref) const;

  Dispatcher& dispatcher_;
  PositionCache& positions_;
};

}  // namespace penstock::server
