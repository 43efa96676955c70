#include "server/app.h"

#include "core/base/descriptor_watcher.h"
#include "core/base/directory_events.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/loopback.h"
#include "core/base/memory.h"
#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "core/base/piped_input.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool_executor.h"
#include "core/base/version.h"
#include "core/connector/registry.h"
#include "proto/wire/transport.h"
#include "server/admin/event_log.h"
#include "server/admin/http_server.h"
#include "server/admin/status_json.h"
#include "server/admin/status_page.h"
#include "server/admin/worker_metrics.h"
#include "server/builtin.h"
#include "server/dispatch/dispatcher.h"
#include "server/memory_tidy.h"
#include "server/net/connection_gate.h"
#include "server/net/listener.h"
#include "server/rpc/connector_service.h"
#include "server/rpc/control_service.h"
#include "server/rpc/health_service.h"
#include "server/rpc/operations_service.h"
#include "server/rpc/position_cache.h"
#include "server/rpc/session_hub.h"
#include "server/rpc/watch_hub.h"
#include "server/rpc/watch_service.h"
#include "server/security/listen_address.h"
#include "server/security/tls.h"
#include "server/security/tls_files.h"
#include "server/state_lock.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

// How many, and the first ones.
std::string StepList(const std::vector<core::Step>& steps) {
  constexpr size_t kShown = 20;
  const size_t shown = std::min(steps.size(), kShown);
  return absl::StrCat(
      steps.size(), " [",
      absl::StrJoin(steps.begin(),
                    steps.begin() + static_cast<std::ptrdiff_t>(shown), " "),
      steps.size() > shown ? " ...]" : "]");
}

void LogIncomplete(const core::DrainedConnector& drained) {
  if (!drained.reply.ok()) {
    LOG(WARNING)
            .With("connector", drained.connector)
            .With("unqueued_records", drained.unqueued.records)
        << "drained, but it could not be disconnected in order; what is not "
           "committed will be replayed: "
        << core::ErrorText(drained.reply.status());
    return;
  }
  LOG(WARNING)
          .With("connector", drained.connector)
          .With("unconfirmed_steps", StepList(drained.reply->unconfirmed_steps))
          .With("dropped_steps", StepList(drained.reply->dropped_steps))
          .With("unqueued_records", drained.unqueued.records)
      << "drained with steps that will be replayed, or records that will be "
         "read again";
}

int DriverThreads(const WorkerOptions& options) {
  return options.driver_threads > 0 ? options.driver_threads
                                    : core::HardwareThreads();
}

uint64_t MemoryMax(const WorkerOptions& options) {
  if (options.memory_max > 0) return options.memory_max;
  return core::CgroupMemoryLimitBytes(core::PosixFileSystem())
             .value_or(core::PhysicalMemoryBytes()) /
         2;
}

// A sink may still make one, so it is no error.
void WarnOfMissingRoots(const core::PathPolicy& paths) {
  for (const std::string& root : paths.roots()) {
    const auto stat = core::PosixFileSystem().Stat(root);
    if (stat.ok()) continue;
    LOG(WARNING) << "--allow-path " << root
                 << " allows nothing yet: " << stat.status().message();
  }
}

class WorkerApp final : public App {
 public:
  explicit WorkerApp(WorkerOptions options)
      : options_(std::move(options)),
        random_(core::SeededFromEntropy()),
        paths_(options_.allow_paths),
        drivers_("driver", DriverThreads(options_)),
        io_("io", options_.io_threads),
        directory_events_(watcher_, io_, {}),
        identity_{core::kVersion, core::RandomId(random_)},
        started_(core::RealClock().Now()) {
    if (options_.standard_input) {
      standard_input_.emplace(STDIN_FILENO, watcher_);
    }
    RegisterBuiltinConnectors(
        registry_,
        {.standard_input =
             standard_input_.has_value() ? &*standard_input_ : nullptr,
         .directory_events = &directory_events_});
  }

  ~WorkerApp() override {
    // Its handlers ask it, too: it must be there until none runs.
    if (admin_ != nullptr) admin_->Close();
    StopServing(absl::ZeroDuration());
  }

  absl::Status Build() {
    RETURN_IF_ERROR(CheckListenPort(options_.listen, "--listen"));
    if (!options_.admin_listen.empty()) {
      RETURN_IF_ERROR(CheckListenPort(options_.admin_listen, "--admin-listen"));
    }
    WarnOfMissingRoots(paths_);
    if (!options_.share_state_dir) {
      ASSIGN_OR_RETURN(state_lock_, StateLock::Take(options_.state_dir));
    }
    ASSIGN_OR_RETURN(credentials_, MakeServerCredentials(
                                       core::PosixFileSystem(), options_.listen,
                                       options_.insecure, options_.tls));
    tls_files_ =
        std::make_unique<TlsFiles>(io_, core::PosixFileSystem(), options_.tls);
    DispatcherOptions dispatch;
    dispatch.memory_max = MemoryMax(options_);
    dispatch.random_seed = random_.Next64();
    if (options_.orphan_timeout > absl::ZeroDuration()) {
      dispatch.orphan_timeout = options_.orphan_timeout;
    }
    // Before anything that may take long: whoever probes is told so.
    if (!options_.admin_listen.empty()) {
      RETURN_IF_ERROR(ServeAdmin());
    }
    const core::Environment environment = {.files = core::PosixFileSystem(),
                                           .io = io_,
                                           .clock = core::RealClock(),
                                           .paths = paths_};
    core::ConnectorRuntime runtime{.executor = drivers_,
                                   .io = io_,
                                   .environment = environment,
                                   .registry = registry_,
                                   .random_seed = 0};
    hub_ = std::make_unique<WatchHub>(identity_.run_id, drivers_);
    event_log_ = std::make_unique<EventLog>(*hub_);
    ASSIGN_OR_RETURN(
        dispatcher_,
        Dispatcher::Create(
            dispatch, std::move(runtime),
            MakeFileFenceStore(core::PosixFileSystem(), options_.state_dir),
            event_log_.get()));
    hub_->SetConnectors(dispatcher_.get());
    tidy_ =
        std::make_unique<MemoryTidy>(io_, [this] { return hub_->removals(); });
    connector_service_ = std::make_unique<ConnectorService>(
        *dispatcher_, positions_, registry_, environment, identity_);
    sessions_ = std::make_unique<SessionHub>(*dispatcher_, positions_, *hub_,
                                             drivers_, identity_);
    control_service_ =
        std::make_unique<ControlService>(*dispatcher_, positions_, *sessions_);
    watch_service_ = std::make_unique<WatchService>(*hub_, drivers_);
    health_service_ = std::make_unique<HealthService>(*dispatcher_);
    RETURN_IF_ERROR(Serve());
    is_ready_.store(true, std::memory_order_release);
    LOG(INFO)
            .With("listen", options_.listen)
            .With("port", port_)
            .With("admin_port", admin_port())
            .With("run_id", identity_.run_id)
        << "worker " << core::kVersion << " is ready";
    return absl::OkStatus();
  }

  bool Drain() override {
    LOG(INFO).With("deadline_ms",
                   absl::ToInt64Milliseconds(options_.drain_timeout))
        << "draining";
    health_service_->SetDraining();
    core::Notification drained;
    std::vector<core::DrainedConnector> connectors;
    hub_->OnDraining(core::RealClock().Now() + options_.drain_timeout);
    dispatcher_->Drain(options_.drain_timeout,
                       [&](std::vector<core::DrainedConnector> result) {
                         connectors = std::move(result);
                         drained.Notify();
                       });
    drained.WaitForNotification();
    bool complete = true;
    for (const core::DrainedConnector& connector : connectors) {
      if (connector.IsComplete()) continue;
      complete = false;
      LogIncomplete(connector);
    }
    StopServing(absl::Seconds(1));
    LOG(INFO).With("complete", complete) << "drained";
    return complete;
  }

  int port() const override { return port_; }
  int admin_port() const override {
    return admin_ == nullptr ? 0 : admin_->port();
  }

 private:
  absl::Status Serve() {
    grpc::EnableDefaultHealthCheckService(false);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
    builder.AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
        wire::kPingIntervalMinMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                               wire::kKeepaliveTimeMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                               wire::kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                               wire::kMetadataBytesMax);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               options_.streams_max);
    // Whoever connects and then says nothing is not kept.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        credentials_);
    builder.RegisterService(connector_service_.get());
    builder.RegisterService(control_service_.get());
    builder.RegisterService(watch_service_.get());
    builder.RegisterService(health_service_.get());
    builder.RegisterService(&operations_service_);
    ASSIGN_OR_RETURN(Listener listener,
                     Listener::Open(options_.listen, "--listen"));
    port_ = listener.port();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return core::MakeError(core::Reason::INTERNAL,
                             "starting gRPC's server: its log says why");
    }
    gate_ = std::make_unique<ConnectionGate>(
        std::move(listener),
        ConnectionGate::Options{.connections_max = options_.connections_max,
                                .is_plaintext = !options_.tls.enabled()},
        [acceptor = std::shared_ptr(std::move(acceptor))](int listening,
                                                          UniqueFd connection) {
          grpc::experimental::ExternalConnectionAcceptor::
              NewConnectionParameters given;
          given.listener_fd = listening;
          given.fd = connection.Release();
          acceptor->HandleNewConnection(&given);
        });
    return absl::OkStatus();
  }

  absl::Status ServeAdmin() {
    const auto text = [](int code, std::string body) {
      return HttpReply{.code = code, .body = std::move(body)};
    };
    std::map<std::string, HttpRoute> routes;
    const auto starting = text(503, "starting\n");
    routes["/metrics"].handler = [this, starting](const HttpRequest&) {
      if (!IsReady()) return starting;
      return HttpReply{
          .code = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = RenderMetrics(*dispatcher_, Facts())};
    };
    routes["/"] = {[](const HttpRequest&) {
                     return HttpReply{
                         .code = 200,
                         .content_type = "text/html; charset=utf-8",
                         .body = std::string(StatusPage())};
                   },
                   true};
    routes["/status.json"].handler = [this](const HttpRequest& request) {
      const auto resident = core::ResidentBytes(core::PosixFileSystem());
      return HttpReply{
          .code = 200,
          .content_type = "application/json",
          .body = StatusJson(IsReady() ? dispatcher_.get() : nullptr,
                             {.version = core::kVersion,
                              .run_id = identity_.run_id,
                              .started = started_,
                              .now = core::RealClock().Now(),
                              .resident_bytes = resident.value_or(0),
                              .shows_texts = ShowsTexts(request)})};
    };
    routes["/healthz"].handler = [this, text,
                                  starting](const HttpRequest& request) {
      if (!IsReady()) return starting;
      HealthReport report =
          ReportHealth(*dispatcher_, request.query == "verbose",
                       ShowsTexts(request), core::RealClock().Now());
      return text(report.is_well ? 200 : 503, std::move(report.text));
    };
    routes["/livez"] = {
        [text](const HttpRequest&) { return text(200, "ok\n"); }, true};
    routes["/readyz"] = {[this, text, starting](const HttpRequest&) {
                           if (!IsReady()) return starting;
                           return dispatcher_->draining()
                                      ? text(503, "draining\n")
                                      : text(200, "ok\n");
                         },
                         true};
    ASSIGN_OR_RETURN(
        admin_,
        HttpServer::Start({.address = options_.admin_listen,
                           .connections_max = options_.admin_connections_max,
                           .routes = std::move(routes)}));
    return absl::OkStatus();
  }

  // From then on all members are there.
  bool IsReady() const { return is_ready_.load(std::memory_order_acquire); }

  // Errors may quote records: on loopback, to who asks for that, or where
  // somebody said so.
  bool ShowsTexts(const HttpRequest& request) const {
    const std::string& address = options_.admin_listen;
    if (options_.admin_show_errors) return true;
    return request.names_loopback &&
           core::IsLoopbackHost(address.substr(0, address.rfind(':')));
  }

  WorkerFacts Facts() {
    core::FileSystem& files = core::PosixFileSystem();
    return {.version = core::kVersion,
            .started = started_,
            .now = core::RealClock().Now(),
            .usage = ReadProcessUsage(files),
            .tls_files = tls_files_->Get(),
            .clients = gate_->counts(),
            .admin_clients = admin_->counts(),
            .metrics_bytes_max = options_.metrics_bytes_max};
  }

  void StopServing(absl::Duration grace) {
    if (server_ == nullptr) return;
    // Whoever still waits is answered: the server waits for every call.
    health_service_->Close();
    sessions_->Shutdown();
    hub_->Shutdown();
    gate_->Close();
    dispatcher_->Shutdown();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    server_->Wait();
    sessions_->Wait();
    server_.reset();
  }

  const WorkerOptions options_;
  core::Random random_;
  const core::PathPolicy paths_;
  core::Registry registry_;
  core::DescriptorWatcher watcher_;
  std::optional<core::PipedInput> standard_input_;
  core::ThreadPoolExecutor drivers_;
  core::ThreadPoolExecutor io_;
  core::DirectoryEvents directory_events_;
  const WorkerIdentity identity_;
  const absl::Time started_;
  PositionCache positions_;
  std::unique_ptr<WatchHub> hub_;
  std::unique_ptr<EventLog> event_log_;
  // Null: shared. Before what writes there.
  std::unique_ptr<StateLock> state_lock_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<MemoryTidy> tidy_;
  std::unique_ptr<TlsFiles> tls_files_;
  std::unique_ptr<ConnectorService> connector_service_;
  std::unique_ptr<SessionHub> sessions_;
  std::unique_ptr<ControlService> control_service_;
  std::unique_ptr<WatchService> watch_service_;
  std::unique_ptr<HealthService> health_service_;
  OperationsService operations_service_;
  // Shared with the server.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionGate> gate_;
  std::unique_ptr<HttpServer> admin_;
  std::atomic<bool> is_ready_{false};
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<App>> App::Start(WorkerOptions options) {
  auto app = std::make_unique<WorkerApp>(std::move(options));
  RETURN_IF_ERROR(app->Build());
  return app;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kOk;
  if (core::HasReason(status, core::Reason::STATE_DAMAGED)) {
    return ExitCode::kStateDamaged;
  }
  if (core::HasReason(status, core::Reason::INVALID_CONFIG)) {
    return ExitCode::kUsage;
  }
  if (core::HasReason(status, core::Reason::UNAVAILABLE)) {
    return ExitCode::kCannotListen;
  }
  return ExitCode::kFailed;
}

}  // namespace penstock::server
