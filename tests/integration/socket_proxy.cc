#include "tests/integration/socket_proxy.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kHeldMax = size_t{64} << 10;
// How often a hole that was opened or closed is seen.
constexpr int kTickMs = 20;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path) << path;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

SocketProxy::SocketProxy(const std::string& target)
    : worker_path_(absl::StripPrefix(target, "unix:")) {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = AddressOf(directory_.Path("proxy.sock"));
  CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&address),
             sizeof address) == 0);
  CHECK(listen(listener_, 16) == 0);
  thread_ = std::make_unique<core::Thread>(
      "proxy", [this](const std::stop_token& stop) { Loop(stop); });
}

SocketProxy::~SocketProxy() {
  thread_.reset();
  for (Wire& wire : wires_) Close(wire);
  close(listener_);
}

std::string SocketProxy::target() const {
  return absl::StrCat("unix:", directory_.Path("proxy.sock"));
}

void SocketProxy::Close(Wire& wire) {
  close(wire.client);
  close(wire.worker);
}

void SocketProxy::Accept() {
  const int client =
      accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int worker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(worker_path_);
  if (connect(worker, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    close(worker);
    close(client);
    return;
  }
  fcntl(worker, F_SETFL, O_NONBLOCK);
  Wire& wire = wires_.emplace_back();
  wire.client = client;
  wire.worker = worker;
  wire.up = {.from = client, .to = worker, .held = {}};
  wire.down = {.from = worker, .to = client, .held = {}};
}

bool SocketProxy::Forward(Way& way) {
  if (way.held.size() < kHeldMax) {
    char bytes[kHeldMax];
    const ssize_t got = recv(way.from, bytes, kHeldMax - way.held.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
    if (got > 0) way.held.insert(way.held.end(), bytes, bytes + got);
  }
  if (way.held.empty()) return true;
  const ssize_t sent =
      send(way.to, way.held.data(), way.held.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return false;
  if (sent <= 0) return true;
  way.held.erase(way.held.begin(), way.held.begin() + sent);
  if (cut_after_ < 0) return true;
  cut_after_ -= sent;
  if (cut_after_ >= 0) return true;
  cut_after_ = -1;
  ++cuts_;
  return false;
}

void SocketProxy::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> fds;
    if (!is_black_hole_) {
      fds.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
      for (const Wire& wire : wires_) {
        for (const Way* way : {&wire.up, &wire.down}) {
          if (way->held.size() < kHeldMax) {
            fds.push_back({.fd = way->from, .events = POLLIN, .revents = 0});
          }
          if (!way->held.empty()) {
            fds.push_back({.fd = way->to, .events = POLLOUT, .revents = 0});
          }
        }
      }
    }
    poll(fds.data(), fds.size(), kTickMs);
    if (is_black_hole_) continue;
    Accept();
    for (auto wire = wires_.begin(); wire != wires_.end();) {
      if (Forward(wire->up) && Forward(wire->down)) {
        ++wire;
        continue;
      }
      Close(*wire);
      wire = wires_.erase(wire);
    }
  }
}

}  // namespace penstock
