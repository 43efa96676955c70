#include "client/controller/sqlite_lock_holder.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::client {
namespace {

using core::FileStat;
using core::FileSystem;

// Source: "WAL-mode File Format", https://www.sqlite.org/walformat.html: the
// lock WAL_WRITE_LOCK is this byte of the -shm file.
constexpr uint64_t kWriteLockByte = 120;

bool IsSameFile(const FileStat& a, const FileStat& b) {
  return a.device == b.device && a.inode == b.inode;
}

bool HasOpen(FileSystem& files, uint64_t process, const FileStat& file) {
  const std::string directory = absl::StrCat("/proc/", process, "/fd");
  const auto names = files.List(directory);
  if (!names.ok()) return false;
  for (const std::string& name : *names) {
    const auto opened = files.Stat(absl::StrCat(directory, "/", name));
    if (opened.ok() && IsSameFile(*opened, file)) return true;
  }
  return false;
}

// The process of a line of /proc/locks, if it is a lock on the byte of a file
// with that inode. The line's device is not that of stat on every file system,
// so it is not compared.
// Source: proc(5): "1: POSIX ADVISORY WRITE 1234 fd:00:5678 120 120".
std::optional<uint64_t> ProcessOf(absl::string_view line, uint64_t inode) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (fields.size() != 8 || fields[3] != "WRITE") return std::nullopt;
  const std::vector<absl::string_view> file = absl::StrSplit(fields[5], ':');
  uint64_t process = 0;
  uint64_t locked = 0;
  uint64_t first = 0;
  if (!absl::SimpleAtoi(fields[4], &process) || file.size() != 3 ||
      !absl::SimpleAtoi(file[2], &locked) ||
      !absl::SimpleAtoi(fields[6], &first) || locked != inode ||
      first != kWriteLockByte) {
    return std::nullopt;
  }
  return process;
}

std::optional<uint64_t> FindHolder(FileSystem& files, const std::string& path) {
  const auto shared = files.Stat(absl::StrCat(path, "-shm"));
  const auto locks = files.ReadFile("/proc/locks");
  if (!shared.ok() || !locks.ok()) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(*locks, '\n')) {
    const std::optional<uint64_t> process = ProcessOf(line, shared->inode);
    if (process.has_value() && HasOpen(files, *process, *shared)) {
      return process;
    }
  }
  return std::nullopt;
}

// "1234 (penstock)", and whether a signal has stopped it.
std::string Describe(FileSystem& files, uint64_t process, bool& is_stopped) {
  const std::string directory = absl::StrCat("/proc/", process);
  const auto name = files.ReadFile(absl::StrCat(directory, "/comm"));
  const auto status = files.ReadFile(absl::StrCat(directory, "/status"));
  is_stopped = status.ok() && status->find("\nState:\tT") != std::string::npos;
  return absl::StrCat(
      process, " (",
      name.ok() ? absl::StripAsciiWhitespace(*name) : "its name is unknown",
      ")");
}

}  // namespace

absl::Status NameLockHolder(const std::string& path,
                            const absl::Status& status) {
  if (!core::HasReason(status, core::Reason::UNAVAILABLE)) return status;
  FileSystem& files = core::PosixFileSystem();
  const std::optional<uint64_t> process = FindHolder(files, path);
  if (!process.has_value()) {
    return core::WithContext(
        status, absl::StrCat("another process holds the lock of ", path,
                             " (`fuser ", path,
                             "-shm` names those that use it); if "
                             "it is stopped, wake it or end it"));
  }
  bool is_stopped = false;
  const std::string holder = Describe(files, *process, is_stopped);
  return core::WithContext(
      status, absl::StrCat(
                  "process ", holder, " holds the lock",
                  is_stopped ? " and is stopped: wake it (kill -CONT "
                             : ": let it finish (if it is stopped: kill -CONT ",
                  *process, ") or end it (kill -KILL ", *process,
                  "); what it has not committed then takes no effect"));
}

}  // namespace penstock::client
