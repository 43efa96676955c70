#include "server/state_lock.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>

namespace penstock::server {
namespace {

// " (process 123)", as the holder wrote it; only to be shown.
std::string HolderOf(int descriptor) {
  char text[16];
  const ssize_t size = pread(descriptor, text, sizeof text, 0);
  if (size <= 0) return "";
  return absl::StrCat(" (process ",
                      absl::string_view(text, static_cast<size_t>(size)), ")");
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::Take(
    const std::string& directory) {
  RETURN_IF_ERROR(core::PosixFileSystem().CreateDirectories(directory))
  << "making --state-dir";
  const std::string path = core::JoinPath(directory, "lock");
  const int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return core::MakeFileError(errno, "open", path);
  std::unique_ptr<StateLock> lock(new StateLock(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return core::MakeFileError(errno, "lock", path);
    return core::MakeError(
        core::Reason::UNAVAILABLE,
        absl::StrCat("using the state directory ", directory,
                     ": another worker", HolderOf(descriptor),
                     " does; end it, or give this one a --state-dir of its "
                     "own"),
        {{"path", path}});
  }
  const std::string own = absl::StrCat(getpid());
  // Only to be shown: who cannot write it has the lock all the same.
  if (ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, own.data(), own.size(), 0) < 0) {
    return lock;
  }
  return lock;
}

StateLock::~StateLock() { close(descriptor_); }

}  // namespace penstock::server
