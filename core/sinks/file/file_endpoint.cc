#include "core/sinks/file/file_endpoint.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/durable.h"
#include "core/sinks/file/takeover.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

// The disk is told of a batch in pieces of this size, so that it writes the
// first while the next is copied; what is less waits for the sync.
constexpr uint64_t kAdviseBytes = uint64_t{1} << 20;

std::unique_ptr<Compressor> MakeCompressorFor(const DataFormat& format,
                                              int level) {
  if (format.compression == Compression::kNone) return nullptr;
  return MakeCompressor(format.compression, level);
}

}  // namespace

FileEndpoint::FileEndpoint(FileSystem& files, Options options,
                           std::shared_ptr<FileCommitter> committer)
    : files_(files),
      options_(std::move(options)),
      committer_(std::move(committer)),
      compressor_(MakeCompressorFor(committer_->header().format,
                                    options_.compression_level)) {
  TurnTo(0);
}

uint64_t FileEndpoint::MemoryBytes() const {
  return compressor_ == nullptr ? 0 : compressor_->MemoryBytes();
}

absl::Status FileEndpoint::Connect(AsyncErrorCallback /*on_error*/) {
  return committer_->broken();
}

size_t FileEndpoint::MaxBufferSizeBytes() const {
  return options_.buffer_bytes_max;
}

absl::Status FileEndpoint::BatchStart(const OutputBatch& started) {
  in_batch_ = false;
  ASSIGN_OR_RETURN(
      const FileCommitter::Batch batch,
      committer_->BeginBatch(options_.shard, started.steps, started.deadline));
  if (batch.committed.number != number_) TurnTo(batch.committed.number);
  held_ = batch.held;
  in_member_ = false;
  committed_bytes_ = batch.committed.bytes;
  RETURN_IF_ERROR(CutBack(committed_bytes_));
  advised_bytes_ = bytes_;
  steps_ = started.steps;
  in_batch_ = true;
  return absl::OkStatus();
}

void FileEndpoint::TurnTo(uint32_t number) {
  const ManifestHeader& header = committer_->header();
  number_ = number;
  path_ = WorkPathOf(options_.directory, NewData(header.writer, header.format,
                                                 options_.shard, number));
  file_ = nullptr;
  name_synced_ = false;
  bytes_ = 0;
  may_be_longer_ = false;
}

absl::Status FileEndpoint::CutBack(uint64_t bytes) {
  if (bytes_ == bytes && !may_be_longer_) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Truncate(bytes))
  << "while cutting " << path_ << " back to what is committed";
  bytes_ = bytes;
  may_be_longer_ = false;
  return absl::OkStatus();
}

absl::Status FileEndpoint::CheckInBatch(absl::string_view what) const {
  RETURN_IF_ERROR(committer_->broken());
  if (in_batch_) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_REQUEST,
      absl::StrCat(what, " of shard ", options_.shard, " outside of a batch"));
}

absl::Status FileEndpoint::PushBuffer(absl::string_view buffer) {
  RETURN_IF_ERROR(CheckInBatch("buffer"));
  in_batch_ = false;
  if (buffer.size() > options_.buffer_bytes_max) {
    return MakeError(
        Reason::RECORD_TOO_LARGE,
        absl::StrCat("writing to ", path_, ": a buffer of ", buffer.size(),
                     " bytes, above ", options_.buffer_bytes_max));
  }
  if (!buffer.empty() && !held_) {
    RETURN_IF_ERROR(MakeFile());
    if (compressor_ == nullptr) {
      RETURN_IF_ERROR(Append(buffer));
    } else {
      if (!std::exchange(in_member_, true)) compressor_->Begin();
      RETURN_IF_ERROR(compressor_->Add(
          buffer, [this](absl::string_view bytes) { return Append(bytes); }));
    }
  }
  in_batch_ = true;
  return absl::OkStatus();
}

absl::Status FileEndpoint::Append(absl::string_view bytes) {
  may_be_longer_ = true;
  RETURN_IF_ERROR(file_->Append(bytes));
  may_be_longer_ = false;
  bytes_ += bytes.size();
  if (bytes_ - advised_bytes_ >= kAdviseBytes) {
    file_->AdviseWillSync(advised_bytes_, bytes_ - advised_bytes_);
    advised_bytes_ = bytes_;
  }
  return absl::OkStatus();
}

absl::Status FileEndpoint::EndMember() {
  if (!in_member_) return absl::OkStatus();
  return compressor_->End(
      [this](absl::string_view bytes) { return Append(bytes); });
}

absl::Status FileEndpoint::MakeFile() {
  if (file_ != nullptr) return absl::OkStatus();
  auto file = files_.OpenForAppend(path_, {.create = true, .exclusive = true});
  if (HasReason(file.status(), Reason::ALREADY_EXISTS)) {
    const absl::Status error = MakeError(
        Reason::WRITER_FENCED,
        absl::StrCat("data file ", path_,
                     " exists: this writer was used before; reopen with a "
                     "higher writer"),
        {{"path", path_}});
    committer_->Break(error);
    return error;
  }
  RETURN_IF_ERROR(file.status());
  file_ = *std::move(file);
  return absl::OkStatus();
}

absl::Status FileEndpoint::PushKey(std::optional<absl::string_view> /*key*/,
                                   std::optional<absl::string_view> /*value*/,
                                   std::span<const MessageHeader> /*headers*/) {
  in_batch_ = false;
  return MakeError(Reason::UNSUPPORTED,
                   "the file sink takes rows, not messages with keys");
}

absl::Status FileEndpoint::BatchEnd() {
  RETURN_IF_ERROR(CheckInBatch("end"));
  in_batch_ = false;
  RETURN_IF_ERROR(EndMember());
  absl::Status synced;
  if (bytes_ > committed_bytes_) {
    synced = SyncFile(*file_, path_);
    if (synced.ok() && !name_synced_) {
      synced = SyncNames(files_, DirectoryOf(path_));
      name_synced_ = synced.ok();
    }
    if (synced.ok()) {
      synced = CheckThere(files_, options_.directory,
                          committer_->header().writer, path_, bytes_);
    }
  }
  if (!synced.ok()) {
    committer_->Break(synced);
    return synced;
  }
  committer_->EndBatch(options_.shard, steps_, bytes_);
  return absl::OkStatus();
}

}  // namespace penstock::core
