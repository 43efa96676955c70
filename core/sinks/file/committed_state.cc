#include "core/sinks/file/committed_state.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

// How often a manifest that looks damaged is read again while it changes: its
// writer may be stopped in the middle of an append, or not be stopped at all.
constexpr int kReadsMax = 8;

absl::StatusOr<Manifest> ReadManifest(FileSystem& files,
                                      const std::string& path,
                                      const Writer& writer) {
  std::string before;
  Manifest manifest;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    ASSIGN_OR_RETURN(std::string bytes,
                     files.ReadFile(path, kManifestReadBytesMax));
    manifest = ParseManifest(bytes, writer);
    if (manifest.outcome == Manifest::Outcome::kComplete) break;
    if (reads > 0 && bytes == before) break;
    before = std::move(bytes);
  }
  return manifest;
}

// Follows a complete manifest to the part in which it goes on; `file` then
// names that part. Whoever lists a directory while its writer makes a new part
// may see the old part go on in one that was not there yet. A part is durable
// before the old one says so: so it is read again, and must be there now.
absl::Status FollowParts(FileSystem& files, absl::string_view directory,
                         SinkFile& file, Manifest& manifest) {
  while (manifest.outcome == Manifest::Outcome::kComplete &&
         manifest.continued_in.has_value()) {
    SinkFile next = file;
    next.number = *manifest.continued_in;
    const std::string path = JoinPath(directory, SinkFileName(next));
    absl::StatusOr<Manifest> read = ReadManifest(files, path, next.writer);
    if (!read.ok() && !HasReason(read.status(), Reason::NOT_FOUND)) {
      return read.status();
    }
    if (!read.ok() || read->outcome != Manifest::Outcome::kComplete ||
        next.number <= file.number) {
      return DamagedState(
          path, absl::StrCat("missing or without a whole state, though ",
                             SinkFileName(file), " goes on there"));
    }
    file = next;
    manifest = *std::move(read);
  }
  return absl::OkStatus();
}

// Data of a writer above `found` (of any writer, if there is none) prove
// that a manifest is missing.
const SinkFile* DataAbove(const std::vector<SinkFile>& listing,
                          const std::optional<FoundState>& found) {
  for (const SinkFile& file : listing) {
    if (file.kind == SinkFileKind::kData &&
        (!found.has_value() || found->header.writer < file.writer)) {
      return &file;
    }
  }
  return nullptr;
}

// The manifests of `listing`, highest first.
std::vector<SinkFile> ManifestsDescending(
    const std::vector<SinkFile>& listing) {
  std::vector<SinkFile> manifests;
  for (const SinkFile& file : listing) {
    if (file.kind == SinkFileKind::kManifest) manifests.push_back(file);
  }
  std::sort(manifests.begin(), manifests.end(),
            [](const SinkFile& a, const SinkFile& b) {
              return std::pair(b.writer, b.number) <
                     std::pair(a.writer, a.number);
            });
  return manifests;
}

}  // namespace

absl::Status DamagedState(absl::string_view path, absl::string_view problem) {
  return MakeError(
      Reason::STATE_DAMAGED,
      absl::StrCat(
          "state of a file sink is damaged: ", path, ": ", problem,
          "; restore the directory from a copy, or start anew: another "
          "connector name, another directory"),
      {{"path", std::string(path)}});
}

absl::StatusOr<std::optional<FoundState>> FindCommittedState(
    FileSystem& files, absl::string_view directory,
    const std::vector<SinkFile>& listing) {
  std::optional<FoundState> found;
  std::string passed_over;
  for (SinkFile file : ManifestsDescending(listing)) {
    const std::string path = JoinPath(directory, SinkFileName(file));
    absl::StatusOr<Manifest> read = ReadManifest(files, path, file.writer);
    // Since the listing its writer took it back: it was never complete.
    if (HasReason(read.status(), Reason::NOT_FOUND)) continue;
    RETURN_IF_ERROR(read.status());
    Manifest manifest = *std::move(read);
    RETURN_IF_ERROR(FollowParts(files, directory, file, manifest));
    switch (manifest.outcome) {
      case Manifest::Outcome::kComplete:
        found = FoundState{.header = std::move(manifest.header),
                           .part = file.number,
                           .state = std::move(manifest.state)};
        break;
      case Manifest::Outcome::kIncomplete:
        absl::StrAppend(&passed_over, " (", SinkFileName(file), ": ",
                        manifest.problem, ")");
        continue;
      case Manifest::Outcome::kDamaged:
        return DamagedState(path, manifest.problem);
      case Manifest::Outcome::kNewerVersion:
        return MakeError(
            Reason::UNSUPPORTED,
            absl::StrCat("reading ", path, ": it has ", manifest.problem,
                         ", this program knows version ", kManifestVersion),
            {{"path", path}});
    }
    break;
  }
  if (const SinkFile* data = DataAbove(listing, found)) {
    return DamagedState(
        JoinPath(directory, ManifestName(data->writer, 0)),
        absl::StrCat("missing or without a whole state", passed_over,
                     ", though ", SinkFileName(*data), " was written"));
  }
  return found;
}

absl::Status CheckCommittedData(FileSystem& files, absl::string_view directory,
                                const CommittedState& state) {
  for (const CommittedData& data : state.data) {
    const bool is_renamed = !data.final_name.empty();
    if (is_renamed && data.stage == DataStage::kPlaced) continue;
    const std::string path = WorkPathOf(directory, data);
    const absl::StatusOr<FileStat> stat = files.Stat(path);
    if (HasReason(stat.status(), Reason::NOT_FOUND)) {
      // Its writer came to rename it.
      if (is_renamed && data.stage == DataStage::kFinished) continue;
      return DamagedState(path, absl::StrCat("missing, though ", data.bytes,
                                             " bytes of it are committed"));
    }
    RETURN_IF_ERROR(stat.status());
    if (stat->size < data.bytes) {
      return DamagedState(
          path, absl::StrCat("has ", stat->size, " bytes, though ", data.bytes,
                             " are committed"));
    }
  }
  if (!state.sealed.has_value()) return absl::OkStatus();
  return ReadSegment(files, directory, *state.sealed).status();
}

absl::StatusOr<Segment> ReadSegment(FileSystem& files,
                                    absl::string_view directory,
                                    const SegmentId& id) {
  const std::string path =
      JoinPath(directory, SegmentName(id.writer, id.number));
  const absl::StatusOr<std::string> bytes =
      files.ReadFile(path, kManifestReadBytesMax);
  if (HasReason(bytes.status(), Reason::NOT_FOUND)) {
    return DamagedState(path,
                        "missing, though finished files are listed in it");
  }
  RETURN_IF_ERROR(bytes.status());
  std::optional<Segment> segment = ParseSegment(*bytes, id.writer);
  if (!segment.has_value()) {
    return DamagedState(path, "is not a whole segment");
  }
  return *std::move(segment);
}

absl::StatusOr<std::optional<ManifestHeader>> ReadHeaderOf(
    FileSystem& files, absl::string_view directory, const SinkFile& file) {
  auto opened = files.OpenForRead(JoinPath(directory, SinkFileName(file)));
  if (HasReason(opened.status(), Reason::NOT_FOUND)) return std::nullopt;
  RETURN_IF_ERROR(opened.status());
  std::string bytes(kHeaderBytesMax, '\0');
  ASSIGN_OR_RETURN(const size_t size, (*opened)->ReadAt(0, std::span(bytes)));
  bytes.resize(size);
  std::optional<ManifestHeader> header = ParseHeader(bytes);
  if (header.has_value() && header->writer != file.writer) header.reset();
  return header;
}

}  // namespace penstock::core
