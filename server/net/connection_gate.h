// How many clients there are at a port.
// See server/README.md.
#pragma once

#include "core/base/mutex.h"
#include "core/base/rate_limit.h"
#include "core/base/thread.h"
#include "server/net/listener.h"
#include "server/net/refused_client.h"
#include "server/net/unique_fd.h"

#include <absl/base/thread_annotations.h>

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <vector>

namespace penstock::server {

// Accepts connections and gives them to whoever serves them. Above
// `connections_max` one more is told why, and closed: what is there goes on.
//
// The server closes what it was given without a word; so the gate remembers
// which socket each descriptor was, and looks whether it still is.
//
// Owner:     the app. Threads: `take` runs on a thread of its own; counts is
//            thread-safe.
// Lifecycle: accepts until Close, or destruction; what `take` got is its own.
// Bound:     `connections_max`, and kRefusedMax that are just being told.
class ConnectionGate {
 public:
  static constexpr size_t kRefusedMax = 64;

  struct Options {
    size_t connections_max = 1000;
    // They speak HTTP/2 in the clear, so that they can be told anything.
    bool is_plaintext = false;
  };
  using Take = std::function<void(int listening, UniqueFd connection)>;
  struct Counts {
    uint64_t open = 0;
    uint64_t open_max = 0;
    uint64_t refused = 0;
  };

  ConnectionGate(Listener listener, Options options, Take take);
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;
  ~ConnectionGate() { Close(); }

  // Nobody connects any more; those that are there stay, and are counted.
  // Blocks: until `take` returned. Idempotent.
  void Close();

  // Of now. Blocks: for a look at each connection.
  Counts counts() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Given {
    int fd = -1;
    ino_t inode = 0;
  };

  void Run(const std::stop_token& stop);
  void AcceptAll(int socket, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Refuse(UniqueFd connection);
  void ForgetClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // None once it is closed.
  std::optional<Listener> listener_;
  const Options options_;
  const Take take_;
  const UniqueFd wake_;
  core::RateLimit log_;
  // Confined to the thread.
  std::list<RefusedClient> told_;
  bool is_starved_ = false;

  mutable core::Mutex mu_;
  mutable std::vector<Given> given_ ABSL_GUARDED_BY(mu_);
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;

  // Last: it uses all of the above.
  core::Thread thread_;
};

}  // namespace penstock::server
