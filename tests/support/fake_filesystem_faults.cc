// Crashes, halts and failures of FakeFileSystem; what is durable.
#include "core/base/check.h"
#include "core/base/error.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_filesystem_inode.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

namespace penstock::core {
namespace {

absl::Status HaltedError(absl::string_view path) {
  return MakeError(Reason::IO_ERROR,
                   absl::StrCat("use ", path, ": the disk has halted"));
}

}  // namespace

FakeFileSystem::Admission FakeFileSystem::Admit(FileOperation op,
                                                const std::string& path) {
  Hook hook;
  {
    MutexLock lock(mu_);
    if (halted_) return {HaltedError(path)};
    ++mutations_;
    hook = hook_;
  }
  if (hook != nullptr) {
    const absl::Status status = hook(op, path);
    if (!status.ok()) return {status};
  }
  MutexLock lock(mu_);
  if (halted_) return {HaltedError(path)};
  if (halt_at_.has_value() && mutations_ >= *halt_at_) {
    halted_ = true;
    halt_at_.reset();
    return {HaltedError(path), halt_effect_ == HaltEffect::kAfter};
  }
  return {TakeFailure(op, path)};
}

absl::Status FakeFileSystem::AdmitReading(FileOperation op,
                                          const std::string& path) {
  if (halted_) return HaltedError(path);
  return TakeFailure(op, path);
}

absl::Status FakeFileSystem::TakeFailure(FileOperation op,
                                         const std::string& path) {
  for (auto it = failures_.begin(); it != failures_.end(); ++it) {
    if (it->op != op || it->bytes.has_value() ||
        !absl::StrContains(path, it->path_part)) {
      continue;
    }
    const absl::Status status = it->status;
    if (--it->times == 0) failures_.erase(it);
    return status;
  }
  return absl::OkStatus();
}

std::optional<uint64_t> FakeFileSystem::TakeShortWrite(
    const std::string& path) {
  for (auto it = failures_.begin(); it != failures_.end(); ++it) {
    if (!it->bytes.has_value() || !absl::StrContains(path, it->path_part)) {
      continue;
    }
    const uint64_t bytes = *it->bytes;
    failures_.erase(it);
    return bytes;
  }
  return std::nullopt;
}

void FakeFileSystem::ChangeNames(NameChange change) {
  for (const auto& [path, inode] : change) {
    if (inode == nullptr) {
      names_.erase(path);
    } else {
      names_[path] = inode;
    }
  }
  pending_names_.push_back(std::move(change));
}

absl::Status FakeFileSystem::SyncDirectoryLocked(const std::string& path) {
  const InodePtr directory = Find(path);
  if (directory == nullptr) return MakeFileError(ENOENT, "open", path);
  if (directory->type != FileType::kDirectory) {
    return MakeFileError(ENOTDIR, "open", path);
  }
  for (NameChange& change : pending_names_) {
    std::erase_if(change, [&](const auto& entry) {
      mu_.AssertHeld();
      if (DirectoryOf(entry.first) != path) return false;
      if (entry.second == nullptr) {
        durable_names_.erase(entry.first);
      } else {
        durable_names_[entry.first] = entry.second;
      }
      return true;
    });
  }
  std::erase_if(pending_names_,
                [](const NameChange& change) { return change.empty(); });
  return absl::OkStatus();
}

void FakeFileSystem::Crash(Unsynced unsynced, Random* random) {
  if (unsynced == Unsynced::kLost) {
    random = nullptr;
  } else {
    CHECK(random != nullptr);
  }
  MutexLock lock(mu_);
  const size_t kept =
      random == nullptr ? 0 : random->Uniform(pending_names_.size() + 1);
  for (size_t i = 0; i < kept; ++i) {
    for (const auto& [path, inode] : pending_names_[i]) {
      if (inode == nullptr) {
        durable_names_.erase(path);
      } else {
        durable_names_[path] = inode;
      }
    }
  }
  pending_names_.clear();
  // What lies below a directory that is lost is lost with it; a directory
  // comes before what lies below it.
  for (auto name = durable_names_.begin(); name != durable_names_.end();) {
    name =
        IsReachable(name->first) ? std::next(name) : durable_names_.erase(name);
  }
  names_ = durable_names_;
  std::set<Inode*> seen;
  for (const auto& [path, inode] : names_) {
    if (seen.insert(inode.get()).second) inode->Crash(random);
  }
  EndProcess();
}

bool FakeFileSystem::IsReachable(const std::string& path) const {
  if (path == "/") return true;
  const std::string parent(DirectoryOf(path));
  return durable_names_.contains(parent) && IsReachable(parent);
}

void FakeFileSystem::KillProcess() {
  MutexLock lock(mu_);
  EndProcess();
}

void FakeFileSystem::EndProcess() {
  ++generation_;
  open_files_ = 0;
  halted_ = false;
  halt_at_.reset();
}

void FakeFileSystem::Halt() {
  MutexLock lock(mu_);
  halted_ = true;
}

void FakeFileSystem::HaltAt(uint64_t n, HaltEffect effect) {
  CHECK_GE(n, 1);
  MutexLock lock(mu_);
  halt_at_ = mutations_ + n;
  halt_effect_ = effect;
}

bool FakeFileSystem::halted() const {
  MutexLock lock(mu_);
  return halted_;
}

uint64_t FakeFileSystem::mutating_operations() const {
  MutexLock lock(mu_);
  return mutations_;
}

void FakeFileSystem::FailNext(FileOperation op, absl::string_view path_part,
                              absl::Status status, int times) {
  CHECK(!status.ok());
  CHECK_GE(times, 1);
  MutexLock lock(mu_);
  failures_.push_back(Failure{.op = op,
                              .path_part = std::string(path_part),
                              .status = std::move(status),
                              .times = times,
                              .bytes = std::nullopt});
}

void FakeFileSystem::ShortenNextAppend(absl::string_view path_part,
                                       uint64_t bytes) {
  MutexLock lock(mu_);
  failures_.push_back(Failure{.op = FileOperation::kAppend,
                              .path_part = std::string(path_part),
                              .status = absl::OkStatus(),
                              .times = 1,
                              .bytes = bytes});
}

void FakeFileSystem::SetCapacity(std::optional<uint64_t> bytes) {
  MutexLock lock(mu_);
  capacity_ = bytes;
}

void FakeFileSystem::SetHook(Hook hook) {
  MutexLock lock(mu_);
  hook_ = std::move(hook);
}

std::optional<std::string> FakeFileSystem::DurableContents(
    absl::string_view path) const {
  MutexLock lock(mu_);
  const auto found = durable_names_.find(JoinPath("/", path));
  if (found == durable_names_.end() || !IsReachable(found->first) ||
      found->second->type != FileType::kRegular) {
    return std::nullopt;
  }
  return found->second->Durable();
}

int FakeFileSystem::open_files() const {
  MutexLock lock(mu_);
  return open_files_;
}

}  // namespace penstock::core
