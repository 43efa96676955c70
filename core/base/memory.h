// How much memory this process has and may have.
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

// The memory limit of this process's control group: the least along the path
// to the root, for version 2 (memory.max) and version 1
// (memory.limit_in_bytes). nullopt: no limit, or no control groups here.
// Source: Linux Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst.
std::optional<uint64_t> CgroupMemoryLimitBytes(FileSystem& fs);

// The machine's memory.
uint64_t PhysicalMemoryBytes();

// Bytes of this process that are in memory now (/proc/self/statm).
absl::StatusOr<uint64_t> ResidentBytes(FileSystem& fs);

// Fits the allocator to blocks and frames of about a megabyte that one thread
// fills and another lets go.
//   One arena for all threads: with an arena for each, what one has free the
//   others cannot use, and a third of the resident memory is such waste. Small
//   allocations stay in the cache of their thread.
//   Up to 32 MiB stay with the process when they are free: otherwise memory is
//   given back and faulted in again with every step.
// Requires: no other thread yet. Effect: glibc only.
void SetUpMalloc();

}  // namespace penstock::core
