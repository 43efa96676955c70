// A FileSystem in memory that can crash, fail and run full.
//
// It knows what is durable and what is not, as LevelDB's fault-injection Env
// does: a file's bytes become durable by File::Sync, a name by SyncDirectory.
// It has no symbolic links and does not rename directories.
#pragma once

#include "core/base/clock.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/base/random.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

enum class FileOperation {
  kOpenForRead,
  kOpenForAppend,  // mutating if it may make the file
  kReadAt,
  kAppend,    // mutating
  kSync,      // mutating
  kTruncate,  // mutating
  kStat,      // of a path or an open file, and Size
  kList,
  kRename,         // mutating
  kLink,           // mutating
  kRemove,         // mutating
  kMakeDirectory,  // mutating
  kSyncDirectory,  // mutating
  kRealPath,
};

// Threads: thread-safe. The hook runs on the calling thread without a lock.
class FakeFileSystem final : public FileSystem {
 public:
  // Called before each mutating operation; an error fails it with no effect.
  // It may call Halt, and anything that reads. `path` is the (first) path.
  using Hook =
      std::function<absl::Status(FileOperation op, absl::string_view path)>;

  // What a crash leaves of writes and names that were not synced.
  enum class Unsynced {
    kLost,
    // Of each file's unsynced appends a random prefix; of the unsynced changes
    // of names, in the order they were made, a random prefix.
    kRandomPrefix,
  };
  // Whether the operation at which the disk halts still takes effect.
  enum class HaltEffect { kBefore, kAfter };

  // mtime comes from a counter, or from `clock`, which outlives this.
  FakeFileSystem();
  explicit FakeFileSystem(const Clock& clock);
  // Requires: files it opened are closed.
  ~FakeFileSystem() override;

  absl::StatusOr<std::unique_ptr<File>> OpenForRead(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<File>> OpenForAppend(
      absl::string_view path, AppendOptions options) override;
  absl::StatusOr<FileStat> Stat(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> List(
      absl::string_view directory) override;
  absl::Status Rename(absl::string_view from, absl::string_view to) override;
  absl::Status Link(absl::string_view from, absl::string_view to) override;
  absl::Status Remove(absl::string_view path) override;
  absl::Status MakeDirectory(absl::string_view path) override;
  absl::Status SyncDirectory(absl::string_view path) override;
  absl::StatusOr<std::string> RealPath(absl::string_view path) override;

  // --- Crashes.
  // The machine loses power and comes back: what is not durable goes as
  // `unsynced` says, open files are dead (every call fails), a halt ends.
  // `random` is needed for kRandomPrefix only.
  void Crash(Unsynced unsynced = Unsynced::kLost, Random* random = nullptr);
  // The process dies and comes back: nothing that was written is lost, open
  // files are dead, a halt ends.
  void KillProcess();
  // From now on every operation fails, as for a process that is dying; until
  // Crash or KillProcess.
  void Halt();
  // Halts at the `n`-th mutating operation from now (1 is the next one), which
  // fails, too, but with kAfter only after it took effect.
  void HaltAt(uint64_t n, HaltEffect effect = HaltEffect::kBefore);
  bool halted() const;
  // Mutating operations tried since construction, while not halted.
  uint64_t mutating_operations() const;

  // --- Failures.
  // The next `times` operations `op` whose path contains `path_part` fail with
  // `status` and have no effect. A failed Sync loses, at the next crash, what
  // it was to make durable, even if a later Sync succeeds (NUL bytes stay).
  void FailNext(FileOperation op, absl::string_view path_part,
                absl::Status status, int times = 1);
  // The next Append whose path contains `path_part` writes at most `bytes`,
  // then fails with STORAGE_FULL.
  void ShortenNextAppend(absl::string_view path_part, uint64_t bytes);
  // Appends beyond this many bytes in all files together write what fits, then
  // fail with STORAGE_FULL; nullopt: no limit.
  void SetCapacity(std::optional<uint64_t> bytes);
  void SetHook(Hook hook);

  // --- For tests, past hook and failures.
  // Makes `path` hold `bytes`, with its directories, all of it durable. For a
  // file that exists it changes the bytes under those who have it open.
  void Put(absl::string_view path, absl::string_view bytes);
  // Removes the file; the next one that is made has its number
  // (FileStat::inode), as disks give it again. Requires: nobody has it open.
  void RemoveForReuse(absl::string_view path);
  // What is in the file now; nullopt: no such file.
  std::optional<std::string> Contents(absl::string_view path) const;
  // What a Crash() now would leave of it.
  std::optional<std::string> DurableContents(absl::string_view path) const;
  // Every file, by path, sorted.
  std::vector<std::string> Files() const;
  // Handles that are open and alive.
  int open_files() const;

 private:
  class Handle;
  struct Inode;
  using InodePtr = std::shared_ptr<Inode>;
  // By absolute path. Directories are names, too.
  using Names = std::map<std::string, InodePtr>;
  // Names that change together, in one atomic operation; null: removed.
  using NameChange = std::vector<std::pair<std::string, InodePtr>>;

  // One planned failure. With `bytes`, an append that writes only so many.
  struct Failure {
    FileOperation op;
    std::string path_part;
    absl::Status status;
    int times;
    std::optional<uint64_t> bytes;
  };

  // What hook, halt and failures say about a mutating operation.
  struct Admission {
    absl::Status status;
    // The operation takes effect, then fails with `status`.
    bool effect_despite_error = false;
    bool takes_effect() const { return status.ok() || effect_despite_error; }
  };
  Admission Admit(FileOperation op, const std::string& path)
      ABSL_LOCKS_EXCLUDED(mu_);
  // As Admit, then runs `apply` if it may take effect.
  template <typename Apply>
  absl::Status Mutate(FileOperation op, const std::string& path, Apply apply)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status AdmitReading(FileOperation op, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeFailure(FileOperation op, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<uint64_t> TakeShortWrite(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  InodePtr Find(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckParent(absl::string_view operation,
                           const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  InodePtr NewInode(FileType type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ChangeNames(NameChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time NextTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t BytesUsed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<File> MakeHandle(const std::string& path, InodePtr inode,
                                   bool writable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AppendTo(Inode& inode, const std::string& path,
                        absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<InodePtr> OpenOrMake(const std::string& path,
                                      AppendOptions options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RenameLocked(const std::string& from, const std::string& to)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LinkLocked(const std::string& from, const std::string& to)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RemoveLocked(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeDurableDirectories(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SyncDirectoryLocked(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether every directory above `path` has a durable name.
  bool IsReachable(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndProcess() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_ = nullptr;

  mutable Mutex mu_;
  Names names_ ABSL_GUARDED_BY(mu_);
  Names durable_names_ ABSL_GUARDED_BY(mu_);
  // Changes in names_ that durable_names_ lacks, oldest first.
  std::vector<NameChange> pending_names_ ABSL_GUARDED_BY(mu_);
  std::list<Failure> failures_ ABSL_GUARDED_BY(mu_);
  Hook hook_ ABSL_GUARDED_BY(mu_);
  std::optional<uint64_t> capacity_ ABSL_GUARDED_BY(mu_);
  // The value of mutations_ at which to halt.
  std::optional<uint64_t> halt_at_ ABSL_GUARDED_BY(mu_);
  HaltEffect halt_effect_ ABSL_GUARDED_BY(mu_) = HaltEffect::kBefore;
  bool halted_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t mutations_ ABSL_GUARDED_BY(mu_) = 0;
  // Handles of an older generation are dead.
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_inode_ ABSL_GUARDED_BY(mu_) = 1;
  std::optional<uint64_t> free_inode_ ABSL_GUARDED_BY(mu_);
  int64_t ticks_ ABSL_GUARDED_BY(mu_) = 0;
  int open_files_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace penstock::core
