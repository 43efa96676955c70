// core::Control of a worker far away, over gRPC.
// See client/README.md.
#pragma once

#include "core/base/executor.h"
#include "core/connector/control.h"

#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace grpc {
class Channel;
}  // namespace grpc

namespace penstock::client {

// How long each call may take. Expiry answers DEADLINE, which says nothing
// about what the worker did.
struct CallDeadlines {
  // Calls that the worker answers at once.
  absl::Duration prompt = absl::Seconds(10);
  absl::Duration open = absl::Seconds(60);
  absl::Duration replay = absl::Seconds(60);
  // On top of what a request lets the worker wait (`wait`, `deadline`).
  absl::Duration margin = absl::Seconds(10);
  // On top of any, for what travels in fragments: a second for so many bytes.
  // Without it what is too long for a slow line would be asked for again and
  // again, and never arrive.
  uint64_t slowest_bytes_per_second = uint64_t{128} << 10;
};

struct GrpcControlOptions {
  CallDeadlines deadlines;
  // Callbacks run here; it outlives this object. Null: on gRPC's threads.
  core::Executor* executor = nullptr;
};

// Translates and forwards; it decides nothing and repeats nothing: whoever
// calls asks again, because it knows what is still wanted. A result that names
// its replay data or position by length and hash is completed with ReadStepPart
// before it is delivered.
//
// Owner:     the application.
// Threads:   thread-safe. No thread of its own; callbacks as in the options.
// Lifecycle: the destructor cancels what is under way (CANCELLED) and blocks
//            until every callback has run, or was handed to the executor. So
//            it must not run in a callback.
// Bound:     one call object for each call under way; List follows at most
//            1,000 pages.
// Errors:    the worker's, and what the connection adds: UNAVAILABLE (also
//            where gRPC says UNKNOWN or INTERNAL by itself: a worker of ours
//            always gives a reason), DEADLINE.
class GrpcControl final : public core::Control {
 public:
  explicit GrpcControl(std::shared_ptr<grpc::Channel> channel,
                       GrpcControlOptions options = {});
  GrpcControl(const GrpcControl&) = delete;
  GrpcControl& operator=(const GrpcControl&) = delete;
  ~GrpcControl() override;

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
  void Get(std::string connector, Reply<core::ConnectorStatus> reply) override;
  void List(Reply<std::vector<core::ConnectorStatus>> reply) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::client
