// One worker for each state directory.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace penstock::server {

// Held while a worker uses its state directory: two that write one fence would
// each forget what the other promised (INV-7). It is the kernel's (flock), so
// that it ends with the process, however that ends.
//
// Owner:     the app. Threads: confined to its thread.
// Lifecycle: held from Take to destruction.
class StateLock {
 public:
  // Makes `directory` if it is missing. Blocks: for I/O, never for the holder.
  // Errors: UNAVAILABLE: another worker has it, with its process id.
  static absl::StatusOr<std::unique_ptr<StateLock>> Take(
      const std::string& directory);
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  explicit StateLock(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

}  // namespace penstock::server
