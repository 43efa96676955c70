#include "core/base/memory.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <malloc.h>
#include <unistd.h>
#include <algorithm>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

constexpr absl::string_view kMountV2 = "/sys/fs/cgroup";
constexpr absl::string_view kMountV1 = "/sys/fs/cgroup/memory";
// Version 1 says "no limit" by the largest page-aligned int64.
constexpr uint64_t kUnlimitedV1 = uint64_t{1} << 60;
// /proc and /sys files read here are at most a few lines.
constexpr uint64_t kFileBytesMax = uint64_t{64} << 10;
// Free bytes that malloc keeps, and the size from which memory is mapped by
// itself and given back at once.
constexpr int kMallocKeepBytes = 32 << 20;
constexpr int kMallocMapBytes = 4 << 20;

std::optional<uint64_t> ReadNumber(FileSystem& fs, absl::string_view path) {
  const absl::StatusOr<std::string> text = fs.ReadFile(path, kFileBytesMax);
  if (!text.ok()) return std::nullopt;
  uint64_t value = 0;
  // "max" of version 2 is no number, and no limit.
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &value)) {
    return std::nullopt;
  }
  if (value >= kUnlimitedV1) return std::nullopt;
  return value;
}

void TakeLeast(std::optional<uint64_t> value, std::optional<uint64_t>& least) {
  if (!value.has_value()) return;
  least = least.has_value() ? std::min(*least, *value) : *value;
}

// The least limit of `group` and its ancestors below `mount`. In a container
// that sees only its own part of the tree, `group` may not exist there; then
// the part's root, which is the container's group, still counts.
std::optional<uint64_t> LeastLimit(FileSystem& fs, absl::string_view mount,
                                   absl::string_view group,
                                   absl::string_view file) {
  std::optional<uint64_t> least = ReadNumber(fs, JoinPath(mount, file));
  if (absl::StrContains(group, "..")) return least;
  std::string directory(mount);
  for (const absl::string_view part :
       absl::StrSplit(group, '/', absl::SkipEmpty())) {
    absl::StrAppend(&directory, "/", part);
    TakeLeast(ReadNumber(fs, JoinPath(directory, file)), least);
  }
  return least;
}

}  // namespace

std::optional<uint64_t> CgroupMemoryLimitBytes(FileSystem& fs) {
  const absl::StatusOr<std::string> groups =
      fs.ReadFile("/proc/self/cgroup", kFileBytesMax);
  if (!groups.ok()) return std::nullopt;
  std::optional<uint64_t> least;
  for (const absl::string_view line : absl::StrSplit(*groups, '\n')) {
    // hierarchy-id:controllers:path; the path may contain colons.
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      TakeLeast(LeastLimit(fs, kMountV2, fields[2], "memory.max"), least);
      continue;
    }
    for (const absl::string_view name : absl::StrSplit(fields[1], ',')) {
      if (name != "memory") continue;
      TakeLeast(LeastLimit(fs, kMountV1, fields[2], "memory.limit_in_bytes"),
                least);
    }
  }
  return least;
}

uint64_t PhysicalMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

absl::StatusOr<uint64_t> ResidentBytes(FileSystem& fs) {
  ASSIGN_OR_RETURN(const std::string text,
                   fs.ReadFile("/proc/self/statm", kFileBytesMax));
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  uint64_t pages = 0;
  if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &pages)) {
    return MakeError(
        Reason::INTERNAL,
        absl::StrCat("read /proc/self/statm: unexpected text '", text, "'"));
  }
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void SetUpMalloc() {
#ifdef M_ARENA_MAX
  // They fail only for values out of range.
  (void)mallopt(M_ARENA_MAX, 1);
  (void)mallopt(M_TRIM_THRESHOLD, kMallocKeepBytes);
  // Set, because the trim threshold stops it from adapting itself.
  (void)mallopt(M_MMAP_THRESHOLD, kMallocMapBytes);
#endif
}

}  // namespace penstock::core
