#include "core/sinks/file/durable.h"

#include "core/base/error.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {

absl::Status UnknownOutcome(absl::string_view what, absl::string_view path,
                            const absl::Status& error) {
  return MakeError(
      Reason::IO_ERROR,
      absl::StrCat(what, " ", path, ": ", error.message(),
                   "; what is on disk is unknown: reopen the connector"),
      {{"path", std::string(path)}});
}

absl::Status AppendRecord(File& file, absl::string_view path, uint64_t size,
                          absl::string_view record) {
  const absl::Status error = file.Append(record);
  if (error.ok()) return error;
  if (!HasReason(error, Reason::STORAGE_FULL)) {
    return UnknownOutcome("append to", path, error);
  }
  const absl::StatusOr<uint64_t> now = file.Size();
  if (!now.ok() || *now >= size + record.size()) {
    return UnknownOutcome("append to", path, error);
  }
  const absl::Status cut = file.Truncate(size);
  if (!cut.ok()) return UnknownOutcome("cut back", path, cut);
  return error;
}

absl::Status SyncFile(File& file, absl::string_view path) {
  const absl::Status error = file.Sync();
  return error.ok() ? error : UnknownOutcome("sync", path, error);
}

absl::Status SyncNames(FileSystem& files, absl::string_view directory) {
  const absl::Status error = files.SyncDirectory(directory);
  return error.ok() ? error
                    : UnknownOutcome("sync directory", directory, error);
}

}  // namespace penstock::core
