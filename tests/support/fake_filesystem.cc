// The operations; crashes and failures are in fake_filesystem_faults.cc.
#include "tests/support/fake_filesystem.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_filesystem_inode.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace penstock::core {
namespace {

// Absolute, without "." and "..", double and trailing slashes.
std::string Normalize(absl::string_view path) {
  std::vector<absl::string_view> parts;
  for (const absl::string_view part :
       absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string result;
  for (const absl::string_view part : parts) {
    absl::StrAppend(&result, "/", part);
  }
  return result.empty() ? "/" : result;
}

}  // namespace

// An open file.
// Threads: thread-safe through the file system's lock.
class FakeFileSystem::Handle final : public File {
 public:
  struct Options {
    std::string path;
    InodePtr inode;
    uint64_t generation;
    bool writable;
  };
  Handle(FakeFileSystem& fs, Options options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(fs.mu_)
      : fs_(fs), options_(std::move(options)) {
    ++options_.inode->handles;
  }

  ~Handle() override {
    MutexLock lock(fs_.mu_);
    --options_.inode->handles;
    if (options_.generation == fs_.generation_) --fs_.open_files_;
  }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    MutexLock lock(fs_.mu_);
    RETURN_IF_ERROR(CheckAlive());
    RETURN_IF_ERROR(fs_.AdmitReading(FileOperation::kReadAt, options_.path));
    const std::string& data = options_.inode->data;
    if (offset >= data.size() || out.empty()) return 0;
    const size_t size =
        std::min(out.size(), data.size() - static_cast<size_t>(offset));
    std::memcpy(out.data(), data.data() + offset, size);
    return size;
  }

  absl::Status Append(absl::string_view bytes) override {
    return Change(FileOperation::kAppend, [this, bytes] {
      fs_.mu_.AssertHeld();
      return fs_.AppendTo(*options_.inode, options_.path, bytes);
    });
  }

  absl::Status Sync() override {
    bool synced = false;
    const absl::Status status = Change(FileOperation::kSync, [&] {
      options_.inode->Sync();
      synced = true;
      return absl::OkStatus();
    });
    MutexLock lock(fs_.mu_);
    // A disk that halts fails nothing: it just stops.
    if (!synced && !fs_.halted_ && CheckAlive().ok()) {
      options_.inode->FailSync();
    }
    return status;
  }

  absl::Status Truncate(uint64_t size) override {
    return Change(FileOperation::kTruncate, [this, size] {
      fs_.mu_.AssertHeld();
      options_.inode->Truncate(size);
      options_.inode->mtime = fs_.NextTime();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<uint64_t> Size() override {
    ASSIGN_OR_RETURN(const FileStat stat, Stat());
    return stat.size;
  }

  absl::StatusOr<FileStat> Stat() override {
    MutexLock lock(fs_.mu_);
    RETURN_IF_ERROR(CheckAlive());
    RETURN_IF_ERROR(fs_.AdmitReading(FileOperation::kStat, options_.path));
    return StatOf(*options_.inode);
  }

  static FileStat StatOf(const Inode& inode) {
    FileStat stat;
    stat.size = inode.data.size();
    stat.device = 1;
    stat.inode = inode.number;
    stat.mtime = inode.mtime;
    stat.type = inode.type;
    return stat;
  }

 private:
  absl::Status CheckAlive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(fs_.mu_) {
    if (options_.generation == fs_.generation_) return absl::OkStatus();
    return MakeError(
        Reason::IO_ERROR,
        absl::StrCat("use ", options_.path, ": opened before the crash"));
  }

  template <typename Apply>
  absl::Status Change(FileOperation op, Apply apply) {
    {
      MutexLock lock(fs_.mu_);
      RETURN_IF_ERROR(CheckAlive());
      if (!options_.writable && op != FileOperation::kSync) {
        return MakeFileError(EBADF, "change", options_.path);
      }
    }
    return fs_.Mutate(op, options_.path, [this, &apply]() -> absl::Status {
      fs_.mu_.AssertHeld();
      RETURN_IF_ERROR(CheckAlive());
      return apply();
    });
  }

  FakeFileSystem& fs_;
  const Options options_;
};

FakeFileSystem::FakeFileSystem() {
  names_["/"] = NewInode(FileType::kDirectory);
  durable_names_ = names_;
}

FakeFileSystem::FakeFileSystem(const Clock& clock) : clock_(&clock) {
  names_["/"] = NewInode(FileType::kDirectory);
  durable_names_ = names_;
}

FakeFileSystem::~FakeFileSystem() = default;

template <typename Apply>
absl::Status FakeFileSystem::Mutate(FileOperation op, const std::string& path,
                                    Apply apply) {
  const Admission admission = Admit(op, path);
  if (!admission.takes_effect()) return admission.status;
  MutexLock lock(mu_);
  const absl::Status result = apply();
  return admission.status.ok() ? result : admission.status;
}

absl::StatusOr<std::unique_ptr<File>> FakeFileSystem::OpenForRead(
    absl::string_view path) {
  const std::string name = Normalize(path);
  MutexLock lock(mu_);
  RETURN_IF_ERROR(AdmitReading(FileOperation::kOpenForRead, name));
  InodePtr inode = Find(name);
  if (inode == nullptr) return MakeFileError(ENOENT, "open", name);
  if (inode->type != FileType::kRegular) {
    return MakeFileError(EISDIR, "open", name);
  }
  return MakeHandle(name, std::move(inode), /*writable=*/false);
}

absl::StatusOr<std::unique_ptr<File>> FakeFileSystem::OpenForAppend(
    absl::string_view path, AppendOptions options) {
  const std::string name = Normalize(path);
  if (!options.create) {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(AdmitReading(FileOperation::kOpenForAppend, name));
    ASSIGN_OR_RETURN(InodePtr inode, OpenOrMake(name, options));
    return MakeHandle(name, std::move(inode), /*writable=*/true);
  }
  std::unique_ptr<File> file;
  RETURN_IF_ERROR(
      Mutate(FileOperation::kOpenForAppend, name, [&]() -> absl::Status {
        mu_.AssertHeld();
        ASSIGN_OR_RETURN(InodePtr inode, OpenOrMake(name, options));
        file = MakeHandle(name, std::move(inode), /*writable=*/true);
        return absl::OkStatus();
      }));
  return file;
}

absl::StatusOr<FakeFileSystem::InodePtr> FakeFileSystem::OpenOrMake(
    const std::string& path, AppendOptions options) {
  InodePtr inode = Find(path);
  if (inode != nullptr) {
    if (options.exclusive) return MakeFileError(EEXIST, "open", path);
    if (inode->type != FileType::kRegular) {
      return MakeFileError(EISDIR, "open", path);
    }
    return inode;
  }
  if (!options.create) return MakeFileError(ENOENT, "open", path);
  RETURN_IF_ERROR(CheckParent("open", path));
  inode = NewInode(FileType::kRegular);
  ChangeNames({{path, inode}});
  return inode;
}

absl::StatusOr<FileStat> FakeFileSystem::Stat(absl::string_view path) {
  const std::string name = Normalize(path);
  MutexLock lock(mu_);
  RETURN_IF_ERROR(AdmitReading(FileOperation::kStat, name));
  const InodePtr inode = Find(name);
  if (inode == nullptr) return MakeFileError(ENOENT, "stat", name);
  return Handle::StatOf(*inode);
}

absl::StatusOr<std::vector<std::string>> FakeFileSystem::List(
    absl::string_view directory) {
  const std::string name = Normalize(directory);
  MutexLock lock(mu_);
  RETURN_IF_ERROR(AdmitReading(FileOperation::kList, name));
  const InodePtr inode = Find(name);
  if (inode == nullptr) return MakeFileError(ENOENT, "list", name);
  if (inode->type != FileType::kDirectory) {
    return MakeFileError(ENOTDIR, "list", name);
  }
  std::vector<std::string> result;
  for (const auto& [path, unused] : names_) {
    if (path != "/" && DirectoryOf(path) == name) {
      result.emplace_back(BaseNameOf(path));
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

absl::Status FakeFileSystem::Rename(absl::string_view from,
                                    absl::string_view to) {
  const std::string from_name = Normalize(from);
  const std::string to_name = Normalize(to);
  return Mutate(FileOperation::kRename, from_name, [&] {
    mu_.AssertHeld();
    return RenameLocked(from_name, to_name);
  });
}

absl::Status FakeFileSystem::RenameLocked(const std::string& from,
                                          const std::string& to) {
  const InodePtr inode = Find(from);
  if (inode == nullptr) return MakeFileError(ENOENT, "rename", from);
  RETURN_IF_ERROR(CheckParent("rename", to));
  if (inode->type == FileType::kDirectory) {
    return MakeError(Reason::UNSUPPORTED,
                     absl::StrCat("rename ", from, ": is a directory"));
  }
  const InodePtr replaced = Find(to);
  if (replaced != nullptr && replaced->type == FileType::kDirectory) {
    return MakeFileError(EISDIR, "rename", from);
  }
  // POSIX: two names of one file stay both.
  if (replaced == inode) return absl::OkStatus();
  ChangeNames({{from, nullptr}, {to, inode}});
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Link(absl::string_view from,
                                  absl::string_view to) {
  const std::string from_name = Normalize(from);
  const std::string to_name = Normalize(to);
  return Mutate(FileOperation::kLink, from_name, [&] {
    mu_.AssertHeld();
    return LinkLocked(from_name, to_name);
  });
}

absl::Status FakeFileSystem::LinkLocked(const std::string& from,
                                        const std::string& to) {
  const InodePtr inode = Find(from);
  if (inode == nullptr) return MakeFileError(ENOENT, "link", from);
  if (inode->type == FileType::kDirectory) {
    return MakeFileError(EPERM, "link", from);
  }
  RETURN_IF_ERROR(CheckParent("link", to));
  if (Find(to) != nullptr) return MakeFileError(EEXIST, "link", from);
  ChangeNames({{to, inode}});
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Remove(absl::string_view path) {
  const std::string name = Normalize(path);
  return Mutate(FileOperation::kRemove, name, [&] {
    mu_.AssertHeld();
    return RemoveLocked(name);
  });
}

absl::Status FakeFileSystem::RemoveLocked(const std::string& path) {
  if (Find(path) == nullptr) return MakeFileError(ENOENT, "remove", path);
  for (const auto& [other, unused] : names_) {
    if (other != "/" && DirectoryOf(other) == path) {
      return MakeFileError(ENOTEMPTY, "remove", path);
    }
  }
  ChangeNames({{path, nullptr}});
  return absl::OkStatus();
}

absl::Status FakeFileSystem::MakeDirectory(absl::string_view path) {
  const std::string name = Normalize(path);
  return Mutate(FileOperation::kMakeDirectory, name, [&]() -> absl::Status {
    mu_.AssertHeld();
    if (Find(name) != nullptr) {
      return MakeFileError(EEXIST, "create directory", name);
    }
    RETURN_IF_ERROR(CheckParent("create directory", name));
    ChangeNames({{name, NewInode(FileType::kDirectory)}});
    return absl::OkStatus();
  });
}

void FakeFileSystem::MakeDurableDirectories(const std::string& path) {
  if (path != "/") MakeDurableDirectories(std::string(DirectoryOf(path)));
  if (Find(path) == nullptr) names_[path] = NewInode(FileType::kDirectory);
  durable_names_[path] = Find(path);
}

absl::Status FakeFileSystem::SyncDirectory(absl::string_view path) {
  const std::string name = Normalize(path);
  return Mutate(FileOperation::kSyncDirectory, name, [&] {
    mu_.AssertHeld();
    return SyncDirectoryLocked(name);
  });
}

absl::StatusOr<std::string> FakeFileSystem::RealPath(absl::string_view path) {
  std::string name = Normalize(path);
  MutexLock lock(mu_);
  RETURN_IF_ERROR(AdmitReading(FileOperation::kRealPath, name));
  if (Find(name) == nullptr) return MakeFileError(ENOENT, "resolve", name);
  return name;
}

FakeFileSystem::InodePtr FakeFileSystem::Find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

absl::Status FakeFileSystem::CheckParent(absl::string_view operation,
                                         const std::string& path) const {
  const InodePtr parent = Find(std::string(DirectoryOf(path)));
  if (parent == nullptr) return MakeFileError(ENOENT, operation, path);
  if (parent->type != FileType::kDirectory) {
    return MakeFileError(ENOTDIR, operation, path);
  }
  return absl::OkStatus();
}

FakeFileSystem::InodePtr FakeFileSystem::NewInode(FileType type) {
  auto inode = std::make_shared<Inode>();
  inode->number = free_inode_.has_value() ? *free_inode_ : next_inode_++;
  free_inode_.reset();
  inode->type = type;
  inode->mtime = NextTime();
  return inode;
}

absl::Time FakeFileSystem::NextTime() {
  if (clock_ != nullptr) return clock_->Now();
  return absl::FromUnixSeconds(FakeClock::kStartUnixSeconds + ++ticks_);
}

uint64_t FakeFileSystem::BytesUsed() const {
  std::set<const Inode*> seen;
  uint64_t bytes = 0;
  for (const auto& [path, inode] : names_) {
    if (seen.insert(inode.get()).second) bytes += inode->data.size();
  }
  return bytes;
}

std::unique_ptr<File> FakeFileSystem::MakeHandle(const std::string& path,
                                                 InodePtr inode,
                                                 bool writable) {
  ++open_files_;
  return std::make_unique<Handle>(*this,
                                  Handle::Options{.path = path,
                                                  .inode = std::move(inode),
                                                  .generation = generation_,
                                                  .writable = writable});
}

absl::Status FakeFileSystem::AppendTo(Inode& inode, const std::string& path,
                                      absl::string_view bytes) {
  uint64_t room = bytes.size();
  bool cut_short = false;
  if (const std::optional<uint64_t> limit = TakeShortWrite(path)) {
    room = std::min(room, *limit);
    cut_short = true;
  }
  if (capacity_.has_value()) {
    const uint64_t used = BytesUsed();
    room = std::min(room, *capacity_ - std::min(used, *capacity_));
  }
  inode.data.append(bytes.data(), static_cast<size_t>(room));
  inode.mtime = NextTime();
  if (!cut_short && room == bytes.size()) return absl::OkStatus();
  return MakeAppendError(ENOSPC, path, room, bytes.size());
}

void FakeFileSystem::Put(absl::string_view path, absl::string_view bytes) {
  const std::string name = Normalize(path);
  MutexLock lock(mu_);
  MakeDurableDirectories(std::string(DirectoryOf(name)));
  InodePtr inode = Find(name);
  if (inode == nullptr) {
    inode = NewInode(FileType::kRegular);
    names_[name] = inode;
  }
  durable_names_[name] = inode;
  inode->data = std::string(bytes);
  inode->mtime = NextTime();
  inode->lost.clear();
  inode->Sync();
}

void FakeFileSystem::RemoveForReuse(absl::string_view path) {
  const std::string name = Normalize(path);
  MutexLock lock(mu_);
  const InodePtr inode = Find(name);
  CHECK(inode != nullptr && inode->handles == 0) << name;
  free_inode_ = inode->number;
  ChangeNames({{name, nullptr}});
}

std::optional<std::string> FakeFileSystem::Contents(
    absl::string_view path) const {
  MutexLock lock(mu_);
  const InodePtr inode = Find(Normalize(path));
  if (inode == nullptr || inode->type != FileType::kRegular) {
    return std::nullopt;
  }
  return inode->data;
}

std::vector<std::string> FakeFileSystem::Files() const {
  MutexLock lock(mu_);
  std::vector<std::string> result;
  for (const auto& [path, inode] : names_) {
    if (inode->type == FileType::kRegular) result.push_back(path);
  }
  return result;
}

}  // namespace penstock::core
