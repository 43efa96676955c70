// One Session: the stream of a controller (rule 10).
#pragma once

#include "core/base/executor.h"
#include "core/base/strand.h"
#include "proto/penstock/v1/session.pb.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/commands.h"
#include "server/rpc/session_commands.h"
#include "server/rpc/session_outbound.h"
#include "server/rpc/watch_hub.h"
#include "server/rpc/worker_info.h"

#include <absl/status/status.h>
#include <absl/time/time.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::server {

// Terms that are the same for all sessions of a worker.
struct SessionTerms {
  // Where the controller asks for another, and until it has.
  absl::Duration heartbeat = absl::Seconds(5);
  // No further command is taken while more waits to be written …
  size_t outbound_bytes = size_t{4} << 20;
  // … and with more the session ends.
  size_t outbound_bytes_max = size_t{64} << 20;
  // How long a session that ends waits for its last write.
  absl::Duration last_write_max = absl::Seconds(1);
};

//   HELLO ─hello─▶ TAKING OVER ─durable─▶ RECONCILING ─last desired─▶ READY
//     └── an error, silence, SUPERSEDED, the end, a half-close ────▶ ENDING ─▶
//
// In READY a half-close is the end once all that was asked is answered.
//
// Owner:     itself, from Start to OnDone; the hub knows it.
// Threads:   gRPC's callbacks and whoever ends it only post to its strand, to
//            which all else is confined.
// Bound:     one read and one write in flight; behind the write as `terms`;
//            SessionCommands; one watch.
class Session final
    : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public std::enable_shared_from_this<Session> {
 public:
  // All outlive it, and the answers of its commands.
  struct Place {
    Dispatcher& dispatcher;
    const Commands& commands;
    WatchHub& watches;
    core::Executor& executor;
    const WorkerIdentity& identity;
    const SessionTerms& terms;
    // Held by it, and by each command that is not answered yet: as long as
    // somebody holds it, all of the above is there.
    std::shared_ptr<const void> use;
  };

  // `context` is of the call, and lives at least until Finish.
  static std::shared_ptr<Session> Start(const Place& place,
                                        grpc::CallbackServerContext& context);
  // Thread-safe.
  void End(absl::Status status);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Phase { kHello, kTakingOver, kReconciling, kReady };

  Session(const Place& place, grpc::CallbackServerContext& context);

  void OnReceived(bool ok);
  void OnHalfClosed();
  absl::Status Handle(v1::ControllerMessage& message);
  absl::Status HandleHello(const v1::ControllerHello& hello);
  void OnBegun(absl::StatusOr<std::shared_ptr<const void>> reign);
  absl::Status HandleDesired(const v1::DesiredState& desired);
  void Drop(const std::string& connector);
  void WatchEvents();
  void Read();
  void Pump();
  void TakeEvents();
  void Beat(uint64_t chain);
  void EndNow(absl::Status status);
  void FinishNow();
  absl::Duration silence_max() const;

  const Place place_;
  grpc::CallbackServerContext& context_;
  core::Strand strand_;
  // Shared with the answers of commands.
  std::shared_ptr<SessionOutbound> outbound_;

  // Confined to the strand.
  std::shared_ptr<Session> self_;
  std::unique_ptr<SessionCommands> commands_;
  Phase phase_ = Phase::kHello;
  core::Fence fence_;
  std::shared_ptr<const void> reign_;
  absl::Duration heartbeat_;
  // Of beats that follow each other: those of one before end.
  uint64_t beat_chain_ = 0;
  absl::Time heard_;
  std::vector<v1::WatchKind> event_kinds_;
  std::shared_ptr<Watcher> watcher_;
  std::vector<v1::DesiredConnector> desired_;
  v1::SessionRequest request_;
  v1::SessionResponse response_;
  bool reading_ = false;
  bool writing_ = false;
  bool half_closed_ = false;
  bool ending_ = false;
  bool finished_ = false;
  absl::Status end_status_;
};

}  // namespace penstock::server
