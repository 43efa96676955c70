// A disk that hangs for some files of this process.
#pragma once

#include <absl/strings/string_view.h>

namespace penstock {

// As long as it lives, fdatasync does not return for a file whose path contains
// `part`: what the linker finds in the same source stands before libc's.
// Owner: a test; one at a time. Threads: thread-safe.
class HangingDisk {
 public:
  explicit HangingDisk(absl::string_view part);
  HangingDisk(const HangingDisk&) = delete;
  HangingDisk& operator=(const HangingDisk&) = delete;
  // Lets all of them go.
  ~HangingDisk();

  // Blocks: until a call hangs.
  void AwaitOne();
  // Calls that hang just now.
  int held() const;
};

}  // namespace penstock
