#include "tests/support/socket_bytes.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <array>

namespace penstock::core {

uint32_t BigEndian(absl::string_view bytes, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

bool SendAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Receive(int fd, std::string& to) {
  std::array<char, 65536> block;
  const ssize_t got = ::recv(fd, block.data(), block.size(), 0);
  if (got <= 0) return false;
  to.append(block.data(), static_cast<size_t>(got));
  return true;
}

}  // namespace penstock::core
