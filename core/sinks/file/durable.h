// Appending and syncing such that each error says whether to try again.
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// IO_ERROR: doing `what` to `path` failed with `error`, and whether it had an
// effect is unknown. Never retryable, whatever `error` is.
absl::Status UnknownOutcome(absl::string_view what, absl::string_view path,
                            const absl::Status& error);

// Appends `record` to `file`, which has `size` bytes.
// Errors: STORAGE_FULL: the file has `size` bytes again, and never had the
// whole record, so nobody can have read it; try again. Any other error: a
// reader may find the record, now or later; this file must not be used again.
absl::Status AppendRecord(File& file, absl::string_view path, uint64_t size,
                          absl::string_view record);

// File::Sync and FileSystem::SyncDirectory, with every error turned into
// IO_ERROR: what a failed sync leaves is unknown and a second one proves
// nothing, so neither is tried again. Source: fsync(2), NOTES; and
// https://lwn.net/Articles/752063/
absl::Status SyncFile(File& file, absl::string_view path);
absl::Status SyncNames(FileSystem& files, absl::string_view directory);

}  // namespace penstock::core
