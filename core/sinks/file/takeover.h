// How a writer takes a directory over from the one before it.
#pragma once

#include "core/base/filesystem.h"
#include "core/contract/output_target.h"
#include "core/sinks/file/manifest.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>

namespace penstock::core {

// OK: no higher writer than `writer` has a claim or manifest in `directory`.
// Errors: WRITER_FENCED naming it; those of List: then nothing is known.
absl::Status CheckFence(FileSystem& files, absl::string_view directory,
                        const Writer& writer);

// OK: `path`, which `writer` has open, is still there with at least `bytes`. To
// write into a file that was removed or cut off meanwhile succeeds, and what
// was written is gone: an output that somebody sweeps away must not look well.
// Errors: WRITER_FENCED, where a higher writer may have removed it; IO_ERROR.
absl::Status CheckThere(FileSystem& files, absl::string_view directory,
                        const Writer& writer, absl::string_view path,
                        uint64_t bytes);

// A new manifest, durable with its name.
struct ManifestPart {
  std::unique_ptr<File> file;
  uint64_t bytes = 0;
};

// Makes part `part` of the manifest of `header.writer`, which holds `state`.
// Errors: STORAGE_FULL: there is no such file any more, and never was a
// complete one. Any other error: if it is there, it may be taken for complete.
absl::StatusOr<ManifestPart> MakeManifestPart(FileSystem& files,
                                              absl::string_view directory,
                                              const ManifestHeader& header,
                                              const CommittedState& state,
                                              uint32_t part);

// What a writer holds when its open succeeded.
struct TakenOver {
  ManifestHeader header;
  // Without open files. What is kFinished is yet to be renamed.
  CommittedState state;
  ManifestPart manifest;
  // Of its segments.
  uint32_t next_segment = 0;
};

struct TakeoverOptions {
  DataFormat format;
  uint32_t segment_files = 0;
};

// Claims `directory` for `open.writer`, then takes over what is committed, and
// makes it durable in a manifest of its own. Writes no other writer's file;
// removes claims and manifests that are superseded.
// Requires: the directory exists.
// Errors: as OutputTarget::Open. Ensures: after an error nothing is left of
// it, unless somebody may have taken its manifest for complete.
absl::StatusOr<TakenOver> TakeOver(FileSystem& files,
                                   absl::string_view directory,
                                   const OutputOpen& open,
                                   const TakeoverOptions& options);

}  // namespace penstock::core
