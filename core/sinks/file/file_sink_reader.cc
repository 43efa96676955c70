#include "core/sinks/file/file_sink_reader.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/committed_state.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
// Each time over, a writer has opened in between.
constexpr int kLooksMax = 64;

absl::StatusOr<std::vector<SinkFile>> ListAll(FileSystem& files,
                                              absl::string_view directory) {
  // Before manifests: those of whoever wrote them are then seen.
  ASSIGN_OR_RETURN(const std::vector<SinkFile> hidden,
                   ListHiddenFiles(files, directory));
  ASSIGN_OR_RETURN(std::vector<SinkFile> listing,
                   ListSinkFiles(files, directory));
  listing.insert(listing.end(), hidden.begin(), hidden.end());
  return listing;
}

// The claims and manifests of `listing`: what tells who writes.
std::vector<SinkFile> WritersIn(std::vector<SinkFile> listing) {
  std::erase_if(listing, [](const SinkFile& file) {
    return file.kind != SinkFileKind::kClaim &&
           file.kind != SinkFileKind::kManifest;
  });
  return listing;
}

// Where `data` stands; where it should, if it was taken away.
absl::StatusOr<std::string> FindFile(FileSystem& files,
                                     const std::string& directory,
                                     const CommittedData& data) {
  const std::string work = WorkPathOf(directory, data);
  const std::string final_path = FinalPathOf(directory, data);
  if (data.final_name.empty()) return work;
  // It may be renamed between two looks, but never back.
  for (const std::string& path : {final_path, work, final_path}) {
    const absl::StatusOr<FileStat> stat = files.Stat(path);
    if (stat.ok()) return path;
    if (!HasReason(stat.status(), Reason::NOT_FOUND)) return stat.status();
  }
  return final_path;
}

}  // namespace

FileSinkLines::FileSinkLines(FileSystem& files, std::string directory,
                             std::vector<CommittedData> parts,
                             size_t line_bytes_max)
    : files_(files),
      directory_(std::move(directory)),
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

absl::StatusOr<bool> FileSinkLines::NextRecords(Splitter& splitter,
                                                absl::string_view& records) {
  splitter.Clear();
  // Of what is not consumed: what the splitter has seen.
  size_t seen = 0;
  size_t size = 0;
  while (size == 0) {
    const absl::string_view pending =
        absl::string_view(block_).substr(consumed_);
    const std::optional<size_t> boundary = splitter.Input(pending.substr(seen));
    if (boundary.has_value()) {
      size = seen + *boundary;
      break;
    }
    if (pending.size() > line_bytes_max_) {
      MarkLine();
      return MakeError(
          Reason::RECORD_TOO_LARGE,
          absl::StrCat("a record of more than ", line_bytes_max_,
                       " bytes at byte ", line_offset_, " of ", line_path_));
    }
    seen = pending.size();
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (seen == 0) return false;
    size = seen;
  }
  MarkLine();
  records = absl::string_view(block_).substr(consumed_, size);
  given_start_ = line_start_;
  line_start_ += size;
  consumed_ += size;
  return true;
}

FileSinkLines::Place FileSinkLines::PlaceAt(uint64_t at) const {
  const uint64_t wanted = given_start_ + at;
  auto start = starts_.begin();
  while (start + 1 != starts_.end() && wanted >= (start + 1)->at) ++start;
  return {.path = start->path, .offset = wanted - start->at};
}

void FileSinkLines::MarkLine() {
  // A line may begin exactly where a part ends: then it is the next one's.
  while (starts_.size() > 1 && line_start_ >= starts_[1].at) {
    starts_.pop_front();
  }
  line_path_ = starts_.front().path;
  line_offset_ = line_start_ - starts_.front().at;
}

absl::StatusOr<bool> FileSinkLines::Fill() {
  block_.erase(0, consumed_);
  consumed_ = 0;
  while (part_ < parts_.size()) {
    if (file_ == nullptr) {
      RETURN_IF_ERROR(OpenPart());
    }
    const size_t before = block_.size();
    RETURN_IF_ERROR(ReadPart(block_));
    if (block_.size() > before) return true;
    ++part_;
    file_ = nullptr;
  }
  return false;
}

absl::Status FileSinkLines::OpenPart() {
  const CommittedData& part = parts_[part_];
  ASSIGN_OR_RETURN(path_, FindFile(files_, directory_, part));
  absl::StatusOr<std::unique_ptr<File>> file = files_.OpenForRead(path_);
  if (HasReason(file.status(), Reason::NOT_FOUND)) {
    return DamagedState(
        path_, absl::StrCat("missing, though ", part.bytes,
                            " bytes of it are committed; or its reader has "
                            "taken it away, or a writer that has just opened "
                            "has copied it: then read again"));
  }
  RETURN_IF_ERROR(file.status());
  file_ = *std::move(file);
  part_offset_ = 0;
  encoded_.clear();
  decoded_ = 0;
  decoder_ = part.compression == Compression::kNone
                 ? nullptr
                 : MakeDecoder(part.compression);
  starts_.push_back(
      {.at = line_start_ + block_.size() - consumed_, .path = path_});
  return absl::OkStatus();
}

absl::Status FileSinkLines::ReadPart(std::string& to) {
  return decoder_ == nullptr ? ReadBlock(to) : DecodeBlock(to);
}

absl::Status FileSinkLines::ReadBlock(std::string& to) {
  const uint64_t bytes = parts_[part_].bytes;
  const size_t old_size = to.size();
  const size_t wanted = static_cast<size_t>(
      std::min<uint64_t>(kBlockBytes, bytes - part_offset_));
  if (wanted == 0) return absl::OkStatus();
  to.resize(old_size + wanted);
  ASSIGN_OR_RETURN(
      const size_t got,
      file_->ReadAt(part_offset_, std::span(to).subspan(old_size, wanted)));
  to.resize(old_size + got);
  if (got == 0) {
    return DamagedState(
        path_, absl::StrCat("ends at byte ", part_offset_, ", though ", bytes,
                            " are committed"));
  }
  part_offset_ += got;
  return absl::OkStatus();
}

absl::Status FileSinkLines::DecodeBlock(std::string& to) {
  const size_t old_size = to.size();
  to.resize(old_size + kBlockBytes);
  size_t produced = 0;
  while (produced == 0) {
    if (decoded_ == encoded_.size()) {
      encoded_.clear();
      decoded_ = 0;
      RETURN_IF_ERROR(ReadBlock(encoded_));
    }
    const Decoder::Progress progress =
        decoder_->Decode(absl::string_view(encoded_).substr(decoded_),
                         std::span(to).subspan(old_size));
    decoded_ += progress.consumed;
    produced = progress.produced;
    if (decoder_->defect().has_value()) {
      return DamagedState(path_, decoder_->defect()->description);
    }
    const bool is_at_end = progress.consumed == 0 && encoded_.empty();
    if (produced == 0 && is_at_end) {
      if (!decoder_->MayEnd()) {
        return DamagedState(path_, decoder_->Truncated().description);
      }
      break;
    }
  }
  to.resize(old_size + produced);
  return absl::OkStatus();
}

absl::StatusOr<FileSinkReader> FileSinkReader::Open(
    FileSystem& files, absl::string_view directory) {
  FileSinkReader reader(files, std::string(directory));
  ASSIGN_OR_RETURN(std::vector<SinkFile> listing, ListAll(files, directory));
  for (int looks = 0; looks < kLooksMax; ++looks) {
    absl::StatusOr<std::optional<FoundState>> found =
        FindCommittedState(files, directory, listing);
    // What was read is true only if nobody took over meanwhile.
    ASSIGN_OR_RETURN(std::vector<SinkFile> now, ListAll(files, directory));
    const bool moved = WritersIn(now) != WritersIn(listing);
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
    RETURN_IF_ERROR(reader.Unseal());
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

std::vector<CommittedData> FileSinkReader::DataOf(ShardIndex shard) const {
  std::vector<CommittedData> result;
  for (const CommittedData& data : state_.data) {
    if (data.shard == shard) result.push_back(data);
  }
  return result;
}

absl::StatusOr<std::vector<FileSinkReader::DataFile>> FileSinkReader::Files(
    ShardIndex shard) const {
  std::vector<DataFile> result;
  for (const CommittedData& data : DataOf(shard)) {
    ASSIGN_OR_RETURN(std::string path, FindFile(*files_, directory_, data));
    result.push_back({.path = std::move(path),
                      .committed_bytes = data.bytes,
                      .compression = data.compression});
  }
  return result;
}

FileSinkLines FileSinkReader::Lines(ShardIndex shard,
                                    size_t line_bytes_max) const {
  return FileSinkLines(*files_, directory_, DataOf(shard), line_bytes_max);
}

absl::Status FileSinkReader::Unseal() {
  std::vector<std::vector<CommittedData>> newest_first;
  std::optional<SegmentId> next = std::exchange(state_.sealed, std::nullopt);
  while (next.has_value()) {
    ASSIGN_OR_RETURN(Segment segment, ReadSegment(*files_, directory_, *next));
    // Each names one that was there before it: the chain has an end.
    if (segment.previous.has_value() &&
        std::pair(next->writer, next->number) <=
            std::pair(segment.previous->writer, segment.previous->number)) {
      return DamagedState(
          JoinPath(directory_, SegmentName(next->writer, next->number)),
          "names a newer segment than itself");
    }
    newest_first.push_back(std::move(segment.data));
    next = segment.previous;
  }
  std::vector<CommittedData> all;
  for (auto data = newest_first.rbegin(); data != newest_first.rend(); ++data) {
    all.insert(all.end(), data->begin(), data->end());
  }
  all.insert(all.end(), state_.data.begin(), state_.data.end());
  state_.data = std::move(all);
  return absl::OkStatus();
}

}  // namespace penstock::core
