#include "core/sinks/file/file_sink_reader.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/committed_state.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <span>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
// Each time over, a writer has opened in between.
constexpr int kLooksMax = 64;

}  // namespace

FileSinkLines::FileSinkLines(FileSystem& files, std::vector<Part> parts,
                             size_t line_bytes_max)
    : files_(files),
      parts_(std::move(parts)),
      line_bytes_max_(line_bytes_max) {}

absl::StatusOr<bool> FileSinkLines::Next(absl::string_view& line) {
  size_t searched = consumed_;
  while (true) {
    const size_t newline = block_.find('\n', searched);
    if (newline != std::string::npos) {
      line = absl::string_view(block_).substr(consumed_, newline - consumed_);
      MarkLine();
      line_start_ += line.size() + 1;
      consumed_ = newline + 1;
      return true;
    }
    const size_t pending = block_.size() - consumed_;
    if (pending > line_bytes_max_) {
      MarkLine();
      return MakeError(
          Reason::RECORD_TOO_LARGE,
          absl::StrCat("a line of more than ", line_bytes_max_,
                       " bytes at byte ", line_offset_, " of ", line_path_));
    }
    ASSIGN_OR_RETURN(const bool more, Fill());
    searched = consumed_ + pending;
    if (more) continue;
    if (pending == 0) return false;
    line = absl::string_view(block_).substr(consumed_);
    MarkLine();
    consumed_ = block_.size();
    return true;
  }
}

void FileSinkLines::MarkLine() {
  // A line may begin exactly where a part ends: then it is the next one's.
  while (line_start_ >= parts_[line_part_].bytes) {
    line_start_ -= parts_[line_part_].bytes;
    ++line_part_;
  }
  line_path_ = parts_[line_part_].path;
  line_offset_ = line_start_;
}

absl::StatusOr<bool> FileSinkLines::Fill() {
  block_.erase(0, consumed_);
  consumed_ = 0;
  while (part_ < parts_.size() && part_offset_ == parts_[part_].bytes) {
    ++part_;
    part_offset_ = 0;
    file_ = nullptr;
  }
  if (part_ == parts_.size()) return false;
  const Part& part = parts_[part_];
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, files_.OpenForRead(part.path));
  }
  const size_t old_size = block_.size();
  const size_t wanted = static_cast<size_t>(
      std::min<uint64_t>(kBlockBytes, part.bytes - part_offset_));
  block_.resize(old_size + wanted);
  ASSIGN_OR_RETURN(
      const size_t got,
      file_->ReadAt(part_offset_, std::span(block_).subspan(old_size, wanted)));
  block_.resize(old_size + got);
  if (got == 0) {
    return DamagedState(part.path,
                        absl::StrCat("ends at byte ", part_offset_, ", though ",
                                     part.bytes, " are committed"));
  }
  part_offset_ += got;
  return true;
}

absl::StatusOr<FileSinkReader> FileSinkReader::Open(
    FileSystem& files, absl::string_view directory) {
  FileSinkReader reader(files, std::string(directory));
  ASSIGN_OR_RETURN(std::vector<SinkFile> listing,
                   ListSinkFiles(files, directory));
  for (int looks = 0; looks < kLooksMax; ++looks) {
    absl::StatusOr<std::optional<FoundState>> found =
        FindCommittedState(files, directory, listing);
    // What was read is true only if nobody took over meanwhile.
    ASSIGN_OR_RETURN(std::vector<SinkFile> now,
                     ListSinkFiles(files, directory));
    const bool moved = now != listing;
    listing = std::move(now);
    if (moved) continue;
    RETURN_IF_ERROR(found.status());
    if (!found->has_value()) {
      return MakeError(Reason::PROGRESS_LOST,
                       absl::StrCat("directory ", directory,
                                    " holds no manifest of a file sink"),
                       {{"path", std::string(directory)}});
    }
    reader.header_ = std::move((*found)->header);
    reader.state_ = std::move((*found)->state);
    reader.settled_ = HighestWriter(listing) == reader.header_.writer;
    return reader;
  }
  return MakeError(
      Reason::UNAVAILABLE,
      absl::StrCat("reading file sink ", directory, ": it changed ", kLooksMax,
                   " times meanwhile"));
}

uint32_t FileSinkReader::shards() const {
  uint32_t shards = header_.shards;
  for (const CommittedData& data : state_.data) {
    shards = std::max(shards, data.shard + 1);
  }
  return shards;
}

std::vector<FileSinkReader::DataFile> FileSinkReader::Files(
    ShardIndex shard) const {
  std::vector<DataFile> result;
  for (const CommittedData& data : state_.data) {
    if (data.shard != shard) continue;
    result.push_back(
        {.path = JoinPath(directory_, DataName(data.shard, data.writer)),
         .committed_bytes = data.bytes});
  }
  return result;
}

FileSinkLines FileSinkReader::Lines(ShardIndex shard,
                                    size_t line_bytes_max) const {
  std::vector<FileSinkLines::Part> parts;
  for (DataFile& file : Files(shard)) {
    parts.push_back(
        {.path = std::move(file.path), .bytes = file.committed_bytes});
  }
  return FileSinkLines(*files_, std::move(parts), line_bytes_max);
}

}  // namespace penstock::core
