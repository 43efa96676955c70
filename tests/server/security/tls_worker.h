// A worker with TLS in this process, and callers of it.
#pragma once

#include "client/client.h"
#include "server/app.h"
#include "server/options.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

// Its authority issues for both sides; the worker is "worker.example".
// Owner: a test. Threads: confined to the test's.
class TlsWorker {
 public:
  TlsWorker();

  // Writes the worker's pair; it may be running.
  void UsePair(const core::PemPair& pair);
  // Writes the authorities that it believes of callers.
  void UseClientCa(const std::string& certificate);
  // `roles`: as --role. Aborts if it does not start.
  void Start(std::vector<std::string> roles);
  // Options as Start uses them.
  WorkerOptions Options(std::vector<std::string> roles) const;

  core::FakeAuthority& authority() { return authority_; }
  App& app() { return *app_; }
  std::string target() const;
  std::string Path(absl::string_view name) const {
    return directory_.Path(name);
  }

  // Files of a caller with `pair` (an empty one: without a certificate) that
  // believes `ca`.
  client::TlsFiles CallerFiles(const core::PemPair& pair,
                               const std::string& ca);
  client::TlsFiles CallerFiles(const core::PemPair& pair) {
    return CallerFiles(pair, authority_.certificate());
  }
  // Asks for the worker's connectors over a connection of its own.
  absl::Status Ask(const client::TlsFiles& files) const;
  // Asks until the answer is, or is no longer, OK; at most 30 s.
  bool AskUntil(const client::TlsFiles& files, bool ok) const;

 private:
  std::string Write(absl::string_view name, absl::string_view text) const;

  const core::TempDir directory_;
  core::FakeAuthority authority_;
  int callers_ = 0;
  std::unique_ptr<App> app_;
};

}  // namespace penstock::server
