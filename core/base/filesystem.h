// Files, as an interface, so that a test can crash, fill or break the disk.
//
// Errors: each names the operation, the path and the errno text, and has a
// reason (error.h, MakeFileError): NOT_FOUND, ALREADY_EXISTS, STORAGE_FULL,
// PERMISSION_DENIED, otherwise IO_ERROR.
// Durability: data is durable after File::Sync; the *name* of a new, renamed,
// linked or removed file is durable after SyncDirectory of its directory.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

enum class FileType { kRegular, kDirectory, kOther };

struct FileStat {
  uint64_t size = 0;
  // Together they tell one file from another on one host while it exists.
  uint64_t device = 0;
  uint64_t inode = 0;
  absl::Time mtime;
  FileType type = FileType::kRegular;
};

// An open file.
// Owner:     whoever opened it; the destructor closes without syncing.
// Threads:   ReadAt and Stat may run together; other calls are confined to
//            one thread at a time.
// Blocks:    as the disk does.
class File {
 public:
  virtual ~File() = default;

  // Reads bytes from `offset` on, as many as fit and exist.
  // Returns: how many; fewer than `out.size()` only at the end of the file,
  // 0 at or behind it.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                        std::span<char> out) = 0;

  // Adds `bytes` at the file's end: all of them, or an error. After an error a
  // prefix may be there; message and metadata ("written") say how much.
  // Requires: opened by OpenForAppend.
  virtual absl::Status Append(absl::string_view bytes) = 0;

  // Makes data and length durable (fdatasync). After an error nothing is known
  // about data since the last success; a later success does not cover it.
  virtual absl::Status Sync() = 0;

  // Sets the length; new bytes are NUL. Durable after Sync.
  virtual absl::Status Truncate(uint64_t size) = 0;

  virtual absl::StatusOr<uint64_t> Size() = 0;
  // Of the open file, whatever its name is now.
  virtual absl::StatusOr<FileStat> Stat() = 0;

  // A hint that the range will be read soon. Blocks: never for long.
  virtual void AdviseWillNeed(uint64_t /*offset*/, uint64_t /*length*/) {}
  // A hint that the range, appended before, will be synced soon: the disk may
  // begin with it. Proves nothing; a Sync that follows still reports whatever
  // failed. Blocks: while the disk's queue is full.
  virtual void AdviseWillSync(uint64_t /*offset*/, uint64_t /*length*/) {}
};

struct AppendOptions {
  // Make the file if there is none (mode 0644).
  bool create = true;
  // Fail with ALREADY_EXISTS if there is one. Requires: create.
  bool exclusive = false;
};

// Owner:   the application; outlives its users and the files it opened.
// Threads: thread-safe. Blocks: as the disk does.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<File>> OpenForRead(
      absl::string_view path) = 0;
  // For ReadAt as well as Append.
  virtual absl::StatusOr<std::unique_ptr<File>> OpenForAppend(
      absl::string_view path, AppendOptions options) = 0;

  // Follows symbolic links.
  virtual absl::StatusOr<FileStat> Stat(absl::string_view path) = 0;
  // The names in a directory, sorted by bytes, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(
      absl::string_view directory) = 0;

  // Atomic; replaces a file called `to`.
  virtual absl::Status Rename(absl::string_view from, absl::string_view to) = 0;
  // A second name for the same file; ALREADY_EXISTS if `to` exists.
  virtual absl::Status Link(absl::string_view from, absl::string_view to) = 0;
  // Removes a file's name, or an empty directory.
  virtual absl::Status Remove(absl::string_view path) = 0;

  // Makes one directory (mode 0755): NOT_FOUND without its parent,
  // ALREADY_EXISTS if there is anything of that name.
  virtual absl::Status MakeDirectory(absl::string_view path) = 0;
  // Makes the names in `path` durable.
  virtual absl::Status SyncDirectory(absl::string_view path) = 0;

  // The absolute path with symbolic links, "." and ".." resolved. The file
  // must exist.
  virtual absl::StatusOr<std::string> RealPath(absl::string_view path) = 0;

  // Makes a directory and its parents, durably. OK if it exists as a directory;
  // its name is then durable, too, should whoever made it have died before it
  // was (a mount point's, or one in a directory that must not be read, is left
  // to whoever made that).
  absl::Status CreateDirectories(absl::string_view path);

  // The whole file; RECORD_TOO_LARGE if it has more than `bytes_max` bytes.
  // Does not trust Stat, so that it reads files of /proc, too.
  absl::StatusOr<std::string> ReadFile(absl::string_view path,
                                       uint64_t bytes_max = uint64_t{64} << 20);
};

// The machine's files. Lifetime: the process.
FileSystem& PosixFileSystem();

// Makes `path` hold exactly `bytes`, durably and atomically: after a crash at
// any point it holds the old content or the new. Writes "`path`.tmp", syncs,
// renames, syncs the directory. Requires: one writer of `path` at a time.
absl::Status WriteFileDurably(FileSystem& fs, absl::string_view path,
                              absl::string_view bytes);

// The part of `path` before its last slash: "." if it has none, "/" for "/x".
// Trailing slashes are ignored. Lifetime: a view of `path` or static.
absl::string_view DirectoryOf(absl::string_view path);
// The part behind the last slash.
absl::string_view BaseNameOf(absl::string_view path);
// `directory`/`name`, with one slash between; an absolute name stays as it is.
std::string JoinPath(absl::string_view directory, absl::string_view name);

}  // namespace penstock::core
