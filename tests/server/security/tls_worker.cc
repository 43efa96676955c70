#include "tests/server/security/tls_worker.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/filesystem.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/connector.pb.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::server {

TlsWorker::TlsWorker() : authority_("authority of a test") {
  UsePair(authority_.Issue({"DNS:worker.example"}));
  UseClientCa(authority_.certificate());
}

std::string TlsWorker::Write(absl::string_view name,
                             absl::string_view text) const {
  std::string path = Path(name);
  const absl::Status status =
      core::WriteFileDurably(core::PosixFileSystem(), path, text);
  CHECK(status.ok()) << std::string(status.message());
  return path;
}

void TlsWorker::UsePair(const core::PemPair& pair) {
  Write("worker.key", pair.private_key);
  Write("worker.pem", pair.certificate);
}

void TlsWorker::UseClientCa(const std::string& certificate) {
  Write("client_ca.pem", certificate);
}

WorkerOptions TlsWorker::Options(std::vector<std::string> roles) const {
  WorkerOptions options;
  options.listen = "127.0.0.1:0";
  options.admin_listen = "";
  options.state_dir = Path("state");
  options.drain_timeout = absl::Seconds(2);
  options.tls = {.certificate = Path("worker.pem"),
                 .private_key = Path("worker.key"),
                 .client_ca = Path("client_ca.pem"),
                 .roles = std::move(roles)};
  return options;
}

void TlsWorker::Start(std::vector<std::string> roles) {
  app_.reset();
  auto app = App::Start(Options(std::move(roles)));
  CHECK(app.ok()) << std::string(app.status().message());
  app_ = *std::move(app);
}

std::string TlsWorker::target() const {
  return absl::StrCat("127.0.0.1:", app_->port());
}

client::TlsFiles TlsWorker::CallerFiles(const core::PemPair& pair,
                                        const std::string& ca) {
  const std::string prefix = absl::StrCat("caller", callers_++);
  client::TlsFiles files{.ca = Write(prefix + "_ca.pem", ca),
                         .server_name = "worker.example"};
  if (pair.certificate.empty()) return files;
  files.certificate = Write(prefix + ".pem", pair.certificate);
  files.private_key = Write(prefix + ".key", pair.private_key);
  return files;
}

absl::Status TlsWorker::Ask(const client::TlsFiles& files) const {
  client::ClientOptions options;
  options.channel.tls = files;
  const auto client = client::Client::Connect(target(), options);
  if (!client.ok()) return client.status();
  return (*client)->ListConnectorTypes().status();
}

bool TlsWorker::AskUntil(const client::TlsFiles& files, bool ok) const {
  const absl::Time end = core::RealClock().SteadyNow() + absl::Seconds(30);
  while (Ask(files).ok() != ok) {
    if (core::RealClock().SteadyNow() > end) return false;
    core::Notification never;
    never.WaitForNotificationWithTimeout(absl::Milliseconds(20));
  }
  return true;
}

}  // namespace penstock::server
