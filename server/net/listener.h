// Sockets that listen at one address.
// See server/README.md.
#pragma once

#include "server/net/unique_fd.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <sys/types.h>
#include <string>
#include <vector>

namespace penstock::server {

// Owner:     who serves the address.
// Threads:   confined to the owner.
// Lifecycle: listens from Open until destruction, which removes a Unix socket.
class Listener {
 public:
  // `host:port`, every address that the host has, port 0 for any; or
  // `unix:/path`, where a socket is replaced that nobody serves any more. All
  // addresses of either kind: `0.0.0.0:port`, `[::]:port`. `option` is what the
  // message tells to change. Blocks: for the look-up of a name. Errors:
  // UNAVAILABLE: why, and what helps.
  static absl::StatusOr<Listener> Open(absl::string_view address,
                                       absl::string_view option);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  ~Listener();

  const std::vector<UniqueFd>& sockets() const { return sockets_; }
  // 0: a Unix socket.
  int port() const { return port_; }

  // One connection that waits at `socket`, not blocking, closed by exec; none:
  // nobody waits, or it went again, or no descriptor is left.
  static UniqueFd Accept(int socket);

 private:
  Listener() = default;

  std::vector<UniqueFd> sockets_;
  int port_ = 0;
  // Of a Unix socket.
  std::string path_;
  ino_t inode_ = 0;
};

}  // namespace penstock::server
