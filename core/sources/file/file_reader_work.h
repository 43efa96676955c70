// What the tasks of a FileReader work on. Internal to core/sources/file.
#pragma once

#include "core/base/mutex.h"
#include "core/base/strand_work.h"
#include "core/queue/input_queue.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/file_follower.h"
#include "core/sources/file/file_metrics.h"
#include "core/sources/file/file_reader.h"
#include "core/sources/file/file_table.h"
#include "core/sources/file/file_watches.h"
#include "core/sources/file/flushed_places.h"
#include "core/sources/file/record_reader.h"
#include "core/sources/file/turns.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Threads: StartReading, Post, Flush and Stop are thread-safe (Flush: one at a
//          time); all else is confined to the strand. A step reads a block, or
//          makes a result of a part of one.
class FileReader::Work : public StrandWork<FileReader::Work> {
 public:
  Work(const Environment& environment, InputConsumer& consumer,
       std::unique_ptr<Parser> parser, Options options);

  void Extend();
  void Pause();
  // Posts a reading task if there is none.
  void StartReading() {
    if (!is_read_posted_.exchange(true)) Post(&Work::ReadSome);
  }
  void Flush(const QueueCommand& command) ABSL_LOCKS_EXCLUDED(mu_);
  void Replay(const ReplayCommand& command);
  void Skip(const SkipCommand& command);
  void Disconnect() { is_closed_.store(true); }
  // Blocks: until the running task, if any, is over.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  bool is_closed() const { return is_closed_.load(); }

 private:
  // A Replay that runs.
  struct Replaying {
    SourcePosition step;
    // The file whose range is read.
    size_t index = 0;
    std::optional<StepHasher> hasher;
    BufferSize total;
    // Where the content of a file that was in this directory may be.
    std::optional<std::string> looked_into;
    std::vector<std::string> candidates;
  };

  // --- Reading.
  void ReadSome();
  // Returns: whether there is more to do at once.
  absl::StatusOr<bool> TryReadSome();
  // Reads one turn of `file`. Returns: whether it has more.
  absl::StatusOr<bool> ReadTurn(KnownFile& file);
  // What follows from that it could not be read.
  absl::StatusOr<bool> CannotRead(KnownFile& file, const absl::Status& status);
  void Stage(const KnownFile& file, RecordReader::Result result);
  // Nothing is to be read now.
  absl::StatusOr<bool> Rest();
  // Whether the file that ended is still the one that was opened, whole.
  absl::Status CheckAtEnd(const KnownFile& file);
  // There is nothing more to read of it for now.
  void SetAside(KnownFile& file);

  // --- Searching.
  // Whether files are searched for.
  bool searches() const { return finder_.has_value(); }
  bool follows() const { return config_.follow; }
  void StartSearch();
  void SearchSome();
  void LookAtSome();
  void EndSearch();
  absl::Status CheckNothingLost();
  absl::Status CheckNotTooMany();
  void ScheduleSearch();
  // Something may have happened: searches before it is time to.
  void SearchSoon();
  // Nothing can happen, short of new events, that a search would find.
  bool IsQuiet(const FileFollower::News& news) const;
  // What a search found, for people.
  void ShowFiles(const FileFollower::News& news);

  // --- Replaying.
  void ReplaySome();
  absl::Status TryReplaySome();
  // Errors: POSITION_MISMATCH unless the step begins here.
  absl::StatusOr<SourcePosition> CheckStep(absl::string_view metadata);
  absl::Status CheckBefore(const SourcePosition& step) ABSL_LOCKS_EXCLUDED(mu_);
  // The file of the step's range, open and at its beginning.
  absl::StatusOr<KnownFile*> OpenRange(const FilePosition& range);
  // Opens `file` wherever its content is now.
  absl::Status OpenAnywhere(KnownFile& file, const FilePosition& range);
  const std::vector<std::string>& Candidates(const std::string& path);
  // Requires: all of the step's files are known.
  std::vector<uint32_t> ForgottenBy(const SourcePosition& step);
  void FinishStep(const SourcePosition& step) ABSL_LOCKS_EXCLUDED(mu_);

  void Fail(const absl::Status& status, absl::string_view tag);
  void ReleaseMemory();

  const Environment environment_;
  InputConsumer& consumer_;
  const FileSourceConfig config_;

  FileTable files_;
  RecordReader records_;
  FileFollower follower_;
  // Only where files are searched for.
  std::optional<FileFinder> finder_;
  std::optional<FileWatches> watches_;
  Turns turns_;
  InputQueue<Moved> queue_;
  // Shared by: this and the connector, which shows it.
  const std::shared_ptr<FileMetrics> metrics_;

  std::atomic<bool> is_extended_{false};
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> is_read_posted_{false};
  // Of files_, for the flushing thread.
  std::atomic<uint32_t> next_id_;

  Mutex mu_;
  // Behind the last step.
  FlushedPlaces flushed_ ABSL_GUARDED_BY(mu_);

  // Confined to the strand.
  bool is_ended_ = false;
  bool is_searching_ = false;
  bool has_searched_ = false;
  // In a row that found nothing to read; no more than matter.
  int quiet_searches_ = 0;
  // There will be a hint when a search is wanted.
  bool is_watched_ = false;
  // Something happened while one ran.
  bool is_search_wanted_ = false;
  // Before that none begins, in steady time.
  absl::Time search_not_before_ = absl::InfinitePast();
  bool has_found_ = false;
  // For the next search.
  Executor::TimerId timer_ = Executor::TimerId::kNone;
  absl::Time search_begun_;
  // What the search found and was not looked at yet.
  std::deque<FoundFile> found_;
  // Open files with nothing to read, those that rested longest first.
  std::deque<uint32_t> resting_;
  std::optional<Replaying> replaying_;
  // Why a file could not be read since the last search.
  absl::Status read_problem_;
  // Of the health that was reported last.
  std::string shown_reason_;
};

}  // namespace penstock::core
