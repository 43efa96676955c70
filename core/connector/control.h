// The commands of the protocol as one interface in core values: what a worker
// offers and what a controller calls, whatever lies between.
#pragma once

#include "core/base/error.h"
#include "core/connector/requests.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace penstock::core {

// What a controller takes to be open at a worker (rule 10).
struct DesiredConnector {
  std::string connector;
  // Empty: it was never opened, or whatever is there is to be opened anew.
  std::string spec_bytes;
  Step journaled_steps = 0;
};
struct ReconcileRequest {
  Fence fence;
  std::vector<DesiredConnector> connectors;
};
// What became of one when both sides were compared. Dropped ones, which nobody
// desires, are being deleted.
enum class Reconciliation { kReused, kChanged, kDropped, kMissing };
struct ReconciledConnector {
  std::string connector;
  Reconciliation outcome = Reconciliation::kMissing;
  // Why not reused, for people.
  std::string detail;
};

// Implemented by server/dispatch (the real thing), by client/ over gRPC, by
// the simulation over a network of its own, and by decorators that lose, delay
// and repeat.
//
// Threads: thread-safe. Blocks: never. Each callback runs exactly once, on any
//          thread, perhaps before the call returns; it must not block.
// Errors:  as `protocol.md` rule 15. A remote implementation adds UNAVAILABLE
//          and DEADLINE, which say nothing about what the worker did: ask
//          again (every call is idempotent, rules 2, 3, 8).
class Control {
 public:
  template <typename T>
  using Reply = absl::AnyInvocable<void(absl::StatusOr<T>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~Control() = default;

  virtual void Open(OpenRequest request, Reply<OpenReply> reply) = 0;
  // Disconnects if need be and forgets the connector. `header.ref.instance`
  // empty: whatever instance there is (recovery); none there is success.
  virtual void Delete(CommandHeader header, DisconnectRequest request,
                      Reply<DisconnectReply> reply) = 0;

  virtual void Replay(CommandHeader header, ReplayRequest request,
                      Reply<ReplayReply> reply) = 0;
  virtual void Extend(CommandHeader header, Done done) = 0;
  virtual void Pause(CommandHeader header, Done done) = 0;
  virtual void Queue(CommandHeader header, QueueRequest request,
                     Reply<QueueReply> reply) = 0;
  // `header.released_steps` is the argument.
  virtual void Release(CommandHeader header, Done done) = 0;
  virtual void PrepareCheckpoint(CommandHeader header,
                                 PrepareCheckpointRequest request,
                                 Reply<PrepareCheckpointReply> reply) = 0;
  virtual void CommitCheckpoint(CommandHeader header,
                                CommitCheckpointRequest request, Done done) = 0;
  virtual void Disconnect(CommandHeader header, DisconnectRequest request,
                          Reply<DisconnectReply> reply) = 0;

  // Takes command, compares, and drops what of the pipeline is not desired.
  // UNSUPPORTED where the transport or the worker has no word for it: then Get
  // and List say what there is.
  virtual void Reconcile(ReconcileRequest request,
                         Reply<std::vector<ReconciledConnector>> reply);

  // Reading needs no fence (rule 1). Get: NO_SUCH_CONNECTOR.
  virtual void Get(std::string connector, Reply<ConnectorStatus> reply) = 0;
  virtual void List(Reply<std::vector<ConnectorStatus>> reply) = 0;
};

inline void Control::Reconcile(ReconcileRequest /*request*/,
                               Reply<std::vector<ReconciledConnector>> reply) {
  reply(MakeError(Reason::UNSUPPORTED,
                  "comparing what is open: by single "
                  "calls nothing is compared"));
}

}  // namespace penstock::core
