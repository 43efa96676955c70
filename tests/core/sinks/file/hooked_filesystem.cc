#include "tests/core/sinks/file/hooked_filesystem.h"

#include "core/base/status_macros.h"

#include <utility>

namespace penstock::core {

class HookedFileSystem::HookedFile final : public File {
 public:
  HookedFile(const Hook& hook, std::unique_ptr<File> inner)
      : hook_(hook), inner_(std::move(inner)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    RETURN_IF_ERROR(hook_());
    return inner_->ReadAt(offset, out);
  }
  absl::Status Append(absl::string_view bytes) override {
    RETURN_IF_ERROR(hook_());
    return inner_->Append(bytes);
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(hook_());
    return inner_->Sync();
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(hook_());
    return inner_->Truncate(size);
  }
  absl::StatusOr<uint64_t> Size() override {
    RETURN_IF_ERROR(hook_());
    return inner_->Size();
  }
  absl::StatusOr<FileStat> Stat() override {
    RETURN_IF_ERROR(hook_());
    return inner_->Stat();
  }

 private:
  const Hook& hook_;
  const std::unique_ptr<File> inner_;
};

absl::StatusOr<std::unique_ptr<File>> HookedFileSystem::OpenForRead(
    absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.OpenForRead(path));
  return std::make_unique<HookedFile>(hook_, std::move(file));
}

absl::StatusOr<std::unique_ptr<File>> HookedFileSystem::OpenForAppend(
    absl::string_view path, AppendOptions options) {
  RETURN_IF_ERROR(hook_());
  ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                   inner_.OpenForAppend(path, options));
  return std::make_unique<HookedFile>(hook_, std::move(file));
}

absl::StatusOr<FileStat> HookedFileSystem::Stat(absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  return inner_.Stat(path);
}

absl::StatusOr<std::vector<std::string>> HookedFileSystem::List(
    absl::string_view directory) {
  RETURN_IF_ERROR(hook_());
  return inner_.List(directory);
}

absl::Status HookedFileSystem::Rename(absl::string_view from,
                                      absl::string_view to) {
  RETURN_IF_ERROR(hook_());
  return inner_.Rename(from, to);
}

absl::Status HookedFileSystem::Link(absl::string_view from,
                                    absl::string_view to) {
  RETURN_IF_ERROR(hook_());
  return inner_.Link(from, to);
}

absl::Status HookedFileSystem::Remove(absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  return inner_.Remove(path);
}

absl::Status HookedFileSystem::MakeDirectory(absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  return inner_.MakeDirectory(path);
}

absl::Status HookedFileSystem::SyncDirectory(absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  return inner_.SyncDirectory(path);
}

absl::StatusOr<std::string> HookedFileSystem::RealPath(absl::string_view path) {
  RETURN_IF_ERROR(hook_());
  return inner_.RealPath(path);
}

}  // namespace penstock::core
