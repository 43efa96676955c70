// The real services, dispatcher and connectors over gRPC, with a source that
// is the test's own: for what no file can be made to do.
#pragma once

#include "client/client.h"
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/connector/registry.h"
#include "core/contract/endpoint.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/fence_store.h"
#include "server/rpc/connector_service.h"
#include "server/rpc/control_service.h"
#include "server/rpc/position_cache.h"
#include "server/rpc/session_hub.h"
#include "server/rpc/watch_hub.h"
#include "tests/support/temp_dir.h"

#include <functional>
#include <memory>

namespace grpc {
class Server;
}  // namespace grpc

namespace penstock {

// A specification's `file` source means what `make_source` makes, whatever its
// path. Formats are the real ones, the sink is `null`.
// Owner: a test. Threads: confined to the test's.
class FakeEdgeWorker {
 public:
  using MakeSource = std::function<std::unique_ptr<core::InputEndpoint>()>;

  // `fences`: null: a file's.
  explicit FakeEdgeWorker(MakeSource make_source,
                          std::unique_ptr<server::FenceStore> fences = nullptr);
  FakeEdgeWorker(const FakeEdgeWorker&) = delete;
  FakeEdgeWorker& operator=(const FakeEdgeWorker&) = delete;
  ~FakeEdgeWorker();

  client::Client& client() { return *client_; }
  core::Control& control() { return client_->control(); }

 private:
  const core::TempDir directory_;
  const core::PathPolicy paths_;
  core::Registry registry_;
  core::ThreadPoolExecutor drivers_;
  core::ThreadPoolExecutor io_;
  server::PositionCache positions_;
  server::WatchHub watches_;
  std::unique_ptr<server::Dispatcher> dispatcher_;
  std::unique_ptr<server::ConnectorService> connector_service_;
  std::unique_ptr<server::SessionHub> sessions_;
  std::unique_ptr<server::ControlService> control_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace penstock
