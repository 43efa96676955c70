// The worker's durable memory of who commands each pipeline (rule 1).
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace penstock::server {

struct FenceRecord {
  uint64_t epoch = 0;
  std::string nonce;
  std::string controller_id;
  // When its last connector went, in seconds since the Unix epoch; 0 while
  // connectors are open. A record is dropped a grace time afterwards.
  int64_t idle_since_s = 0;
  friend bool operator==(const FenceRecord&, const FenceRecord&) = default;
};

// One file for all pipelines, written, synced, renamed, directory synced, with
// a checksum and the previous generation, beside an identity file that is
// written once: the file missing or damaged beside the identity file is damage,
// never a first run.
//
// Owner:   the dispatcher. Threads: confined to one caller at a time.
// Blocks:  for I/O.
class FenceStore {
 public:
  virtual ~FenceStore() = default;
  // All records. Errors: STATE_DAMAGED (neither generation is readable).
  virtual absl::StatusOr<std::map<std::string, FenceRecord>> Load() = 0;
  // Replaces everything, durably.
  virtual absl::Status Save(
      const std::map<std::string, FenceRecord>& records) = 0;
};

// In `directory` of `files`: `identity`, `fence`, `fence.previous`.
std::unique_ptr<FenceStore> MakeFileFenceStore(core::FileSystem& files,
                                               std::string directory);

}  // namespace penstock::server
