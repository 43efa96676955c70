// How a FileReader searches for files.
#include "core/base/error.h"
#include "core/sources/file/file_reader_work.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kSearchTag = "file_search";
constexpr absl::string_view kLossTag = "file_lost";

// From the end of one search to the next; but a tenth of the time at most goes
// into searching.
constexpr absl::Duration kSearchEvery = absl::Milliseconds(250);
// Once so many in a row have found nothing to read: of a thousand idle
// connectors most of the work is this.
constexpr int kQuietSearches = 40;
constexpr absl::Duration kSearchEveryWhenQuiet = absl::Seconds(1);
// Where the kernel tells what happens: it may have missed something.
constexpr absl::Duration kSearchEveryWhenWatched = absl::Seconds(5);
constexpr int kSearchShare = 10;
// Looked at in one task.
constexpr size_t kFoundPerTask = 256;

}  // namespace

void FileReader::Work::StartSearch() {
  if (!is_extended_.load() || is_ended_ || is_searching_) return;
  if (has_searched_ && !follows()) return;
  CancelStep(timer_);
  is_searching_ = true;
  is_search_wanted_ = false;
  watches_->BeginSearch();
  search_begun_ = environment_.clock.SteadyNow();
  follower_.BeginSearch();
  finder_->Begin();
  Post(&Work::SearchSome);
}

void FileReader::Work::SearchSome() {
  if (!finder_->Step()) return Post(&Work::SearchSome);
  std::vector<FoundFile> found = finder_->Take();
  found_.assign(std::make_move_iterator(found.begin()),
                std::make_move_iterator(found.end()));
  has_found_ = !found_.empty();
  Post(&Work::LookAtSome);
}

void FileReader::Work::LookAtSome() {
  for (size_t i = 0; i < kFoundPerTask && !found_.empty(); ++i) {
    const FoundFile& found = found_.front();
    follower_.Look(found);
    watches_->Note(found, files_.AtPath(found.path));
    found_.pop_front();
  }
  if (!found_.empty()) return Post(&Work::LookAtSome);
  EndSearch();
}

void FileReader::Work::EndSearch() {
  FileFollower::News news = follower_.EndSearch(finder_->problem());
  watches_->EndSearch(*finder_, search_begun_, [weak = weak_from_this()] {
    const std::shared_ptr<Work> self = weak.lock();
    if (self != nullptr) self->Post(&Work::SearchSoon);
  });
  is_searching_ = false;
  has_searched_ = true;
  quiet_searches_ =
      news.to_read.empty() ? std::min(quiet_searches_ + 1, kQuietSearches) : 0;
  for (const uint32_t id : news.to_read) {
    KnownFile* const file = files_.Find(id);
    if (file == nullptr || std::exchange(file->is_queued, true)) continue;
    turns_.Add(id);
  }
  next_id_.store(files_.next_id());
  for (const uint32_t id : news.to_forget) {
    queue_.PushWithAux(
        std::nullopt, {}, environment_.clock.Now(),
        {.file = files_.Find(id)->position, .is_forgotten = true});
    files_.Forget(id);
  }
  for (const absl::Status& loss : news.losses) {
    metrics_->files_lost.fetch_add(1);
    consumer_.Error(false, loss, kLossTag);
  }
  absl::Status problem = CheckNotTooMany();
  if (!follows()) {
    problem.Update(news.problem);
    problem.Update(CheckNothingLost());
  }
  if (!problem.ok()) return Fail(problem, kSearchTag);
  is_watched_ = watches_->AreComplete() && IsQuiet(news);
  ShowFiles(news);
  StartReading();
  if (follows()) ScheduleSearch();
}

absl::Status FileReader::Work::CheckNothingLost() {
  absl::Status status;
  files_.ForEach([&status](const KnownFile& file) {
    const FilePosition& position = file.position;
    if (!file.is_lost() || position.length <= position.end || !status.ok()) {
      return;
    }
    status = MakeError(
        Reason::POSITION_EXPIRED,
        absl::StrCat("go on in ", position.path, " at byte ", position.end,
                     ": of ", position.length,
                     " bytes; no file that matches begins as it did; put it "
                     "back, or start anew: another connector name, another "
                     "directory for its sink"),
        {{"path", position.path}, {"position", absl::StrCat(position.end)}});
  });
  return status;
}

absl::Status FileReader::Work::CheckNotTooMany() {
  size_t bytes = 0;
  files_.ForEach([&bytes](const KnownFile& file) {
    bytes += FlushedPlaces::BytesOf(file.position);
  });
  if (bytes <= config_.positions_bytes_max) return absl::OkStatus();
  return MakeError(
      Reason::UNSUPPORTED,
      absl::StrCat("source file: ", files_.size(), " files match ",
                   config_.path, "; their positions take ", bytes,
                   " bytes of the ", config_.positions_bytes_max,
                   " that a checkpoint has for them: share them out among "
                   "several connectors"),
      {{"field", "path"}, {"files", absl::StrCat(files_.size())}});
}

void FileReader::Work::ScheduleSearch() {
  if (!is_extended_.load()) return;
  const absl::Time now = environment_.clock.SteadyNow();
  const absl::Duration pause = (now - search_begun_) * kSearchShare;
  search_not_before_ = now + pause;
  const absl::Duration every = is_search_wanted_ ? absl::ZeroDuration()
                               : is_watched_     ? kSearchEveryWhenWatched
                               : quiet_searches_ < kQuietSearches
                                   ? kSearchEvery
                                   : kSearchEveryWhenQuiet;
  timer_ = PostAfter(std::max(every, pause), &Work::StartSearch);
}

void FileReader::Work::SearchSoon() {
  is_search_wanted_ = true;
  if (is_searching_ || !follows() || !is_extended_.load() || is_ended_) return;
  CancelStep(timer_);
  timer_ = PostAfter(search_not_before_ - environment_.clock.SteadyNow(),
                     &Work::StartSearch);
}

bool FileReader::Work::IsQuiet(const FileFollower::News& news) const {
  return news.to_read.empty() && news.waiting == 0 && news.leaving == 0 &&
         news.problem.ok() && read_problem_.ok();
}

void FileReader::Work::ShowFiles(const FileFollower::News& news) {
  uint64_t open = 0;
  uint64_t behind = 0;
  files_.ForEach([&](const KnownFile& file) {
    if (file.reading != nullptr) ++open;
    if (!file.is_compressed && file.seen_size > file.position.end) {
      behind += file.seen_size - file.position.end;
    }
  });
  metrics_->files_known.store(files_.size());
  metrics_->files_open.store(open);
  metrics_->files_waiting.store(news.waiting);
  metrics_->bytes_behind.store(behind);
  metrics_->places_watched.store(watches_->watched());
  metrics_->places_polled.store(watches_->unwatched());

  const absl::Status problem =
      news.problem.ok() ? std::exchange(read_problem_, {}) : news.problem;
  ConnectorHealth health;
  if (!problem.ok()) {
    health = {.condition = Condition::kDegraded,
              .reason = std::string(problem.message()),
              .next_attempt = environment_.clock.Now() + kSearchEvery};
  } else if (follows() && !has_found_) {
    health.reason = absl::StrCat("waiting: no file is at ", config_.path);
  }
  // Said once, not at every search.
  if (health.reason == std::exchange(shown_reason_, health.reason)) return;
  if (!problem.ok()) consumer_.Error(false, problem, kSearchTag);
  consumer_.UpdateConnectorHealth(std::move(health));
}

}  // namespace penstock::core
