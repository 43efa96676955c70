// A client of gRPC for which there is no room.
// See server/README.md.
#pragma once

#include "server/net/unique_fd.h"

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <string>

namespace penstock::server {

// Speaks as much HTTP/2 as it takes to answer one call with UNAVAILABLE and the
// reason. Closed before, gRPC's clients would only say "Socket closed".
//
//   settings sent ─its HEADERS─▶ answered, GOAWAY ─it closes─▶ over
//
// Source:  RFC 9113 (frames), RFC 7541 (HPACK, literals only), and gRPC over
//          HTTP/2 (trailers only).
// Owner:   ConnectionGate. Threads: confined to its thread. Blocks: never.
// Bound:   kBytesMax of what the client says, kTimeMax.
class RefusedClient {
 public:
  static constexpr size_t kBytesMax = 64 * 1024;
  static constexpr absl::Duration kTimeMax = absl::Seconds(5);

  RefusedClient(UniqueFd fd, absl::string_view why, absl::Time now);

  int fd() const { return fd_.get(); }
  // Reads what came. False: it is over.
  bool Move(absl::Time now);

 private:
  // Number of the stream of the first call; 0: none came yet.
  uint32_t FindCall() const;
  void Answer(uint32_t stream);
  void Send(absl::string_view frames);

  UniqueFd fd_;
  std::string why_;
  absl::Time since_;
  std::string heard_;
  bool is_answered_ = false;
};

}  // namespace penstock::server
