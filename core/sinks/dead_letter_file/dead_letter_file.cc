#include "core/sinks/dead_letter_file/dead_letter_file.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"

#include <absl/status/status.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
// Of what a target said; it often quotes the row.
constexpr size_t kMessageBytesMax = 1024;
// Files of other opens that may bear the name, tried one after the other.
constexpr uint32_t kPartsTriedMax = 1000;

std::string ReasonOf(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (info.has_value()) return std::string(ReasonName(info->reason));
  return absl::StatusCodeToString(error.code());
}

// What all files of a connector begin with, and no other's: no name has a "+".
std::string NamePrefix(const DeadLetterOpen& open) {
  return absl::StrCat(open.connector, "+");
}

}  // namespace

void AppendDeadLetter(const DeadLetterOpen& open, const DeadLetter& letter,
                      std::string& to) {
  to.append("{\"id\":");
  AppendJsonString(DeadLetterId(open, letter), to);
  to.append(",\"connector\":");
  AppendJsonString(open.connector, to);
  absl::StrAppend(&to, ",\"step\":", letter.step, ",\"shard\":", open.shard);
  if (open.level == FtModel::kExactlyOnce && letter.number.has_value()) {
    absl::StrAppend(&to, ",\"row\":", *letter.number);
  }
  absl::StrAppend(&to, ",\"partition\":", letter.partition,
                  ",\"offset\":", letter.offset, ",\"reason\":");
  AppendJsonString(ReasonOf(letter.error), to);
  to.append(",\"message\":");
  AppendJsonString(letter.error.message().substr(0, kMessageBytesMax), to);
  if (IsUtf8(letter.row)) {
    to.append(",\"encoding\":\"utf-8\",\"data\":");
    AppendJsonString(letter.row, to);
  } else {
    absl::StrAppend(&to, ",\"encoding\":\"base64\",\"data\":\"",
                    absl::Base64Escape(letter.row), "\"");
  }
  to.append("}\n");
}

DeadLetterFile::DeadLetterFile(const DeadLetterFileConfig& config,
                               DeadLetterOpen open, FileSystem& files)
    : config_(config), open_(std::move(open)), files_(files) {}

absl::Status DeadLetterFile::Write(std::span<const DeadLetter> letters) {
  buffer_.clear();
  for (const DeadLetter& letter : letters) {
    AppendDeadLetter(open_, letter, buffer_);
    if (buffer_.size() < kBufferBytes) continue;
    RETURN_IF_ERROR(Flush());
  }
  RETURN_IF_ERROR(Flush());
  return Sync();
}

absl::Status DeadLetterFile::Flush() {
  if (buffer_.empty()) return absl::OkStatus();
  if (file_ != nullptr && size_ >= config_.file_bytes_max) {
    RETURN_IF_ERROR(Sync());
    file_.reset();
  }
  if (file_ == nullptr) {
    RETURN_IF_ERROR(BeginFile());
  }
  RETURN_IF_ERROR(Append());
  // Not the memory of one huge letter for ever.
  if (buffer_.capacity() > 2 * kBufferBytes) buffer_ = std::string();
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status DeadLetterFile::Append() {
  const absl::Status status = file_->Append(buffer_);
  if (status.ok()) {
    size_ += buffer_.size();
    return status;
  }
  // What is there of them is no whole line, perhaps.
  if (!HasReason(status, Reason::STORAGE_FULL) ||
      !file_->Truncate(size_).ok()) {
    file_.reset();
  }
  return WithContext(status, "while writing dead letters");
}

absl::Status DeadLetterFile::Sync() {
  if (file_ == nullptr) return absl::OkStatus();
  const absl::Status status = file_->Sync();
  if (status.ok()) return status;
  // A second sync would prove nothing about what the first one lost.
  file_.reset();
  return MakeError(Reason::IO_ERROR,
                   absl::StrCat("making dead letters durable in ", path_, ": ",
                                status.message()),
                   {{"path", path_}});
}

absl::Status DeadLetterFile::BeginFile() {
  RETURN_IF_ERROR(CheckRoom());
  for (uint32_t i = 0; i < kPartsTriedMax; ++i) {
    path_ = JoinPath(
        config_.path,
        absl::StrFormat("%s%04d.%020d-%020d.%06d.ndjson", NamePrefix(open_),
                        open_.shard, open_.writer.epoch,
                        open_.writer.open_number, next_part_++));
    absl::StatusOr<std::unique_ptr<File>> file =
        files_.OpenForAppend(path_, {.create = true, .exclusive = true});
    if (HasReason(file.status(), Reason::ALREADY_EXISTS)) continue;
    RETURN_IF_ERROR(file.status())
    << "while beginning a file of dead letters";
    RETURN_IF_ERROR(files_.SyncDirectory(config_.path))
    << "while beginning a file of dead letters";
    file_ = *std::move(file);
    size_ = 0;
    return absl::OkStatus();
  }
  return MakeError(Reason::ALREADY_EXISTS,
                   absl::StrCat("beginning a file of dead letters: ", path_,
                                " and those before it exist; move them away"),
                   {{"path", path_}});
}

absl::Status DeadLetterFile::CheckRoom() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   files_.List(config_.path),
                   _ << "while looking for dead letters");
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, NamePrefix(open_))) continue;
    const absl::StatusOr<FileStat> stat =
        files_.Stat(JoinPath(config_.path, name));
    // Somebody makes room.
    if (stat.ok()) bytes += stat->size;
  }
  if (bytes < config_.total_bytes_max) return absl::OkStatus();
  return MakeError(
      Reason::STORAGE_FULL,
      absl::StrCat("beginning a file of dead letters: those of ",
                   open_.connector, " in ", config_.path, " have ", bytes,
                   " bytes, and total_bytes_max is ", config_.total_bytes_max,
                   "; move some away, and it goes on by itself"),
      {{"path", config_.path}});
}

absl::StatusOr<std::unique_ptr<DeadLetterOutput>> MakeDeadLetterFile(
    const ComponentConfig& config, const DeadLetterOpen& open,
    const Environment& environment) {
  const auto* const file = dynamic_cast<const DeadLetterFileConfig*>(&config);
  CHECK(file != nullptr) << config.type();
  RETURN_IF_ERROR(environment.paths.Check(environment.files, file->path))
  << "while opening the dead letters";
  RETURN_IF_ERROR(environment.files.CreateDirectories(file->path))
  << "while opening the dead letters";
  return std::make_unique<DeadLetterFile>(*file, open, environment.files);
}

}  // namespace penstock::core
