#include "core/base/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>

namespace penstock::core {

bool IsLoopbackHost(absl::string_view host) {
  if (host == "localhost" || host == "::1" || host == "[::1]") return true;
  in_addr address{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) != 1) {
    return false;
  }
  return ntohl(address.s_addr) >> 24 == 127;
}

}  // namespace penstock::core
