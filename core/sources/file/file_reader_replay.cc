// How a FileReader replays steps.
#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sources/file/file_reader_work.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kReplayTag = "file_replay";
// Of a directory that holds very many files not all are looked at.
constexpr size_t kSiblingsMax = 10'000;

}  // namespace

void FileReader::Work::Replay(const ReplayCommand& command) {
  CHECK(!replaying_.has_value()) << "a Replay before the last was reported";
  absl::StatusOr<SourcePosition> step = CheckStep(command.metadata);
  if (!step.ok()) return Fail(step.status(), kReplayTag);
  files_.RaiseNextId(step->next_id);
  replaying_.emplace(
      Replaying{.step = *std::move(step), .hasher = consumer_.Hasher()});
  ReplaySome();
}

void FileReader::Work::Skip(const SkipCommand& command) {
  CHECK(!replaying_.has_value()) << "a Skip before the Replay was reported";
  const absl::StatusOr<SourcePosition> step = CheckStep(command.metadata);
  if (!step.ok()) return Fail(step.status(), kReplayTag);
  files_.RaiseNextId(step->next_id);
  FinishStep(*step);
  consumer_.Skipped();
}

absl::StatusOr<SourcePosition> FileReader::Work::CheckStep(
    absl::string_view metadata) {
  ASSIGN_OR_RETURN(SourcePosition step, SourcePosition::Parse(metadata));
  for (const FilePosition& range : step.files) {
    const KnownFile* const file = files_.Find(range.id);
    const uint64_t end = file == nullptr ? 0 : file->position.end;
    if (range.start == end) continue;
    return MakeError(Reason::POSITION_MISMATCH,
                     absl::StrCat("replay or skip a step of ", range.path,
                                  ": it begins at byte ", range.start,
                                  ", but the reader is at byte ", end,
                                  "; send every journaled step, in order"),
                     {{"expected", absl::StrCat(range.start)},
                      {"found", absl::StrCat(end)}});
  }
  if (!searches()) {
    if (step.is_change || step.files.size() != 1 || step.files[0].id != 0) {
      return MakeError(Reason::MALFORMED_FRAME,
                       "replay or skip a step: its position is one of many "
                       "files, but the source reads one");
    }
    RETURN_IF_ERROR(
        CheckPosition(files_.Find(0)->reading->file.content(), step.files[0]));
  }
  RETURN_IF_ERROR(CheckBefore(step));
  return step;
}

// A change says nothing of files that another step read from: were that one
// left out, they would be read once more behind the last.
absl::Status FileReader::Work::CheckBefore(const SourcePosition& step) {
  MutexLock lock(mu_);
  const uint64_t digest = flushed_.digest();
  if (!step.is_change || step.before == digest) return absl::OkStatus();
  return MakeError(
      Reason::POSITION_MISMATCH,
      absl::StrCat("replay or skip a step: the place of all files before it "
                   "has the digest ",
                   Hex64(step.before), ", but the reader is at ", Hex64(digest),
                   "; send every journaled step, in order"),
      {{"expected", Hex64(step.before)}, {"found", Hex64(digest)}});
}

// One result, then the next task.
void FileReader::Work::ReplaySome() {
  const absl::Status status = TryReplaySome();
  if (!status.ok()) {
    Fail(status, kReplayTag);
  } else if (replaying_.has_value()) {
    Post(&Work::ReplaySome);
  }
}

absl::Status FileReader::Work::TryReplaySome() {
  std::vector<FilePosition>& ranges = replaying_->step.files;
  size_t& index = replaying_->index;
  while (index < ranges.size() && ranges[index].start == ranges[index].end) {
    ++index;
  }
  if (index == ranges.size()) {
    const Replaying done = *std::exchange(replaying_, std::nullopt);
    FinishStep(done.step);
    consumer_.Replayed(done.total, done.hasher.has_value()
                                       ? done.hasher->Finish().value
                                       : uint64_t{0});
    return absl::OkStatus();
  }
  const FilePosition& range = ranges[index];
  ASSIGN_OR_RETURN(KnownFile* const file, OpenRange(range));
  ASSIGN_OR_RETURN(RecordReader::Result result, records_.Read(*file, range.end),
                   _ << "while replaying " << file->position.path);
  if (!result.errors.empty()) consumer_.ParseErrors(std::move(result.errors));
  if (!result.batch.IsEmpty()) {
    RecordBatch& batch = result.batch;
    replaying_->total += batch.size();
    if (replaying_->hasher.has_value()) batch.HashInto(*replaying_->hasher);
    consumer_.Buffered(batch.size());
    // Always true in a replay.
    consumer_.Admit(batch);
    consumer_.Flush(std::move(batch));
  }
  if (file->reading->fragments.position() < range.end) return absl::OkStatus();
  ++index;
  if (searches()) file->reading.reset();
  return absl::OkStatus();
}

absl::StatusOr<KnownFile*> FileReader::Work::OpenRange(
    const FilePosition& range) {
  KnownFile* file = files_.Find(range.id);
  if (file == nullptr) {
    FilePosition beginning = range;
    beginning.end = beginning.records = beginning.lines = 0;
    beginning.is_unfinished = false;
    file = &files_.Restore(std::move(beginning));
  }
  if (file->reading != nullptr) return file;
  files_.SetFingerprint(*file, range.fingerprint);
  RETURN_IF_ERROR(OpenAnywhere(*file, range));
  return file;
}

absl::Status FileReader::Work::OpenAnywhere(KnownFile& file,
                                            const FilePosition& range) {
  absl::Status status = records_.Open(file);
  if (status.ok()) {
    status = CheckPosition(file.reading->file.content(), range);
    if (status.ok()) return status;
    file.reading.reset();
  }
  if (!HasReason(status, Reason::NOT_FOUND) &&
      !HasReason(status, Reason::POSITION_EXPIRED)) {
    return status;
  }
  const std::vector<std::string>& candidates = Candidates(file.position.path);
  for (const std::string& path : candidates) {
    if (!environment_.paths.Check(environment_.files, path).ok()) continue;
    absl::StatusOr<OpenFile> opened =
        OpenFile::Open(environment_.files, path, config_.compression);
    if (!opened.ok()) continue;
    if (!CheckPosition(opened->content(), range).ok()) continue;
    files_.SetPath(file, path);
    return records_.Attach(file, *std::move(opened));
  }
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat("replay bytes ", range.start, " to ", range.end, " of ",
                   range.path, ": ", status.message(), "; none of ",
                   candidates.size(),
                   " other files that match or are beside it begins as it "
                   "did and has them"),
      {{"path", range.path}, {"position", absl::StrCat(range.end)}});
}

// Where the content of a file may be that had been at `path`.
const std::vector<std::string>& FileReader::Work::Candidates(
    const std::string& path) {
  const std::string directory(DirectoryOf(path));
  if (replaying_->looked_into == directory) return replaying_->candidates;
  replaying_->looked_into = directory;
  std::vector<std::string>& candidates = replaying_->candidates;
  candidates.clear();
  for (FoundFile& found : finder_->FindAll()) {
    candidates.push_back(std::move(found.path));
  }
  const auto names = environment_.files.List(directory);
  if (!names.ok()) return candidates;
  for (size_t i = 0; i < names->size() && i < kSiblingsMax; ++i) {
    candidates.push_back(directory == "." ? (*names)[i]
                                          : JoinPath(directory, (*names)[i]));
  }
  return candidates;
}

std::vector<uint32_t> FileReader::Work::ForgottenBy(
    const SourcePosition& step) {
  if (step.is_change) return step.gone;
  std::vector<uint32_t> forgotten;
  size_t index = 0;
  files_.ForEach([&](const KnownFile& file) {
    if (index < step.files.size() && step.files[index].id == file.position.id) {
      ++index;
    } else {
      forgotten.push_back(file.position.id);
    }
  });
  return forgotten;
}

// Moves behind a step that was replayed or skipped.
void FileReader::Work::FinishStep(const SourcePosition& step) {
  for (const FilePosition& range : step.files) {
    KnownFile* file = files_.Find(range.id);
    if (file == nullptr) file = &files_.Restore(range);
    files_.SetFingerprint(*file, range.fingerprint);
    records_.GoTo(*file, range);
  }
  for (const uint32_t id : ForgottenBy(step)) files_.Forget(id);
  next_id_.store(files_.next_id());
  MutexLock lock(mu_);
  flushed_.Follow(step);
}

}  // namespace penstock::core
