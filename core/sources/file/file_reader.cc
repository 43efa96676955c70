#include "core/sources/file/file_reader.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/mutex.h"
#include "core/base/status_macros.h"
#include "core/base/strand.h"
#include "core/queue/input_queue.h"
#include "core/sources/file/fragment_reader.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {
namespace {

// Tags of errors.
constexpr absl::string_view kReadTag = "file_read";
constexpr absl::string_view kReplayTag = "file_replay";
constexpr absl::string_view kTornTag = "file_torn_record";

// A place between two records.
struct Place {
  uint64_t offset = 0;
  // Records, good and bad, and lines before it.
  uint64_t records = 0;
  uint64_t lines = 0;
};

Place EndOf(const FilePosition& position) {
  return {.offset = position.end,
          .records = position.records,
          .lines = position.lines};
}

}  // namespace

// What the tasks work on.
// Threads: StartReading, Post, Flush and Stop are thread-safe (Flush: one at a
//          time); all else is confined to the strand.
class FileReader::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(const Environment& environment, InputConsumer& consumer, OpenFile file,
       std::unique_ptr<Parser> parser, Options options)
      : environment_(environment),
        consumer_(consumer),
        base_(std::move(options.position)),
        file_(std::move(file)),
        parser_(std::move(parser)),
        fragments_(file_.content(), *parser_, options.block_bytes),
        queue_(consumer, [this] { StartReading(); }),
        strand_(environment.io),
        flushed_(EndOf(base_)),
        fingerprint_(base_.fingerprint) {
    GoTo(flushed_);
  }

  // Each of these runs a step in the strand, unless all is over by then. A task
  // of the executor does one step only, so that a connector that reads holds
  // back no other for longer than a block takes, or a result of a part of one
  // (INV-13).
  void Post(void (Work::*step)());
  template <typename Command>
  void PostCommand(void (Work::*step)(const Command&), Command command);

  void Extend() {
    is_extended_.store(true);
    StartReading();
  }
  void Pause() {
    is_extended_.store(false);
    Post(&Work::ReleaseMemory);
  }
  // Posts a reading task if there is none.
  void StartReading() {
    if (!is_read_posted_.exchange(true)) Post(&Work::ReadSome);
  }
  void Flush() ABSL_LOCKS_EXCLUDED(mu_);
  void Replay(const ReplayCommand& command);
  void Skip(const SkipCommand& command);
  void Disconnect() { is_closed_.store(true); }
  // Blocks: until the running task, if any, is over.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  bool is_closed() const { return is_closed_.load(); }

 private:
  // A Replay that runs.
  struct Replaying {
    FilePosition step;
    std::optional<StepHasher> hasher;
    BufferSize total;
  };

  template <typename Step>
  void Run(Step step) ABSL_LOCKS_EXCLUDED(mu_);

  void ReadSome();
  absl::Status TryReadSome();
  void ReplaySome();
  absl::Status TryReplaySome();
  // Errors: POSITION_MISMATCH unless the step begins here; CheckPosition's.
  absl::StatusOr<FilePosition> CheckStep(absl::string_view metadata);
  // Parses a piece, as much as makes one result, and moves behind that; the
  // rest is the next piece. The batch carries the bad records, if they are
  // kept. Requires: it has a fragment.
  ParseResult Parse(FragmentReader::Piece& piece);
  // Stages what is wrong with the file's end, behind all that was good.
  void StageDefect(const Defect& defect);
  // The file as it is known by now.
  FilePosition Known() ABSL_LOCKS_EXCLUDED(mu_);
  // A file that was shorter than a fingerprint when it was opened is known
  // better by what was read of it since: a position in a file that was empty
  // must not be good for any other.
  absl::Status LearnBeginning() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the file that ended is still the one that was opened, whole.
  absl::Status CheckAtEnd();
  void GoTo(const Place& place);
  void FinishStep(const FilePosition& step) ABSL_LOCKS_EXCLUDED(mu_);
  void ReportTorn();
  void Fail(const absl::Status& status, absl::string_view tag);
  void ReleaseMemory();

  const Environment environment_;
  InputConsumer& consumer_;
  // Path, fingerprint and length of the file as it was opened.
  const FilePosition base_;

  const OpenFile file_;
  std::unique_ptr<Parser> parser_;
  FragmentReader fragments_;
  // Aux is the place behind the buffer.
  InputQueue<Place> queue_;
  Strand strand_;

  std::atomic<bool> is_extended_{false};
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> is_read_posted_{false};

  Mutex mu_;
  CondVar idle_;
  bool is_running_ ABSL_GUARDED_BY(mu_) = false;
  bool is_stopped_ ABSL_GUARDED_BY(mu_) = false;
  // Behind the last step.
  Place flushed_ ABSL_GUARDED_BY(mu_);
  // base_'s, or of more bytes.
  FileFingerprint fingerprint_ ABSL_GUARDED_BY(mu_);

  // Confined to the strand. Where the next fragment begins.
  Place staged_;
  bool is_torn_reported_ = false;
  bool is_ended_ = false;
  std::optional<Replaying> replaying_;
};

template <typename Step>
void FileReader::Work::Run(Step step) {
  {
    MutexLock lock(mu_);
    if (is_stopped_) return;
    is_running_ = true;
  }
  if (!is_closed()) step();
  MutexLock lock(mu_);
  is_running_ = false;
  idle_.NotifyAll();
}

void FileReader::Work::Post(void (Work::*step)()) {
  environment_.io.ScheduleTail([self = shared_from_this(), step] {
    self->strand_.Dispatch(
        [self, step] { self->Run([&self, step] { ((*self).*step)(); }); });
  });
}

template <typename Command>
void FileReader::Work::PostCommand(void (Work::*step)(const Command&),
                                   Command command) {
  strand_.Post([self = shared_from_this(), step, command = std::move(command)] {
    self->Run([&] { ((*self).*step)(command); });
  });
}

void FileReader::Work::Stop() {
  is_closed_.store(true);
  strand_.Close();
  MutexLock lock(mu_);
  is_stopped_ = true;
  idle_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return !is_running_;
  });
}

void FileReader::Work::ReadSome() {
  is_read_posted_.store(false);
  if (!is_extended_.load() || is_ended_) return;
  // True arms the queue's callback, which posts this again.
  if (queue_.IsFull()) return;
  const absl::Status status = TryReadSome();
  if (!status.ok()) {
    Fail(status, kReadTag);
  } else if (!is_ended_) {
    StartReading();
  }
}

absl::Status FileReader::Work::TryReadSome() {
  ASSIGN_OR_RETURN(FragmentReader::Piece piece, fragments_.Next(std::nullopt),
                   _ << "while reading " << base_.path);
  ReportTorn();
  const std::optional<Defect> defect =
      piece.at_end ? file_.content().DefectAtEnd() : std::nullopt;
  // What a last record lacks of a file that ends badly nobody knows.
  if (piece.fragment.has_value() &&
      !(defect.has_value() && piece.fragment->is_last)) {
    ParseResult result = Parse(piece);
    std::optional<RecordBatch> batch;
    if (!result.batch.IsEmpty()) batch = std::move(result.batch);
    RETURN_IF_ERROR(LearnBeginning());
    queue_.PushWithAux(std::move(batch), std::move(result.errors),
                       environment_.clock.Now(), staged_);
  }
  if (!piece.at_end) return absl::OkStatus();
  if (defect.has_value()) StageDefect(*defect);
  RETURN_IF_ERROR(CheckAtEnd());
  is_ended_ = true;
  consumer_.EndOfInput();
  ReleaseMemory();
  return absl::OkStatus();
}

void FileReader::Work::StageDefect(const Defect& defect) {
  ParseError error{.tag = defect.tag,
                   .input = base_.path,
                   .description = defect.description,
                   .record_number = staged_.records + 1,
                   .line = staged_.lines + 1,
                   .byte_offset = staged_.offset,
                   .suggestion =
                       "what was decoded before is good; bring the "
                       "whole file, under another name"};
  std::vector<ParseError> errors;
  errors.push_back(std::move(error));
  std::optional<RecordBatch> batch;
  if (consumer_.KeepsBadRecords()) {
    batch.emplace().AddBadRecords(ToBadRecords(0, errors));
  }
  queue_.PushWithAux(std::move(batch), std::move(errors),
                     environment_.clock.Now(), staged_);
}

FilePosition FileReader::Work::Known() {
  FilePosition known = base_;
  MutexLock lock(mu_);
  known.fingerprint = fingerprint_;
  return known;
}

absl::Status FileReader::Work::LearnBeginning() {
  FilePosition known = Known();
  known.end = staged_.offset;
  if (known.fingerprint.bytes == FileFingerprint::kBytesMax ||
      known.fingerprint.bytes >= known.end) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckPosition(file_.content(), known))
  << "while reading " << base_.path;
  ASSIGN_OR_RETURN(const FileFingerprint learned,
                   ReadFingerprint(file_.content(), known.end),
                   _ << "while reading " << base_.path);
  MutexLock lock(mu_);
  fingerprint_ = learned;
  return absl::OkStatus();
}

absl::Status FileReader::Work::CheckAtEnd() {
  FilePosition expected = Known();
  expected.end = std::max(base_.length, staged_.offset);
  RETURN_IF_ERROR(CheckPosition(file_.content(), expected))
  << "at the end of " << base_.path;
  ASSIGN_OR_RETURN(const FileStat opened, file_.file().Stat());
  const absl::StatusOr<FileStat> named = environment_.files.Stat(base_.path);
  if (named.ok() && named->device == opened.device &&
      named->inode == opened.inode) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat(
          "at the end of ", base_.path, ": meanwhile the file was ",
          named.ok() ? "replaced by another" : named.status().message(),
          ", so that what was read from it could not be replayed; put "
          "it back and reopen the connector"),
      {{"path", base_.path}});
}

void FileReader::Work::Flush() {
  FlushResult<Place> flushed = queue_.FlushWithAux();
  FilePosition step = Known();
  std::vector<Watermark> watermarks;
  {
    MutexLock lock(mu_);
    step.start = flushed_.offset;
    if (!flushed.aux.empty()) flushed_ = flushed.aux.back().second;
    step.end = flushed_.offset;
    step.records = flushed_.records;
    step.lines = flushed_.lines;
  }
  if (!flushed.aux.empty()) {
    std::string metadata = "{\"path\":";
    AppendJsonString(step.path, metadata);
    absl::StrAppend(&metadata, ",\"offset\":", step.end, "}");
    watermarks.push_back({.timestamp = flushed.aux.back().first,
                          .metadata = std::move(metadata)});
  }
  std::optional<uint64_t> hash;
  if (flushed.hash.has_value()) hash = flushed.hash->value;
  consumer_.Extended(flushed.total, Resume::MetadataOnly(step.ToJson(), hash),
                     std::move(watermarks));
}

void FileReader::Work::Replay(const ReplayCommand& command) {
  CHECK(!replaying_.has_value()) << "a Replay before the last was reported";
  absl::StatusOr<FilePosition> step = CheckStep(command.metadata);
  if (!step.ok()) {
    Fail(step.status(), kReplayTag);
    return;
  }
  replaying_.emplace(Replaying{
      .step = *std::move(step), .hasher = consumer_.Hasher(), .total = {}});
  ReplaySome();
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
  const uint64_t end = replaying_->step.end;
  if (fragments_.position() < end) {
    ASSIGN_OR_RETURN(FragmentReader::Piece piece, fragments_.Next(end),
                     _ << "while replaying " << base_.path);
    ReportTorn();
    if (!piece.fragment.has_value()) return absl::OkStatus();
    ParseResult result = Parse(piece);
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
    if (fragments_.position() < end) return absl::OkStatus();
  }
  const Replaying done = *std::exchange(replaying_, std::nullopt);
  FinishStep(done.step);
  consumer_.Replayed(done.total, done.hasher.has_value()
                                     ? done.hasher->Finish().value
                                     : uint64_t{0});
  return absl::OkStatus();
}

void FileReader::Work::Skip(const SkipCommand& command) {
  CHECK(!replaying_.has_value()) << "a Skip before the Replay was reported";
  const absl::StatusOr<FilePosition> step = CheckStep(command.metadata);
  if (!step.ok()) {
    Fail(step.status(), kReplayTag);
    return;
  }
  FinishStep(*step);
  consumer_.Skipped();
}

absl::StatusOr<FilePosition> FileReader::Work::CheckStep(
    absl::string_view metadata) {
  ASSIGN_OR_RETURN(FilePosition step, FilePosition::Parse(metadata));
  if (step.start != staged_.offset) {
    return MakeError(
        Reason::POSITION_MISMATCH,
        absl::StrCat("replay or skip a step of ", base_.path,
                     ": it begins at byte ", step.start,
                     ", but the reader is at byte ", staged_.offset,
                     "; send every journaled step, in order"),
        {{"expected", absl::StrCat(step.start)},
         {"found", absl::StrCat(staged_.offset)}});
  }
  RETURN_IF_ERROR(CheckPosition(file_.content(), step));
  return step;
}

ParseResult FileReader::Work::Parse(FragmentReader::Piece& piece) {
  const Fragment& fragment = *piece.fragment;
  ParseResult result = parser_->Parse(fragment);
  if (result.bytes < fragment.size) fragments_.GiveBack(piece, result.bytes);
  for (ParseError& error : result.errors) error.input = base_.path;
  if (consumer_.KeepsBadRecords()) {
    result.batch.AddBadRecords(ToBadRecords(fragment.partition, result.errors));
  }
  staged_.offset = fragments_.position();
  staged_.records += result.records;
  staged_.lines += result.lines;
  return result;
}

// Moves behind a step that was replayed or skipped.
void FileReader::Work::FinishStep(const FilePosition& step) {
  GoTo(EndOf(step));
  MutexLock lock(mu_);
  flushed_ = staged_;
}

void FileReader::Work::GoTo(const Place& place) {
  staged_ = place;
  fragments_.Seek(place.offset);
  parser_->SetPosition(place.records + 1, place.lines + 1);
  is_torn_reported_ = false;
}

void FileReader::Work::ReportTorn() {
  if (!fragments_.is_torn() || is_torn_reported_) return;
  is_torn_reported_ = true;
  consumer_.Error(
      false,
      MakeError(Reason::POSITION_MISMATCH,
                absl::StrCat("the last record of ", base_.path,
                             " was read when it had no line end; it has grown "
                             "since, and what came behind byte ",
                             staged_.offset, " is read as a record of its own"),
                {{"path", base_.path}}),
      kTornTag);
}

void FileReader::Work::Fail(const absl::Status& status, absl::string_view tag) {
  is_closed_.store(true);
  replaying_.reset();
  consumer_.Error(true, status, tag);
}

void FileReader::Work::ReleaseMemory() {
  if (is_extended_.load() && !is_ended_) return;
  fragments_.ReleaseMemory();
  parser_ = parser_->Fork();
  parser_->SetPosition(staged_.records + 1, staged_.lines + 1);
}

FileReader::FileReader(const Environment& environment, InputConsumer& consumer,
                       OpenFile file, std::unique_ptr<Parser> parser,
                       Options options)
    : work_(std::make_shared<Work>(environment, consumer, std::move(file),
                                   std::move(parser), std::move(options))) {}

FileReader::~FileReader() { work_->Stop(); }

void FileReader::Request(InputReaderCommand command) {
  if (work_->is_closed()) return;
  struct Obey {
    Work& work;
    void operator()(ReplayCommand replay) {
      work.PostCommand(&Work::Replay, std::move(replay));
    }
    void operator()(SkipCommand skip) {
      work.PostCommand(&Work::Skip, std::move(skip));
    }
    void operator()(ExtendCommand) { work.Extend(); }
    void operator()(PauseCommand) { work.Pause(); }
    void operator()(QueueCommand) { work.Flush(); }
    void operator()(DisconnectCommand) { work.Disconnect(); }
  };
  std::visit(Obey{*work_}, std::move(command));
}

bool FileReader::IsClosed() const { return work_->is_closed(); }

}  // namespace penstock::core
