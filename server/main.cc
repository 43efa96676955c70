// penstock-worker: reads options, starts a worker, forwards signals.
#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/version.h"
#include "server/app.h"
#include "server/end_of_process.h"
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

constexpr char kFooter[] =
    "Exit codes:\n"
    "  0  ended in order\n"
    "  1  failed for another reason\n"
    "  2  wrong options\n"
    "  3  stored state is damaged (the message says what to do)\n"
    "  4  cannot listen\n"
    "  5  drained, but not everything was committed, or nobody knows: it will\n"
    "     be replayed or read again\n"
    "  6  a second signal came during the drain\n"
    "  7  a call to a source or sink did not return: ended without it, at the\n"
    "     latest 10 s after the drain; what is not committed will be replayed\n"
    "\n"
    "Example:\n"
    "  penstock-worker --state-dir ./state --listen 127.0.0.1:7070\n";

void AddOptions(CLI::App& cli, WorkerOptions& options, double& drain_s) {
  cli.add_option("--listen", options.listen,
                 "Address of the gRPC port: host:port or unix:/path")
      ->capture_default_str();
  cli.add_flag("--insecure", options.insecure,
               "Allow plaintext on an address that is not loopback");
  cli.add_option("--admin-listen", options.admin_listen,
                 "Address of /metrics, /livez and /readyz; empty: none")
      ->capture_default_str();
  cli.add_option("--state-dir", options.state_dir,
                 "Directory of the worker's fence; it must survive restarts")
      ->required();
  cli.add_option("--allow-path", options.allow_paths,
                 "Root that file sources and sinks may reach (repeatable); "
                 "none: everything");
  cli.add_option("--memory-max", options.memory_max,
                 "Bytes for all connectors together; 0: half of the memory "
                 "that this process may have")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  cli.add_option("--drain-timeout", drain_s,
                 "Seconds that SIGTERM waits for the rest to be queued, "
                 "released and committed")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  cli.add_option("--driver-threads", options.driver_threads,
                 "Threads that route and encode; 0: one for each processor")
      ->check(CLI::Range(0, 256));
  cli.add_option("--io-threads", options.io_threads,
                 "Threads that read and write")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  cli.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  cli.add_option("--log-level", options.log_level, "info, warning or error")
      ->check(CLI::IsMember({"info", "warning", "error"}))
      ->capture_default_str();
}

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
  cli.footer(kFooter);
  cli.set_version_flag("--version", penstock::core::kVersion);
  WorkerOptions options;
  double drain_s = absl::ToDoubleSeconds(options.drain_timeout);
  AddOptions(cli, options, drain_s);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = cli.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  options.drain_timeout = absl::Seconds(drain_s);
  SetUpLog(options);

  // Blocked before any thread is made, so that only this one takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

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
