// A whole worker in this process, with a client of it.
#pragma once

#include "client/client.h"
#include "server/app.h"
#include "server/options.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <string>

namespace penstock {

// Listens on a Unix socket in a directory of its own, where its state is too.
// Owner: a test. Threads: confined to the test's.
class RealWorker {
 public:
  struct Options {
    // Metrics and probes on a port that the system chooses.
    bool admin = false;
    std::string admin_host = "127.0.0.1";
    bool admin_show_errors = false;
    size_t connections_max = 1000;
    // What its connectors may take together.
    uint64_t memory_max = uint64_t{4} << 30;
  };
  explicit RealWorker(Options options);
  RealWorker() : RealWorker(Options()) {}

  // Ends the worker without a drain; the client stays.
  void Stop() { app_.reset(); }
  // Ends it as a crash would and starts it on the same state.
  void Restart();
  // The same state on a TCP port of loopback.
  void RestartOnLoopback();
  server::App& app() { return *app_; }
  client::Client& client() { return *client_; }
  core::Control& control() { return client_->control(); }
  const std::string& target() const { return target_; }
  const core::TempDir& directory() const { return directory_; }

  // Writes `text` to the file `name` and returns its path.
  std::string Write(absl::string_view name, absl::string_view text);
  // As ScrapeAt. Requires: `admin`.
  std::string Scrape(absl::string_view path);

 private:
  void Start(const std::string& listen);

  const Options options_;
  const core::TempDir directory_;
  std::string target_;
  std::unique_ptr<server::App> app_;
  std::unique_ptr<client::Client> client_;
};

// What GET `path` answers on a port of loopback: status line, head and body;
// empty: nobody listens.
std::string ScrapeAt(int port, absl::string_view path);
// `count` lines "<prefix><number>".
std::string Lines(absl::string_view prefix, int count);

}  // namespace penstock
