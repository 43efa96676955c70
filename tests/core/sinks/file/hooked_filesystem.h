// Calls a hook before every file operation, reading ones too.
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

// One process's view of a file system that others see, too.
// Threads: as the hook. `inner` outlives this; this outlives its files.
class HookedFileSystem final : public FileSystem {
 public:
  // An error fails the operation, which then has no effect.
  using Hook = std::function<absl::Status()>;

  HookedFileSystem(FileSystem& inner, Hook hook)
      : inner_(inner), hook_(std::move(hook)) {}

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

 private:
  class HookedFile;

  FileSystem& inner_;
  const Hook hook_;
};

}  // namespace penstock::core
