// Finds out what a directory holds committed. See core/sinks/file/README.md.
#pragma once

#include "core/base/filesystem.h"
#include "core/contract/output_target.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::core {

// STATE_DAMAGED: `problem` of `path`, and what a person can do about it.
absl::Status DamagedState(absl::string_view path, absl::string_view problem);

// The highest complete manifest.
struct FoundState {
  ManifestHeader header;
  uint32_t part = 0;
  CommittedState state;
};

// Reads the highest complete manifest among `listing`; nullopt: there is none,
// and no sign that there ever was one.
//
// Which manifests may be passed over: those of an open that was cut short, for
// nothing was committed under them. A writer makes its first data file, and
// its next part, only when the manifest is durable; so data without their
// manifest, or a part that goes on in another which is not there, are damage.
// Errors: STATE_DAMAGED naming file and offset, UNSUPPORTED (newer format),
// those of FileSystem.
absl::StatusOr<std::optional<FoundState>> FindCommittedState(
    FileSystem& files, absl::string_view directory,
    const std::vector<SinkFile>& listing);

// Checks that every committed byte of `state` is there, and the segment that it
// names: STATE_DAMAGED names the file that is missing or too short. What was
// sealed or renamed is its readers', who may have taken it away.
absl::Status CheckCommittedData(FileSystem& files, absl::string_view directory,
                                const CommittedState& state);

// Errors: STATE_DAMAGED: it is missing or not whole; those of FileSystem.
absl::StatusOr<Segment> ReadSegment(FileSystem& files,
                                    absl::string_view directory,
                                    const SegmentId& id);

// Who made a claim or manifest; nullopt: gone, or a crash cut it short.
absl::StatusOr<std::optional<ManifestHeader>> ReadHeaderOf(
    FileSystem& files, absl::string_view directory, const SinkFile& file);

}  // namespace penstock::core
