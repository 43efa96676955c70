// What comes through a descriptor once, as through a pipe.
#pragma once

#include "core/base/descriptor_watcher.h"
#include "core/base/mutex.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <optional>
#include <span>

namespace penstock::core {

// Bytes that nobody can read twice, for one reader.
//
// Owner:     the application; outlives its reader.
// Threads:   thread-safe; Read is confined to the reader, one call at a time.
// Lifecycle: Claim, Read..., Release. Once something was read nobody else gets
//            it: what is missing then would be missing silently.
class PipedInput {
 public:
  // `fd` stays open, and is the caller's; it may block. The watcher outlives
  // this.
  PipedInput(int fd, DescriptorWatcher& watcher);
  ~PipedInput() { watcher_.Forget(fd_); }
  PipedInput(const PipedInput&) = delete;
  PipedInput& operator=(const PipedInput&) = delete;

  // Errors: POSITION_EXPIRED if something was read of it; INVALID_CONFIG if
  // another has it, or it is a terminal.
  absl::Status Claim() ABSL_LOCKS_EXCLUDED(mu_);
  void Release() ABSL_LOCKS_EXCLUDED(mu_);

  // Requires: claimed. Blocks: never, as long as nobody outside reads it, too.
  // Returns: how many bytes; 0 at its end; nullopt if there is nothing now.
  // Errors: IO_ERROR.
  absl::StatusOr<std::optional<size_t>> Read(std::span<char> out)
      ABSL_LOCKS_EXCLUDED(mu_);
  // How many bytes a Read would find, where that can be known.
  size_t Available() const;
  // Calls once, on the watcher's thread, when Read would find something.
  void WhenReadable(DescriptorWatcher::Callback callback) {
    watcher_.WatchOnce(fd_, std::move(callback));
  }

 private:
  const int fd_;
  DescriptorWatcher& watcher_;
  Mutex mu_;
  bool is_claimed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_begun_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::core
