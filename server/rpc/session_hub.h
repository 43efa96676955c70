// All sessions of a worker.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/commands.h"
#include "server/rpc/position_cache.h"
#include "server/rpc/session.h"
#include "server/rpc/watch_hub.h"
#include "server/rpc/worker_info.h"

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <vector>

namespace penstock::server {

// Owner:     the app; outlives the gRPC server.
// Threads:   thread-safe.
// Lifecycle: Shutdown ends every session, and those to come at once; Wait once
//            no more can come and the dispatcher answers what it still has.
// Bound:     `kSessionsMax`; one more is refused.
class SessionHub {
 public:
  static constexpr size_t kSessionsMax = 10'000;

  // All outlive it.
  SessionHub(Dispatcher& dispatcher, PositionCache& positions,
             WatchHub& watches, core::Executor& executor,
             WorkerIdentity identity, SessionTerms terms = {});

  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Start(
      grpc::CallbackServerContext& context);
  void Shutdown();
  // Blocks: until every session is gone and every command of one is answered,
  // for their answers use what the hub was given. Once.
  void Wait();

 private:
  Dispatcher& dispatcher_;
  WatchHub& watches_;
  core::Executor& executor_;
  const Commands commands_;
  const WorkerIdentity identity_;
  const SessionTerms terms_;

  // Shared with what tells that nobody holds `use_` any more.
  const std::shared_ptr<core::Notification> unused_ =
      std::make_shared<core::Notification>();
  std::shared_ptr<const void> use_;

  core::Mutex mu_;
  bool shut_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::weak_ptr<Session>> sessions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::server
