// The names of a file sink's files. A public format: core/sinks/file/README.md.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/compression.h"
#include "core/contract/output_target.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

enum class SinkFileKind { kClaim, kManifest, kSegment, kData, kCopy };

struct SinkFile {
  SinkFileKind kind = SinkFileKind::kClaim;
  Writer writer;
  // The part of a manifest, the number of a segment or of a data file; 0 for a
  // claim.
  uint32_t number = 0;
  // Of data and copies.
  ShardIndex shard = 0;
  Compression compression = Compression::kNone;

  friend bool operator==(const SinkFile&, const SinkFile&) = default;
};

// "<epoch>-<open number>", 20 digits each, so that names sort as writers do.
std::string WriterName(const Writer& writer);
// The inverse of ParseSinkFile: claim.<writer>, manifest.<writer>.<part>,
// segment.<writer>.<number>, data-<shard>.<writer>[.<number>][.gz|.zst], and
// copy-... for the same.
std::string SinkFileName(const SinkFile& file);
// nullopt: not a name that SinkFileName makes; such files are left alone.
std::optional<SinkFile> ParseSinkFile(absl::string_view name);

std::string ClaimName(const Writer& writer);
std::string ManifestName(const Writer& writer, uint32_t part);
std::string SegmentName(const Writer& writer, uint32_t number);
// Of an uncompressed shard's first file.
std::string DataName(ShardIndex shard, const Writer& writer);
// ".gz", ".zst", or nothing.
absl::string_view ExtensionOf(Compression compression);

// The sub-directory of files whose names say that they are whole and
// committed; in it, those that are not yet have a leading dot.
inline constexpr absl::string_view kFilesDirectory = "files";

// The names of finished files: each of {shard}, {writer} and {number} once,
// and between them letters, digits, '.', '_' and '-'. So no two files of any
// writers bear one name: shard and writer have a fixed width.
inline constexpr absl::string_view kDefaultNamePattern =
    "data-{shard}.{writer}.{number}";
// Errors: INVALID_CONFIG, which says what is wrong and what to do about it.
absl::Status CheckNamePattern(absl::string_view pattern);
// `pattern` for `file`, with its extension. Requires: CheckNamePattern.
std::string FinalName(absl::string_view pattern, const SinkFile& file);

// Every file of a sink in `directory`, or in its files/ with a leading dot
// (none if there is no such directory). Shape: in the order of their names.
// One listing: a file that stood there before the call and still does is in
// it. Errors: as FileSystem::List.
absl::StatusOr<std::vector<SinkFile>> ListSinkFiles(
    FileSystem& files, absl::string_view directory);
absl::StatusOr<std::vector<SinkFile>> ListHiddenFiles(
    FileSystem& files, absl::string_view directory);

// The highest writer that has a claim or a manifest in `directory`; nullopt:
// there is none. As cheap as a listing can be. Errors: as FileSystem::List.
absl::StatusOr<std::optional<Writer>> FindHighestWriter(
    FileSystem& files, absl::string_view directory);

// The highest writer that any of `listing` names. Claims make a writer known;
// its other files do so too, should somebody have removed the claim.
std::optional<Writer> HighestWriter(const std::vector<SinkFile>& listing);

}  // namespace penstock::core
