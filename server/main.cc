// penstock-worker: reads options, starts a worker, forwards signals.
#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/version.h"
#include "server/app.h"
#include "server/command_line.h"
#include "server/end_of_process.h"
#include "server/grpc_log.h"
#include "server/net/open_files.h"
#include "server/options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>
#include <csignal>
#include <cstdio>

namespace {

using penstock::server::App;
using penstock::server::EndAtTheLatestAfter;
using penstock::server::ExitCode;
using penstock::server::kEndMax;
using penstock::server::WorkerOptions;

void SetUpLog(const WorkerOptions& options) {
  if (options.log_format == "json") {
    penstock::core::SetLogSink(penstock::core::MakeJsonLogSink(STDERR_FILENO));
  }
  penstock::core::SetLogLevel(
      penstock::core::ParseLogSeverity(options.log_level)
          .value_or(penstock::core::LogSeverity::kInfo));
}

}  // namespace

int main(int argc, char** argv) {
  penstock::core::SetUpMalloc();
  CLI::App cli("penstock-worker hosts connectors, commanded over gRPC.");
  cli.set_version_flag("--version", penstock::core::kVersion);
  WorkerOptions options;
  double drain_s = absl::ToDoubleSeconds(options.drain_timeout);
  penstock::server::AddOptions(cli, options, drain_s);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = cli.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  options.drain_timeout = absl::Seconds(drain_s);
  SetUpLog(options);
  penstock::server::RouteGrpcLog();

  // Blocked before any thread is made, so that only this one takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  penstock::server::RaiseOpenFiles(options.connections_max +
                                   options.admin_connections_max);
  auto app = App::Start(options);
  if (!app.ok()) {
    LOG(ERROR) << app.status().message();
    return static_cast<int>(penstock::server::ExitCodeOf(app.status()));
  }
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  penstock::server::EndOnSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  const bool as_json = options.log_format == "json";
  EndAtTheLatestAfter(options.drain_timeout + kEndMax, as_json);
  const bool complete = (*app)->Drain();
  EndAtTheLatestAfter(kEndMax, as_json);
  app->reset();  // Waits for the calls that are running.
  return static_cast<int>(complete ? ExitCode::kOk
                                   : ExitCode::kDrainIncomplete);
}
