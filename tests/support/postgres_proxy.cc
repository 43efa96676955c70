#include "tests/support/postgres_proxy.h"

#include "core/base/check.h"
#include "tests/support/socket_bytes.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr char kSocketName[] = ".s.PGSQL.5432";
constexpr size_t kTypedHeaderBytes = 5;
constexpr size_t kStartupHeaderBytes = 4;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

void CloseIfOpen(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

struct PostgresProxy::Wire {
  int client = -1;
  int server = -1;
  bool started = false;
  int32_t backend = 0;
  // Not yet looked at, or not yet whole.
  std::string from_client;
  std::string from_server;
  // Of `from_client`: messages that were looked at.
  size_t scanned = 0;
  // Until the server's next answer ends; then the wire is cut.
  bool swallow = false;
  bool held = false;
  bool deaf = false;
  std::string held_bytes;

  bool is_dead() const { return server < 0 && client < 0; }
  void Cut() {
    CloseIfOpen(client);
    CloseIfOpen(server);
  }
};

PostgresProxy::PostgresProxy(const std::string& server_directory)
    : server_path_(absl::StrCat(server_directory, "/", kSocketName)) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_GE(listener_, 0);
  const sockaddr_un address = AddressOf(directory_.Path(kSocketName));
  CHECK_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address),
                  sizeof address),
           0);
  CHECK_EQ(::listen(listener_, 16), 0);
  CHECK_EQ(::pipe2(wake_, O_CLOEXEC | O_NONBLOCK), 0);
  thread_ = std::make_unique<Thread>(
      "postgres-proxy", [this](const std::stop_token& stop) { Loop(stop); });
}

PostgresProxy::~PostgresProxy() {
  thread_->RequestStop();
  Wake();
  thread_ = nullptr;
  for (Wire& wire : wires_) wire.Cut();
  ::close(listener_);
  ::close(wake_[0]);
  ::close(wake_[1]);
}

void PostgresProxy::Wake() {
  const ssize_t written = ::write(wake_[1], "w", 1);
  (void)written;  // Full: it will wake all the same.
}

void PostgresProxy::SetScript(Script script) {
  MutexLock lock(mu_);
  script_ = std::move(script);
  statements_ = 0;
}

uint64_t PostgresProxy::statements() const {
  MutexLock lock(mu_);
  return statements_;
}

void PostgresProxy::WaitForHeld() {
  MutexLock lock(mu_);
  changed_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return held_ > 0;
  });
}

void PostgresProxy::ReleaseHeld() {
  MutexLock lock(mu_);
  release_ = true;
  Wake();
  changed_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return held_ == 0;
  });
}

void PostgresProxy::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0},
                                  {wake_[0], POLLIN, 0}};
    for (const Wire& wire : wires_) {
      // Negative ones are passed over. A client is not heard while it is held.
      polled.push_back({wire.held ? -1 : wire.client, POLLIN, 0});
      polled.push_back({wire.deaf ? -1 : wire.server, POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), /*timeout=*/-1) < 0) continue;
    std::array<char, 64> drained;
    while (::read(wake_[0], drained.data(), drained.size()) > 0) {
    }
    size_t at = 2;
    for (Wire& wire : wires_) {
      if (polled[at++].revents != 0) ReadClient(wire);
      if (polled[at++].revents != 0) ReadServer(wire);
    }
    wires_.remove_if([](const Wire& wire) { return wire.is_dead(); });
    if (polled[0].revents != 0) Accept();
    Release();
  }
}

void PostgresProxy::Accept() {
  Wire wire;
  wire.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (wire.client < 0) return;
  wire.server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(server_path_);
  if (::connect(wire.server, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
    return wire.Cut();
  }
  wires_.push_back(std::move(wire));
}

void PostgresProxy::ReadClient(Wire& wire) {
  if (wire.client < 0) return;
  if (!Receive(wire.client, wire.from_client)) return wire.Cut();
  while (wire.server >= 0 && !wire.held) {
    const absl::string_view rest =
        absl::string_view(wire.from_client).substr(wire.scanned);
    const size_t header =
        wire.started ? kTypedHeaderBytes : kStartupHeaderBytes;
    if (rest.size() < header) return;
    const size_t size = BigEndian(rest.substr(header - 4)) + header - 4;
    if (rest.size() < size) return;
    const char type = rest[0];
    wire.scanned += size;
    if (!std::exchange(wire.started, true)) {
      SendAll(wire.server, wire.from_client.substr(0, wire.scanned));
      wire.from_client.erase(0, std::exchange(wire.scanned, 0));
      // A simple query, or the Sync behind the messages of an extended one.
    } else if (type == 'Q' || type == 'S') {
      PassStatement(wire, std::exchange(wire.scanned, 0));
    } else if (type == 'd' || type == 'c' || type == 'f') {
      // COPY's data and its end, which are answered by themselves.
      SendAll(wire.server, wire.from_client.substr(0, wire.scanned));
      wire.from_client.erase(0, std::exchange(wire.scanned, 0));
    } else if (type == 'X') {
      return wire.Cut();
    }
  }
}

void PostgresProxy::PassStatement(Wire& wire, size_t bytes) {
  const std::string statement = wire.from_client.substr(0, bytes);
  wire.from_client.erase(0, bytes);
  Deed deed = Deed::kForward;
  {
    MutexLock lock(mu_);
    ++statements_;
    if (script_) deed = script_({statements_, wire.backend});
  }
  size_t now = statement.size();
  switch (deed) {
    case Deed::kForward:
      break;
    case Deed::kCut:
      return wire.Cut();
    case Deed::kCutAnswer:
      wire.swallow = true;
      break;
    case Deed::kHold:
    case Deed::kHoldHalf:
    case Deed::kStop:
      now = deed == Deed::kHoldHalf ? now / 2 : 0;
      wire.held = true;
      wire.deaf = deed == Deed::kStop;
      wire.held_bytes = statement.substr(now);
      break;
  }
  SendAll(wire.server, absl::string_view(statement).substr(0, now));
  if (!wire.held) return;
  MutexLock lock(mu_);
  ++held_;
  changed_.NotifyAll();
}

void PostgresProxy::ReadServer(Wire& wire) {
  if (wire.server < 0) return;
  std::string& bytes = wire.from_server;
  const bool open = Receive(wire.server, bytes);
  bool answered = false;
  size_t whole = 0;
  while (bytes.size() >= whole + kTypedHeaderBytes) {
    const absl::string_view message = absl::string_view(bytes).substr(whole);
    const size_t size = BigEndian(message.substr(1)) + 1;
    if (message.size() < size) break;
    // BackendKeyData, ReadyForQuery.
    if (message[0] == 'K') {
      wire.backend = static_cast<int32_t>(BigEndian(message.substr(5)));
    }
    if (message[0] == 'Z') answered = true;
    whole += size;
  }
  if (!wire.swallow && wire.client >= 0) {
    SendAll(wire.client, absl::string_view(bytes).substr(0, whole));
  }
  bytes.erase(0, whole);
  if (open && !(wire.swallow && answered)) return;
  wire.Cut();
  MutexLock lock(mu_);
  if (std::exchange(wire.held, false)) --held_;
  changed_.NotifyAll();
}

void PostgresProxy::Release() {
  {
    MutexLock lock(mu_);
    if (!std::exchange(release_, false)) return;
  }
  for (Wire& wire : wires_) {
    if (!wire.held) continue;
    SendAll(wire.server, wire.held_bytes);
    if (std::exchange(wire.deaf, false)) {
      wire.held = false;
      MutexLock lock(mu_);
      --held_;
      changed_.NotifyAll();
    } else {
      // Nobody waits for the answer any more; the wire ends with it.
      wire.swallow = true;
    }
  }
}

}  // namespace penstock::core
