#include "core/sources/file/file_reader.h"

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/sources/file/file_reader_work.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace penstock::core {
namespace {

constexpr absl::string_view kReadTag = "file_read";
constexpr absl::string_view kGoneTag = "file_gone";

// Files with nothing to read that stay open: what is deleted among them can be
// read to its end.
constexpr size_t kRestingMax = 128;

std::optional<FileFinder> FinderOf(const Environment& environment,
                                   const FileReader::Options& options) {
  if (options.single.has_value()) return std::nullopt;
  return FileFinder(environment.files, PathPattern(options.config.path),
                    options.config.order, &environment.paths);
}

Watermark WatermarkOf(absl::Time time, const FilePosition& file) {
  std::string metadata = "{\"path\":";
  AppendJsonString(file.path, metadata);
  absl::StrAppend(&metadata, ",\"offset\":", file.end, "}");
  return {.timestamp = time, .metadata = std::move(metadata)};
}

}  // namespace

FileReader::Work::Work(const Environment& environment, InputConsumer& consumer,
                       std::unique_ptr<Parser> parser, Options options)
    : StrandWork(environment.io),
      environment_(environment),
      consumer_(consumer),
      config_(options.config),
      files_(options.position.next_id),
      records_(environment, consumer, files_, std::move(parser),
               {.compression = config_.compression,
                .block_bytes = config_.block_bytes,
                .follows = config_.follow}),
      follower_(
          environment, files_,
          {.compression = config_.compression, .follows = config_.follow}),
      finder_(FinderOf(environment, options)),
      queue_(consumer, [this] { StartReading(); }),
      metrics_(std::make_shared<FileMetrics>()),
      next_id_(options.position.next_id),
      flushed_(options.position, {.is_single = !finder_.has_value()}) {
  if (finder_.has_value()) {
    watches_.emplace(environment.files, options.events);
  }
  for (FilePosition& position : options.position.files) {
    files_.Restore(std::move(position));
  }
  if (options.single.has_value()) {
    KnownFile& file = *files_.Find(0);
    records_.Take(file, *std::move(options.single));
    file.is_queued = true;
    turns_.Add(0);
  }
  consumer_.SetCustomMetrics(metrics_);
}

void FileReader::Work::Stop() {
  is_closed_.store(true);
  StopSteps();
}

void FileReader::Work::Extend() {
  is_extended_.store(true);
  if (searches()) Post(&Work::StartSearch);
  StartReading();
}

void FileReader::Work::Pause() {
  is_extended_.store(false);
  Post(&Work::ReleaseMemory);
}

void FileReader::Work::ReadSome() {
  is_read_posted_.store(false);
  if (!is_extended_.load() || is_ended_) return;
  // True arms the queue's callback, which posts this again.
  if (queue_.IsFull()) return;
  const absl::StatusOr<bool> goes_on = TryReadSome();
  if (!goes_on.ok()) {
    Fail(goes_on.status(), kReadTag);
  } else if (*goes_on) {
    StartReading();
  }
}

absl::StatusOr<bool> FileReader::Work::TryReadSome() {
  const std::optional<uint32_t> id = turns_.Next();
  if (!id.has_value()) return Rest();
  KnownFile* const file = files_.Find(*id);
  if (file == nullptr) return true;
  ASSIGN_OR_RETURN(const bool has_more, ReadTurn(*file));
  if (!has_more) {
    SetAside(*file);
    // What ends at once need not be asked again.
    return searches() || Rest().value_or(false);
  }
  // A compressed file would have to be decoded again, a lost one may be gone.
  const bool may_give_way = !file->is_compressed && !file->is_lost();
  if (!turns_.GoOn(may_give_way)) file->reading.reset();
  return true;
}

absl::StatusOr<bool> FileReader::Work::ReadTurn(KnownFile& file) {
  if (const absl::Status opened = records_.Open(file); !opened.ok()) {
    return CannotRead(file, opened);
  }
  absl::StatusOr<RecordReader::Result> result =
      records_.Read(file, std::nullopt);
  if (!result.ok()) return CannotRead(file, result.status());
  if (result->is_rewritten) {
    follower_.NoteRewritten(file);
    SearchSoon();
    return false;
  }
  const bool at_end = result->at_end;
  if (result->has_moved) Stage(file, *std::move(result));
  if (at_end && !follows()) {
    RETURN_IF_ERROR(CheckAtEnd(file));
  }
  return !at_end;
}

absl::StatusOr<bool> FileReader::Work::CannotRead(KnownFile& file,
                                                  const absl::Status& status) {
  const bool is_gone = HasReason(status, Reason::NOT_FOUND);
  if (!follows()) {
    if (!searches() || !is_gone || file.position.end > 0) {
      return WithContext(status,
                         absl::StrCat("while reading ", file.position.path));
    }
    consumer_.Error(false, status, kGoneTag);
    return false;
  }
  file.reading.reset();
  // The next search looks at it again.
  file.seen_mtime = absl::InfinitePast();
  quiet_searches_ = 0;
  is_watched_ = false;
  if (HasReason(status, Reason::POSITION_EXPIRED)) {
    follower_.NoteRewritten(file);
  } else if (!is_gone && read_problem_.ok()) {
    read_problem_ = status;
  }
  return false;
}

void FileReader::Work::Stage(const KnownFile& file,
                             RecordReader::Result result) {
  metrics_->documents_passed.fetch_add(result.passed);
  std::optional<RecordBatch> batch;
  if (!result.batch.IsEmpty()) batch = std::move(result.batch);
  queue_.PushWithAux(std::move(batch), std::move(result.errors),
                     environment_.clock.Now(), {.file = file.position});
}

absl::StatusOr<bool> FileReader::Work::Rest() {
  if (follows() || (searches() && !has_searched_) || !turns_.IsEmpty()) {
    return false;
  }
  is_ended_ = true;
  consumer_.EndOfInput();
  ReleaseMemory();
  return false;
}

void FileReader::Work::SetAside(KnownFile& file) {
  file.is_queued = false;
  if (file.reading == nullptr || !searches()) return;
  if (!follows() || file.reading->is_final) {
    file.reading.reset();
    return;
  }
  // Once each, the one that rests longest in front.
  std::erase(resting_, file.position.id);
  resting_.push_back(file.position.id);
  if (resting_.size() <= kRestingMax) return;
  KnownFile* const longest = files_.Find(resting_.front());
  resting_.pop_front();
  if (longest != nullptr && !longest->is_queued && !longest->is_lost()) {
    longest->reading.reset();
  }
}

absl::Status FileReader::Work::CheckAtEnd(const KnownFile& file) {
  const std::string& path = file.position.path;
  FilePosition expected = file.position;
  expected.end = std::max(expected.length, expected.end);
  RETURN_IF_ERROR(CheckPosition(file.reading->file.content(), expected))
  << "at the end of " << path;
  ASSIGN_OR_RETURN(const FileStat opened, file.reading->file.file().Stat());
  const absl::StatusOr<FileStat> named = environment_.files.Stat(path);
  if (named.ok() && named->device == opened.device &&
      named->inode == opened.inode) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat(
          "at the end of ", path, ": meanwhile the file was ",
          named.ok() ? "replaced by another" : named.status().message(),
          ", so that what was read from it could not be replayed; put "
          "it back and reopen the connector"),
      {{"path", path}});
}

void FileReader::Work::Flush(const QueueCommand& command) {
  absl::flat_hash_set<uint32_t> touched;
  size_t bytes = 0;
  size_t bytes_max = 0;
  {
    MutexLock lock(mu_);
    bytes_max = flushed_.MovedBytesMax();
  }
  FlushResult<Moved> flushed = queue_.FlushWithAuxUntil([&](const Moved& one) {
    if (touched.insert(one.file.id).second) {
      bytes += FlushedPlaces::BytesOf(one.file);
    }
    return bytes >= bytes_max;
  });
  absl::flat_hash_map<uint32_t, absl::Time> times;
  std::vector<Moved> moved;
  moved.reserve(flushed.aux.size());
  for (auto& [time, one] : flushed.aux) {
    times[one.file.id] = time;
    moved.push_back(std::move(one));
  }
  std::optional<uint64_t> hash;
  if (flushed.hash.has_value()) hash = flushed.hash->value;
  std::vector<Watermark> watermarks;
  Resume resume;
  {
    MutexLock lock(mu_);
    for (const FilePosition& file :
         flushed_.Flush(std::move(moved), next_id_.load())) {
      watermarks.push_back(WatermarkOf(times[file.id], file));
    }
    resume = Resume::MetadataOnly(flushed_.ToJson(), hash);
    if (auto change = flushed_.ChangeOf(command.checkpoint_requested)) {
      resume.SetChange(*std::move(change));
    }
  }
  consumer_.Extended(flushed.total, std::move(resume), std::move(watermarks));
}

void FileReader::Work::Fail(const absl::Status& status, absl::string_view tag) {
  is_closed_.store(true);
  replaying_.reset();
  consumer_.Error(true, status, tag);
}

void FileReader::Work::ReleaseMemory() {
  if (is_extended_.load() && !is_ended_) return;
  CancelStep(timer_);
  records_.ReleaseMemory();
}

FileReader::FileReader(const Environment& environment, InputConsumer& consumer,
                       std::unique_ptr<Parser> parser, Options options)
    : work_(std::make_shared<Work>(environment, consumer, std::move(parser),
                                   std::move(options))) {}

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
    void operator()(QueueCommand queue) { work.Flush(queue); }
    void operator()(DisconnectCommand) { work.Disconnect(); }
  };
  std::visit(Obey{*work_}, std::move(command));
}

bool FileReader::IsClosed() const { return work_->is_closed(); }

}  // namespace penstock::core
