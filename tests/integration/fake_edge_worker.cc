#include "tests/integration/fake_edge_worker.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/filesystem.h"
#include "core/format/raw/raw_format.h"
#include "core/sinks/null/null_sink.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

FakeEdgeWorker::FakeEdgeWorker(MakeSource make_source,
                               std::unique_ptr<server::FenceStore> fences)
    : paths_(std::vector<std::string>()),
      drivers_("driver", 2),
      io_("io", 2),
      watches_("run-of-a-test", drivers_) {
  registry_.RegisterSource(
      "file",
      [make_source = std::move(make_source)](const core::ComponentConfig&,
                                             const core::Environment&)
          -> absl::StatusOr<std::unique_ptr<core::InputEndpoint>> {
        return make_source();
      });
  registry_.RegisterParser("raw", core::MakeRawParser);
  registry_.RegisterEncoder("raw", core::MakeRawEncoder);
  registry_.RegisterSink("null", core::MakeNullSink);
  core::ConnectorRuntime runtime{
      .executor = drivers_,
      .io = io_,
      .environment = {.files = core::PosixFileSystem(),
                      .io = io_,
                      .clock = core::RealClock(),
                      .paths = paths_},
      .registry = registry_,
      .random_seed = 0};
  server::DispatcherOptions options;
  options.random_seed = 7;
  if (fences == nullptr) {
    fences = server::MakeFileFenceStore(core::PosixFileSystem(),
                                        directory_.Path("state"));
  }
  auto dispatcher = server::Dispatcher::Create(options, runtime,
                                               std::move(fences), &watches_);
  CHECK(dispatcher.ok()) << std::string(dispatcher.status().message());
  dispatcher_ = *std::move(dispatcher);
  watches_.SetConnectors(dispatcher_.get());
  const server::WorkerIdentity identity = {.version = "test",
                                           .run_id = "run-of-a-test"};
  connector_service_ = std::make_unique<server::ConnectorService>(
      *dispatcher_, positions_, registry_, runtime.environment, identity);
  sessions_ = std::make_unique<server::SessionHub>(
      *dispatcher_, positions_, watches_, drivers_, identity);
  control_service_ = std::make_unique<server::ControlService>(
      *dispatcher_, positions_, *sessions_);
  const std::string target = absl::StrCat("unix:", directory_.Path("w.sock"));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  builder.RegisterService(connector_service_.get());
  builder.RegisterService(control_service_.get());
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr) << "cannot listen on " << target;
  auto client = client::Client::Connect(target);
  CHECK(client.ok()) << std::string(client.status().message());
  client_ = *std::move(client);
}

FakeEdgeWorker::~FakeEdgeWorker() {
  client_.reset();
  sessions_->Shutdown();
  watches_.Shutdown();
  dispatcher_->Shutdown();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  sessions_->Wait();
}

}  // namespace penstock
