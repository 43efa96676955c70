#include "core/sinks/file/finished_files.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/committed_state.h"
#include "core/sinks/file/durable.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kCopyBlockBytes = size_t{1} << 20;

std::string FilesDirectoryOf(absl::string_view directory) {
  return JoinPath(directory, kFilesDirectory);
}

// Renames one file, unless it has its final name.
absl::Status PlaceOne(FileSystem& files, absl::string_view directory,
                      const CommittedData& data) {
  const std::string from = WorkPathOf(directory, data);
  const std::string to = FinalPathOf(directory, data);
  // It is gone where it was renamed before a crash, or by another writer, be it
  // in this moment.
  const auto is_gone = [&] {
    return HasReason(files.Stat(from).status(), Reason::NOT_FOUND);
  };
  if (is_gone()) return absl::OkStatus();
  const absl::StatusOr<FileStat> taken = files.Stat(to);
  if (taken.ok()) {
    if (is_gone()) return absl::OkStatus();
    return MakeError(
        Reason::ALREADY_EXISTS,
        absl::StrCat("finishing ", from, ": another file is called ", to,
                     "; move that one away, then reopen the connector"),
        {{"path", to}});
  }
  if (!HasReason(taken.status(), Reason::NOT_FOUND)) return taken.status();
  const absl::Status renamed = files.Rename(from, to);
  if (HasReason(renamed, Reason::NOT_FOUND)) return absl::OkStatus();
  return renamed;
}

// The first `count` that are placed leave `state`.
std::vector<CommittedData> TakePlaced(uint32_t count, CommittedState& state) {
  std::vector<CommittedData> taken;
  std::erase_if(state.data, [&](CommittedData& data) {
    if (taken.size() == count || data.stage != DataStage::kPlaced) return false;
    taken.push_back(data);
    return true;
  });
  return taken;
}

absl::Status MakeSegment(FileSystem& files, absl::string_view directory,
                         const SegmentId& id, const Segment& segment) {
  const std::string path =
      JoinPath(directory, SegmentName(id.writer, id.number));
  const std::string content = EncodeSegment(segment);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<File> file,
      files.OpenForAppend(path, {.create = true, .exclusive = true}));
  const absl::Status appended = AppendRecord(*file, path, 0, content);
  if (!appended.ok()) {
    // Nobody names it, whatever it holds.
    files.Remove(path).IgnoreError();
    return appended;
  }
  RETURN_IF_ERROR(SyncFile(*file, path));
  return SyncNames(files, directory);
}

// Copies the committed bytes of `from` into the new file `to`, durably but for
// its name.
absl::Status CopyCommitted(FileSystem& files, const std::string& from,
                           uint64_t bytes, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> source, files.OpenForRead(from));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<File> copy,
      files.OpenForAppend(to, {.create = true, .exclusive = true}));
  std::string block(kCopyBlockBytes, '\0');
  for (uint64_t at = 0; at < bytes;) {
    const size_t wanted =
        static_cast<size_t>(std::min<uint64_t>(block.size(), bytes - at));
    ASSIGN_OR_RETURN(const size_t got,
                     source->ReadAt(at, std::span(block).subspan(0, wanted)));
    if (got == 0) {
      return DamagedState(from, absl::StrCat("ends at byte ", at, ", though ",
                                             bytes, " are committed"));
    }
    RETURN_IF_ERROR(copy->Append(absl::string_view(block).substr(0, got)));
    at += got;
  }
  return SyncFile(*copy, to);
}

}  // namespace

size_t CountData(const CommittedState& state, DataStage stage) {
  return static_cast<size_t>(std::count_if(
      state.data.begin(), state.data.end(),
      [stage](const CommittedData& data) { return data.stage == stage; }));
}

absl::Status PlaceFinished(FileSystem& files, absl::string_view directory,
                           CommittedState& state) {
  absl::Status result;
  std::vector<CommittedData*> placed;
  for (CommittedData& data : state.data) {
    if (data.stage != DataStage::kFinished) continue;
    result = PlaceOne(files, directory, data);
    if (!result.ok()) break;
    placed.push_back(&data);
  }
  if (!placed.empty()) {
    RETURN_IF_ERROR(SyncNames(files, FilesDirectoryOf(directory)));
    for (CommittedData* data : placed) data->stage = DataStage::kPlaced;
  }
  return result;
}

absl::Status SealPlaced(FileSystem& files, absl::string_view directory,
                        const ManifestHeader& header, uint32_t segment_files,
                        uint32_t& next_number, CommittedState& state) {
  while (CountData(state, DataStage::kPlaced) >= segment_files) {
    CommittedState rest = state;
    const SegmentId id = {.writer = header.writer, .number = next_number++};
    RETURN_IF_ERROR(MakeSegment(files, directory, id,
                                {.header = header,
                                 .previous = rest.sealed,
                                 .data = TakePlaced(segment_files, rest)}));
    rest.sealed = id;
    state = std::move(rest);
  }
  return absl::OkStatus();
}

absl::Status FinishLeftovers(FileSystem& files, absl::string_view directory,
                             const ManifestHeader& header,
                             CommittedState& state,
                             std::vector<std::string>& made) {
  std::vector<CommittedData> copies;
  std::map<ShardIndex, uint32_t> numbers;
  for (CommittedData& data : state.data) {
    if (data.stage != DataStage::kOpen) continue;
    if (data.final_name.empty()) {
      data.stage = DataStage::kPlaced;
      continue;
    }
    // It is renamed, be it that our own files are not.
    CommittedData copy = data;
    copy.writer = header.writer;
    copy.number = numbers[data.shard]++;
    copy.stage = DataStage::kFinished;
    copy.is_copy = true;
    copy.final_name = FinalName(header.format.renames()
                                    ? absl::string_view(header.format.name)
                                    : kDefaultNamePattern,
                                FileOf(copy));
    const std::string to = WorkPathOf(directory, copy);
    made.push_back(to);
    RETURN_IF_ERROR(
        CopyCommitted(files, WorkPathOf(directory, data), data.bytes, to));
    copies.push_back(std::move(copy));
  }
  if (copies.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(SyncNames(files, FilesDirectoryOf(directory)));
  std::erase_if(state.data, [](const CommittedData& data) {
    return data.stage == DataStage::kOpen;
  });
  for (CommittedData& copy : copies) state.data.push_back(std::move(copy));
  return absl::OkStatus();
}

}  // namespace penstock::core
