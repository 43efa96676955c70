#include "core/base/filesystem.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint64_t kReadStepBytes = uint64_t{64} << 10;

absl::Status WriteAndSync(FileSystem& fs, absl::string_view path,
                          absl::string_view bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                   fs.OpenForAppend(path, {.create = true}));
  // An attempt that a crash ended may have left something.
  RETURN_IF_ERROR(file->Truncate(0));
  RETURN_IF_ERROR(file->Append(bytes));
  return file->Sync();
}

// Makes the name of a directory durable that somebody made.
absl::Status SyncNameOfExisting(FileSystem& fs, absl::string_view path,
                                const FileStat& stat) {
  if (stat.type != FileType::kDirectory) {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("create directory ", path,
                                  ": there is a file of that name; give "
                                  "another path, or move the file away"),
                     {{"path", std::string(path)}});
  }
  const absl::string_view parent = DirectoryOf(path);
  if (parent == path) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileStat above, fs.Stat(parent));
  if (stat.device != above.device) return absl::OkStatus();
  const absl::Status synced = fs.SyncDirectory(parent);
  if (HasReason(synced, Reason::PERMISSION_DENIED)) return absl::OkStatus();
  return synced;
}

}  // namespace

// Each name is durable before anything is made below it, so of what others
// began only the last may not be.
absl::Status FileSystem::CreateDirectories(absl::string_view path) {
  const absl::string_view parent = DirectoryOf(path);
  absl::StatusOr<FileStat> stat = Stat(path);
  if (HasReason(stat.status(), Reason::NOT_FOUND) && parent != path) {
    RETURN_IF_ERROR(CreateDirectories(parent));
    const absl::Status made = MakeDirectory(path);
    if (made.ok()) return SyncDirectory(parent);
    if (!HasReason(made, Reason::ALREADY_EXISTS)) return made;
    stat = Stat(path);
  }
  RETURN_IF_ERROR(stat.status());
  return SyncNameOfExisting(*this, path, *stat);
}

absl::StatusOr<std::string> FileSystem::ReadFile(absl::string_view path,
                                                 uint64_t bytes_max) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, OpenForRead(path));
  ASSIGN_OR_RETURN(const uint64_t size_hint, file->Size());
  std::string text;
  uint64_t step = std::min(size_hint, bytes_max) + 1;
  while (true) {
    const size_t had = text.size();
    text.resize(had + static_cast<size_t>(step));
    ASSIGN_OR_RETURN(
        const size_t got,
        file->ReadAt(had, std::span<char>(text.data() + had,
                                          static_cast<size_t>(step))));
    text.resize(had + got);
    if (text.size() > bytes_max) {
      return MakeError(
          Reason::RECORD_TOO_LARGE,
          absl::StrCat("read ", path, ": more than ", bytes_max, " bytes"),
          {{"path", std::string(path)}});
    }
    if (got < step) return text;
    step = kReadStepBytes;
  }
}

absl::Status WriteFileDurably(FileSystem& fs, absl::string_view path,
                              absl::string_view bytes) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  absl::Status status = WriteAndSync(fs, temporary, bytes);
  if (status.ok()) status = fs.Rename(temporary, path);
  if (!status.ok()) {
    // It would only take space. That removing it failed tells nothing new.
    fs.Remove(temporary).IgnoreError();
    return WithContext(status, absl::StrCat("while writing ", path));
  }
  RETURN_IF_ERROR(fs.SyncDirectory(DirectoryOf(path)))
  << "while writing " << path;
  return absl::OkStatus();
}

absl::string_view DirectoryOf(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  path = path.substr(0, slash);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path.empty() ? "/" : path;
}

absl::string_view BaseNameOf(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || path == "/") return path;
  return path.substr(slash + 1);
}

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty() || (!name.empty() && name.front() == '/')) {
    return std::string(name);
  }
  if (directory.back() == '/') return absl::StrCat(directory, name);
  return absl::StrCat(directory, "/", name);
}

}  // namespace penstock::core
