// Bytes of a socket, for what stands between a client and its server.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::core {

// The number that the first `count` bytes are, the most significant first.
// Requires: at most four, and as many are there.
uint32_t BigEndian(absl::string_view bytes, size_t count = 4);
// False: the peer is gone.
bool SendAll(int fd, absl::string_view bytes);
// Appends what is there. False: the peer is gone.
bool Receive(int fd, std::string& to);

}  // namespace penstock::core
