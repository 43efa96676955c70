// The names of a file sink's files: claim.<writer>, manifest.<writer>.<part>
// and data-<shard>.<writer>. A public format: core/sinks/file/README.md.
#pragma once

#include "core/base/filesystem.h"
#include "core/contract/output_target.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

enum class SinkFileKind { kClaim, kManifest, kData };

struct SinkFile {
  SinkFileKind kind = SinkFileKind::kClaim;
  Writer writer;
  // The part of a manifest, the shard of data; 0 for a claim.
  uint32_t number = 0;

  friend bool operator==(const SinkFile&, const SinkFile&) = default;
};

// "<epoch>-<open number>", 20 digits each, so that names sort as writers do.
std::string WriterName(const Writer& writer);
// The inverse of ParseSinkFile.
std::string SinkFileName(const SinkFile& file);
// nullopt: not a name that SinkFileName makes; such files are left alone.
std::optional<SinkFile> ParseSinkFile(absl::string_view name);

std::string ClaimName(const Writer& writer);
std::string ManifestName(const Writer& writer, uint32_t part);
std::string DataName(ShardIndex shard, const Writer& writer);

// Every file of a sink in `directory`. Shape: in the order of their names.
// One listing: a file that stood there before the call and still does is in
// it. Errors: as FileSystem::List.
absl::StatusOr<std::vector<SinkFile>> ListSinkFiles(
    FileSystem& files, absl::string_view directory);

// The highest writer that has a claim or a manifest in `directory`; nullopt:
// there is none. As cheap as a listing can be. Errors: as FileSystem::List.
absl::StatusOr<std::optional<Writer>> FindHighestWriter(
    FileSystem& files, absl::string_view directory);

// The highest writer that any of `listing` names. Claims make a writer known;
// its other files do so too, should somebody have removed the claim.
std::optional<Writer> HighestWriter(const std::vector<SinkFile>& listing);

}  // namespace penstock::core
