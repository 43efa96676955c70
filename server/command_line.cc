#include "server/command_line.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

constexpr char kFooter[] =
    "Exit codes:\n"
    "  0  ended in order\n"
    "  1  failed for another reason\n"
    "  2  wrong options\n"
    "  3  stored state is damaged (the message says what to do)\n"
    "  4  cannot listen, or another worker uses --state-dir\n"
    "  5  drained, but not everything was committed, or nobody knows: it will\n"
    "     be replayed or read again\n"
    "  6  a second signal came during the drain\n"
    "  7  a call to a source or sink did not return: ended without it, at the\n"
    "     latest 10 s after the drain; what is not committed will be replayed\n"
    "\n"
    "Example:\n"
    "  penstock-worker --state-dir ./state --listen 127.0.0.1:7070\n"
    "  penstock-worker --state-dir ./state --listen 0.0.0.0:7070 \\\n"
    "    --tls-cert w.pem --tls-key w.key --tls-client-ca ca.pem \\\n"
    "    --role controller=controller.example --role observer='*'\n";

void AddTlsOptions(CLI::App& cli, WorkerOptions& options) {
  cli.add_option("--tls-cert", options.tls.certificate,
                 "TLS: PEM file of the worker's certificate chain; read again "
                 "when it changes");
  cli.add_option("--tls-key", options.tls.private_key,
                 "TLS: PEM file of its private key");
  cli.add_option("--tls-client-ca", options.tls.client_ca,
                 "TLS: PEM file of the authorities of callers' certificates; "
                 "none: callers need no certificate");
  cli.add_option("--role", options.tls.roles,
                 "TLS: ROLE=NAME (repeatable): observer, operator or "
                 "controller for a subject alternative name, or * for "
                 "everybody");
}

void AddAdminOptions(CLI::App& cli, WorkerOptions& options) {
  cli.add_option(
         "--admin-listen", options.admin_listen,
         "Address of metrics, probes and the status page, plaintext: it "
         "shows names and counts to whoever reaches it, and on loopback "
         "errors; empty: none")
      ->capture_default_str();
  cli.add_flag("--admin-show-errors", options.admin_show_errors,
               "Show texts of errors on the admin port wherever it listens: "
               "they may quote records");
  cli.add_option("--admin-connections-max", options.admin_connections_max,
                 "Connections to the admin port; of more the slowest goes")
      ->check(CLI::Range(8, 100'000))
      ->capture_default_str();
  cli.add_option("--metrics-bytes-max", options.metrics_bytes_max,
                 "Bytes of a scrape; where there is more to show, histograms "
                 "and numbers of shards are left out first")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kMetricsBytesMaxMin, size_t{1} << 30))
      ->capture_default_str();
}

void AddTimeOptions(CLI::App& cli, WorkerOptions& options,
                    double& drain_seconds) {
  cli.add_option("--drain-timeout", drain_seconds,
                 "Seconds that SIGTERM waits for the rest to be queued, "
                 "released and committed")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  cli.add_option_function<double>(
         "--orphan-timeout",
         [&options](double seconds) {
           options.orphan_timeout = absl::Seconds(seconds);
         },
         "Seconds without a command or session of a pipeline's controller "
         "after which its connectors pause until the next command, unless "
         "their `orphan_timeout` says otherwise; 0: never")
      ->check(CLI::Range(0.0, 30 * 86'400.0))
      ->default_str("0");
}

// The least that --memory-max may be: less is no connector's, however small its
// limits, but a number whose unit was left out.
constexpr uint64_t kMemoryMaxMin = uint64_t{1} << 20;

// Returns: what is wrong with it, as CLI11 wants it.
std::string CheckMemoryMax(const std::string& bytes) {
  uint64_t given = 0;
  if (!absl::SimpleAtoi(bytes, &given) || given == 0 ||
      given >= kMemoryMaxMin) {
    return "";
  }
  return absl::StrCat("--memory-max: ", given,
                      " bytes have room for no connector (one takes 192mb, "
                      "unless its limits say less); give at least 1mb, or 0 "
                      "for half of the memory");
}

}  // namespace

void AddOptions(CLI::App& cli, WorkerOptions& options, double& drain_seconds) {
  cli.footer(kFooter);
  // What was not understood comes before what is missing.
  cli.failure_message([](const CLI::App* app, const CLI::Error& error) {
    const std::vector<std::string> unknown = app->remaining(true);
    return absl::StrCat(unknown.empty() ? std::string(error.what())
                                        : unknown.front() + ": not expected",
                        "\n`penstock-worker --help` says what there is.\n");
  });
  AddTlsOptions(cli, options);
  cli.add_option("--listen", options.listen,
                 "Address of the gRPC port: host:port or unix:/path")
      ->capture_default_str();
  cli.add_flag("--insecure", options.insecure,
               "Allow plaintext on an address that is not loopback");
  cli.add_option("--connections-max", options.connections_max,
                 "Connections to the gRPC port; one more is refused")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  cli.add_option("--streams-max", options.streams_max,
                 "Calls of one connection at a time")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddAdminOptions(cli, options);
  cli.add_option("--state-dir", options.state_dir,
                 "Directory of the worker's fence; it must survive restarts")
      ->required();
  cli.add_flag("--share-state-dir", options.share_state_dir,
               "Let other workers use --state-dir at the same time, though "
               "each then forgets what the others promised: for `penstock "
               "run`, which takes over from one that hangs");
  cli.add_option("--allow-path", options.allow_paths,
                 "Root that file sources and sinks may reach (repeatable); "
                 "none: everything");
  cli.add_flag("--standard-input", options.standard_input,
               "Allow a file source to read what is piped into this process "
               "(path: '-')");
  cli.add_option("--memory-max", options.memory_max,
                 "Bytes for all connectors together; 0: half of the memory "
                 "that this process may have")
      ->transform(CLI::AsSizeValue(false))
      ->check(CheckMemoryMax)
      ->capture_default_str();
  AddTimeOptions(cli, options, drain_seconds);
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

}  // namespace penstock::server
