// A short-named directory for one process's socket.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::client {

// `<parent>/penstock-XXXXXX`, short because a socket's path has room for 107
// bytes only. While it lives its file `owner` is locked: the lock of a process
// that was killed ends with it, and the next one that is made here removes what
// that left behind. A directory that is locked, another user's, or without
// `owner`, is not touched.
//
// Owner:     a LocalWorker. Threads: confined to its owner's.
// Lifecycle: removed by the destructor, with its socket.
class SocketDirectory {
 public:
  // Blocks: for I/O.
  static absl::StatusOr<std::unique_ptr<SocketDirectory>> Make(
      const std::string& parent);
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;
  ~SocketDirectory();

  std::string socket() const { return path_ + "/worker.sock"; }
  const std::string& path() const { return path_; }

 private:
  SocketDirectory(std::string path, int lock)
      : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  // File descriptor of `owner`, locked.
  const int lock_;
};

}  // namespace penstock::client
