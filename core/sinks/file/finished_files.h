// What becomes of files that will not grow any more: final names, segments,
// copies of what a lower writer left unfinished.
#pragma once

#include "core/base/filesystem.h"
#include "core/sinks/file/committed_data.h"
#include "core/sinks/file/manifest.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// How many files of `state` are in `stage`.
size_t CountData(const CommittedState& state, DataStage stage);

// Gives every kFinished file of `state` its final name, in order, and makes the
// names durable; each is then kPlaced. One that is already there, or was there
// and has been taken away by its reader, counts as done.
// Requires: a commit that nobody can take back says that they are finished.
// Errors: STORAGE_FULL: those before it are placed, try again. ALREADY_EXISTS:
// another file has that name. IO_ERROR and others: which names are durable is
// unknown.
absl::Status PlaceFinished(FileSystem& files, absl::string_view directory,
                           CommittedState& state);

// Moves files that are kPlaced from `state` into segments, `segment_files` into
// each, as long as there are so many. `next_number` counts the segments of
// `header.writer`.
// Ensures: after an error `state` is as true as before; segments it does not
// name serve nobody.
// Errors: STORAGE_FULL: try again. Others: as AppendRecord, SyncFile.
absl::Status SealPlaced(FileSystem& files, absl::string_view directory,
                        const ManifestHeader& header, uint32_t segment_files,
                        uint32_t& next_number, CommittedState& state);

// A lower writer's files will not grow any more: those that keep their names
// become kPlaced. One that is to be renamed, and was not finished, may be
// written by a process that was stopped, so it never becomes visible: a copy of
// what is committed in it takes its place, made durable, kFinished, and in
// `made`, also after an error.
// Bound: memory of one block. Errors: STATE_DAMAGED (a file ends early), those
// of FileSystem, IO_ERROR.
absl::Status FinishLeftovers(FileSystem& files, absl::string_view directory,
                             const ManifestHeader& header,
                             CommittedState& state,
                             std::vector<std::string>& made);

}  // namespace penstock::core
