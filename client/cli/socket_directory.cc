#include "client/cli/socket_directory.h"

#include "core/base/error.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

constexpr char kPrefix[] = "penstock-";

absl::Status Failed(const std::string& path, int error) {
  return core::MakeError(
      core::Reason::UNAVAILABLE,
      absl::StrCat("making a directory for the worker's socket in ", path, ": ",
                   std::strerror(error)));
}

void Remove(const std::string& path) {
  unlink(absl::StrCat(path, "/worker.sock").c_str());
  unlink(absl::StrCat(path, "/owner").c_str());
  rmdir(path.c_str());
}

// Removes `path` if its owner is dead, which nothing but its lock shows: a
// process id may be another's by now.
void RemoveIfDead(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
      found.st_uid != geteuid()) {
    return;
  }
  const int owner = open(absl::StrCat(path, "/owner").c_str(),
                         O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (owner < 0) return;
  if (flock(owner, LOCK_EX | LOCK_NB) == 0) Remove(path);
  close(owner);
}

void RemoveDead(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(parent.c_str()),
                                                      closedir);
  if (directory == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (absl::StartsWith(name, kPrefix)) names.push_back(name);
  }
  for (const std::string& name : names) {
    RemoveIfDead(absl::StrCat(parent, "/", name));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketDirectory>> SocketDirectory::Make(
    const std::string& parent) {
  RemoveDead(parent);
  std::string path = absl::StrCat(parent, "/", kPrefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return Failed(parent, errno);
  // Locked before it has its name: whoever sees `owner` sees it locked.
  const std::string unnamed = absl::StrCat(path, "/new");
  const int lock =
      open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
           S_IRUSR | S_IWUSR);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 ||
      rename(unnamed.c_str(), absl::StrCat(path, "/owner").c_str()) != 0) {
    const int error = errno;
    if (lock >= 0) close(lock);
    unlink(unnamed.c_str());
    rmdir(path.c_str());
    return Failed(path, error);
  }
  return std::unique_ptr<SocketDirectory>(
      new SocketDirectory(std::move(path), lock));
}

SocketDirectory::~SocketDirectory() {
  Remove(path_);
  close(lock_);
}

}  // namespace penstock::client
