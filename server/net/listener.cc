#include "server/net/listener.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace penstock::server {
namespace {

constexpr int kBacklog = 1024;
constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses LookUp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 port.c_str(), &hints, &found);
  return Addresses(failed == 0 ? found : nullptr, &freeaddrinfo);
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

void SetPort(sockaddr* address, int port) {
  const auto wire = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = wire;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = wire;
  }
}

// `error`: why there is none, as errno.
UniqueFd ListenAt(const sockaddr* address, socklen_t size, bool both_kinds,
                  int& error) {
  UniqueFd fd(socket(address->sa_family, kType, 0));
  if (!fd.is_open()) {
    error = errno;
    return fd;
  }
  const int on = 1;
  const int v6_only = both_kinds ? 0 : 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->sa_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
  }
  if (address->sa_family != AF_UNIX) {
    // Those it accepts have it from here.
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (bind(fd.get(), address, size) != 0 || listen(fd.get(), kBacklog) != 0) {
    error = errno;
    return UniqueFd();
  }
  return fd;
}

// Both wildcards are one socket where the machine has IPv6.
bool IsWildcard(absl::string_view host) {
  return host.empty() || host == "0.0.0.0" || host == "[::]";
}

std::vector<UniqueFd> ListenTcp(absl::string_view host, const std::string& port,
                                int& error) {
  std::vector<UniqueFd> sockets;
  if (IsWildcard(host)) {
    if (const Addresses all = LookUp("::", port); all != nullptr) {
      UniqueFd fd = ListenAt(all->ai_addr, all->ai_addrlen, true, error);
      if (fd.is_open()) {
        sockets.push_back(std::move(fd));
        return sockets;
      }
    }
    host = "0.0.0.0";
  }
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  const Addresses found = LookUp(std::string(host), port);
  if (found == nullptr) error = EADDRNOTAVAIL;
  for (addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    if (!sockets.empty()) SetPort(one->ai_addr, PortOf(sockets[0].get()));
    UniqueFd fd = ListenAt(one->ai_addr, one->ai_addrlen, false, error);
    if (fd.is_open()) sockets.push_back(std::move(fd));
  }
  return sockets;
}

// Number of the socket at `path`; 0: there is none.
ino_t SocketAt(const std::string& path) {
  struct stat found {};
  const bool is_there =
      lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
  return is_there ? found.st_ino : 0;
}

// Whether a process listens at the socket `address`, busy or stopped though it
// may be.
bool IsServed(const sockaddr* address, socklen_t size) {
  const UniqueFd fd(socket(AF_UNIX, kType, 0));
  return fd.is_open() &&
         (connect(fd.get(), address, size) == 0 || errno == EAGAIN);
}

UniqueFd ListenUnix(const std::string& path, int& error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    error = ENAMETOOLONG;
    return UniqueFd();
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (SocketAt(path) != 0) {
    if (IsServed(generic, sizeof address)) {
      error = EADDRINUSE;
      return UniqueFd();
    }
    // What a dead process left.
    unlink(path.c_str());
  }
  return ListenAt(generic, sizeof address, false, error);
}

// What went wrong, and what helps beside another address.
std::string Remedy(int error, bool is_socket) {
  switch (error) {
    case EADDRINUSE:
      return is_socket ? "another process listens there; end it"
                       : "the port is in use; end who has it";
    case EADDRNOTAVAIL:
      return "this machine has no such address";
    case EACCES:
    case EPERM:
      return is_socket ? "its directory may not be written by this user; allow "
                         "it"
                       : "ports below 1024 are not for this user; grant "
                         "CAP_NET_BIND_SERVICE";
    case ENOENT:
    case ENOTDIR:
      return "its directory is not there; make it";
    case ENAMETOOLONG:
      return "the path of a Unix socket has 1 to 107 bytes";
    default:
      return absl::StrCat(std::strerror(error), "; mend that");
  }
}

}  // namespace

absl::StatusOr<Listener> Listener::Open(absl::string_view address,
                                        absl::string_view option) {
  Listener listener;
  absl::string_view path = address;
  const bool is_socket = absl::ConsumePrefix(&path, "unix:");
  int error = EINVAL;
  if (is_socket) {
    UniqueFd fd = ListenUnix(std::string(path), error);
    if (fd.is_open()) {
      listener.sockets_.push_back(std::move(fd));
      listener.path_ = std::string(path);
      listener.inode_ = SocketAt(listener.path_);
    }
  } else if (const size_t colon = address.rfind(':'); colon != address.npos) {
    listener.sockets_ =
        ListenTcp(address.substr(0, colon),
                  std::string(address.substr(colon + 1)), error);
    if (!listener.sockets_.empty()) {
      listener.port_ = PortOf(listener.sockets_[0].get());
    }
  }
  if (listener.sockets_.empty()) {
    return core::MakeError(
        core::Reason::UNAVAILABLE,
        absl::StrCat("listening on ", address, ": ", Remedy(error, is_socket),
                     ", or choose another address with ", option),
        {{"address", std::string(address)}, {"errno", absl::StrCat(error)}});
  }
  return listener;
}

Listener::~Listener() {
  // Moved from, it has no sockets. Another worker's is left alone.
  if (sockets_.empty() || path_.empty()) return;
  if (SocketAt(path_) == inode_) unlink(path_.c_str());
}

UniqueFd Listener::Accept(int socket) {
  return UniqueFd(
      accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace penstock::server
