// core::Control of a worker far away, over one Session (rule 10).
// See client/README.md.
#pragma once

#include "client/grpc_control.h"
#include "core/connector/control.h"

#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace grpc {
class Channel;
}  // namespace grpc

namespace penstock::client {

struct SessionControlOptions {
  // As of GrpcControl. `executor`: callbacks run there; null: on the thread of
  // this object.
  GrpcControlOptions calls;
  // Either end gives the other up when it has heard nothing for three of these.
  absl::Duration heartbeat = absl::Seconds(5);
  // Of commands that wait to be written.
  size_t outbound_bytes_max = size_t{16} << 20;
};

// Every command goes over one stream, which is made for the first one, and
// again for the first after it broke: what was outstanding then fails with
// UNAVAILABLE, and whoever calls asks again. A command with another fence ends
// the stream of the one before. A worker that does not know Sessions is
// commanded by calls from then on (GrpcControl). List always is a call, Get is
// as long as there is no stream.
//
// Owner:     the application.
// Threads:   thread-safe. One thread of its own, for the stream.
// Lifecycle: the destructor ends the stream (CANCELLED) and blocks until every
//            callback has run, or was handed to the executor. So it must not
//            run in a callback.
// Bound:     SessionStream's; one stream.
// Errors:    as GrpcControl.
class SessionControl final : public core::Control {
 public:
  explicit SessionControl(std::shared_ptr<grpc::Channel> channel,
                          SessionControlOptions options = {});
  SessionControl(const SessionControl&) = delete;
  SessionControl& operator=(const SessionControl&) = delete;
  ~SessionControl() override;

  // How many streams were begun, and whether calls are made instead.
  uint64_t streams_begun() const;
  bool uses_calls() const;

  void Open(core::OpenRequest request, Reply<core::OpenReply> reply) override;
  void Delete(core::CommandHeader header, core::DisconnectRequest request,
              Reply<core::DisconnectReply> reply) override;
  void Replay(core::CommandHeader header, core::ReplayRequest request,
              Reply<core::ReplayReply> reply) override;
  void Extend(core::CommandHeader header, Done done) override;
  void Pause(core::CommandHeader header, Done done) override;
  void Queue(core::CommandHeader header, core::QueueRequest request,
             Reply<core::QueueReply> reply) override;
  void Release(core::CommandHeader header, Done done) override;
  void PrepareCheckpoint(core::CommandHeader header,
                         core::PrepareCheckpointRequest request,
                         Reply<core::PrepareCheckpointReply> reply) override;
  void CommitCheckpoint(core::CommandHeader header,
                        core::CommitCheckpointRequest request,
                        Done done) override;
  void Disconnect(core::CommandHeader header, core::DisconnectRequest request,
                  Reply<core::DisconnectReply> reply) override;
  // Makes a stream, which begins with it. UNSUPPORTED: calls are made instead.
  void Reconcile(core::ReconcileRequest request,
                 Reply<std::vector<core::ReconciledConnector>> reply) override;
  void Get(std::string connector, Reply<core::ConnectorStatus> reply) override;
  void List(Reply<std::vector<core::ConnectorStatus>> reply) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::client
