#include "tests/integration/real_worker.h"

#include "core/base/check.h"
#include "core/base/filesystem.h"

#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace penstock {

RealWorker::RealWorker(Options options) : options_(options) { Restart(); }

void RealWorker::Restart() {
  Start(absl::StrCat("unix:", directory_.Path("w.sock")));
}

void RealWorker::RestartOnLoopback() { Start("127.0.0.1:0"); }

void RealWorker::Start(const std::string& listen) {
  client_.reset();
  app_.reset();
  server::WorkerOptions options;
  options.listen = listen;
  options.connections_max = options_.connections_max;
  if (options_.admin) {
    options.admin_listen = absl::StrCat(options_.admin_host, ":0");
  } else {
    options.admin_listen.clear();
  }
  options.admin_show_errors = options_.admin_show_errors;
  options.state_dir = directory_.Path("state");
  options.memory_max = options_.memory_max;
  options.drain_timeout = absl::Seconds(2);
  auto app = server::App::Start(std::move(options));
  CHECK(app.ok()) << std::string(app.status().message());
  app_ = *std::move(app);
  target_ =
      app_->port() == 0 ? listen : absl::StrCat("127.0.0.1:", app_->port());
  auto client = client::Client::Connect(target_);
  CHECK(client.ok()) << std::string(client.status().message());
  client_ = *std::move(client);
}

std::string RealWorker::Write(absl::string_view name, absl::string_view text) {
  std::string path = directory_.Path(name);
  const absl::Status status =
      core::WriteFileDurably(core::PosixFileSystem(), path, text);
  CHECK(status.ok()) << std::string(status.message());
  return path;
}

std::string RealWorker::Scrape(absl::string_view path) {
  return ScrapeAt(app_->admin_port(), path);
}

namespace {

sockaddr_in LoopbackAt(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

std::string ScrapeAt(int port, absl::string_view path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0) << "no socket";
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = LoopbackAt(port);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0) {
    const std::string request =
        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      char bytes[4096];
      ssize_t got = 0;
      while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        answer.append(bytes, static_cast<size_t>(got));
      }
    }
  }
  close(fd);
  return answer;
}

std::string Lines(absl::string_view prefix, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) absl::StrAppend(&lines, prefix, i, "\n");
  return lines;
}

}  // namespace penstock
