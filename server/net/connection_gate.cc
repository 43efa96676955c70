#include "server/net/connection_gate.h"

#include "core/base/clock.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <cerrno>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

constexpr int kLookMs = 500;
// 0: it is no socket.
ino_t InodeOf(int fd) {
  struct stat found {};
  const bool is_socket = fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode);
  return is_socket ? found.st_ino : 0;
}

}  // namespace

ConnectionGate::ConnectionGate(Listener listener, Options options, Take take)
    : listener_(std::move(listener)),
      options_(options),
      take_(std::move(take)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      log_(1, absl::Minutes(1)),
      thread_("accept", [this](const std::stop_token& stop) { Run(stop); }) {}

void ConnectionGate::Close() {
  thread_.RequestStop();
  eventfd_write(wake_.get(), 1);
  thread_.Join();
  listener_.reset();
}

void ConnectionGate::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    // Without a descriptor left it looks again a little later.
    const short wanted = std::exchange(is_starved_, false) ? 0 : POLLIN;
    std::vector<pollfd> polled;
    for (const UniqueFd& socket : listener_->sockets()) {
      polled.push_back({.fd = socket.get(), .events = wanted, .revents = 0});
    }
    polled.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    for (const RefusedClient& client : told_) {
      polled.push_back({.fd = client.fd(), .events = POLLIN, .revents = 0});
    }
    poll(polled.data(), polled.size(), kLookMs);
    const absl::Time now = core::RealClock().SteadyNow();
    std::erase_if(told_,
                  [now](RefusedClient& client) { return !client.Move(now); });
    for (size_t i = 0; i < listener_->sockets().size(); ++i) {
      if (polled[i].revents != 0) AcceptAll(polled[i].fd, stop);
    }
  }
}

void ConnectionGate::AcceptAll(int socket, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    UniqueFd fd = Listener::Accept(socket);
    if (!fd.is_open()) {
      is_starved_ = errno != EAGAIN && errno != ECONNABORTED;
      return;
    }
    bool is_full = false;
    {
      core::MutexLock lock(mu_);
      if (given_.size() >= options_.connections_max) ForgetClosed();
      is_full = given_.size() >= options_.connections_max;
      if (is_full) {
        ++refused_;
      } else {
        given_.push_back({.fd = fd.get(), .inode = InodeOf(fd.get())});
      }
    }
    if (is_full) {
      Refuse(std::move(fd));
    } else {
      take_(socket, std::move(fd));
    }
  }
}

void ConnectionGate::Refuse(UniqueFd connection) {
  LOG_EVERY(WARNING, log_).With("connections_max", options_.connections_max)
      << "refusing a connection: there are as many as --connections-max allows";
  if (!options_.is_plaintext || told_.size() >= kRefusedMax) return;
  told_.emplace_back(
      std::move(connection),
      absl::StrCat("this worker has ", options_.connections_max,
                   " connections, as many as its --connections-max allows"),
      core::RealClock().SteadyNow());
}

void ConnectionGate::ForgetClosed() const {
  std::erase_if(given_, [](const Given& given) {
    return given.inode != InodeOf(given.fd);
  });
}

ConnectionGate::Counts ConnectionGate::counts() const {
  core::MutexLock lock(mu_);
  ForgetClosed();
  return {.open = given_.size(),
          .open_max = options_.connections_max,
          .refused = refused_};
}

}  // namespace penstock::server
