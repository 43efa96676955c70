#include "core/sinks/file/file_committer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/durable.h"
#include "core/sinks/file/finished_files.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/takeover.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// How many times its size a part may have while there is no room for the next
// one: what cannot be read in one piece could not be taken over.
constexpr uint64_t kOvergrowthMax = 8;
// An idle file that could not be finished in time is tried again after this.
constexpr absl::Duration kFinishAgainAfter = absl::Seconds(1);

}  // namespace

FileCommitter::FileCommitter(FileSystem& files, Executor& io, Options options,
                             TakenOver taken)
    : files_(files),
      io_(io),
      options_(std::move(options)),
      header_(std::move(taken.header)),
      shards_(header_.shards),
      state_(std::move(taken.state)),
      manifest_(std::move(taken.manifest)),
      part_bytes_at_start_(manifest_.bytes),
      next_segment_(taken.next_segment) {
  CountFiles();
  MutexLock lock(mu_);
  for (size_t i = 0; i < state_.progress.size(); ++i) {
    shards_[i].committed.progress = state_.progress[i];
  }
  for (const CommittedData& data : state_.data) {
    if (data.writer != header_.writer || data.shard >= shards_.size()) continue;
    // Copies were counted first.
    shards_[data.shard].committed.number = data.number + 1;
  }
}

FileCommitter::~FileCommitter() {
  Executor::TimerId timer;
  {
    MutexLock lock(mu_);
    timer = timer_;
  }
  io_.Cancel(timer);
}

absl::StatusOr<FileCommitter::Batch> FileCommitter::BeginBatch(
    ShardIndex shard, StepRange steps, absl::Time deadline) {
  MutexLock lock(mu_);
  CHECK_LT(shard, shards_.size());
  Shard& state = shards_[shard];
  const bool is_free = round_ended_.WaitUntil(
      mu_, deadline, [&state] { return state.phase != Phase::kFinishing; });
  RETURN_IF_ERROR(broken_);
  if (!is_free) {
    return MakeError(
        Reason::DEADLINE,
        absl::StrCat("beginning a batch of shard ", shard, " of ",
                     options_.directory, ": its last file is being finished"));
  }
  if (state.phase == Phase::kCommitting) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("beginning a batch of shard ", shard,
                                  " while the last one is being committed"));
  }
  state.phase = Phase::kWriting;
  state.held = false;
  if (exactly_once()) {
    if (steps.IsEmpty()) {
      return MakeError(
          Reason::INVALID_REQUEST,
          absl::StrCat("beginning a batch of shard ", shard, " without steps"));
    }
    state.held = steps.end == state.committed.progress;
    if (!state.held && steps.begin != state.committed.progress) {
      return MakeError(
          steps.begin < state.committed.progress ? Reason::PROGRESS_AHEAD
                                                 : Reason::PROGRESS_BEHIND,
          absl::StrCat("writing steps from ", steps.begin, " to shard ", shard,
                       ", which holds those below ", state.committed.progress));
    }
  }
  return Batch{.committed = state.committed, .held = state.held};
}

void FileCommitter::EndBatch(ShardIndex shard, StepRange steps,
                             uint64_t bytes) {
  const absl::Time now = io_.clock().SteadyNow();
  MutexLock lock(mu_);
  Shard& state = shards_[shard];
  CHECK(state.phase == Phase::kWriting) << "shard " << shard;
  CHECK_GE(bytes, state.committed.bytes);
  if (state.committed.bytes == 0) {
    state.first_step = steps.begin;
    state.begun = now;
  }
  state.phase = Phase::kReady;
  state.steps = steps;
  state.bytes = bytes;
}

absl::Status FileCommitter::broken() const {
  MutexLock lock(mu_);
  return broken_;
}

void FileCommitter::Break(absl::Status why) {
  CHECK(!why.ok());
  MutexLock lock(mu_);
  if (broken_.ok()) broken_ = std::move(why);
}

absl::Status FileCommitter::Admit(ShardIndex shard, StepRange steps) {
  RETURN_IF_ERROR(broken_);
  if (shard >= shards_.size() || shards_[shard].phase != Phase::kReady ||
      (exactly_once() && shards_[shard].steps != steps)) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("committing steps ", steps.begin, " to ",
                                  steps.end, " of shard ", shard,
                                  ", which are not its last whole batch"));
  }
  shards_[shard].phase = Phase::kCommitting;
  return absl::OkStatus();
}

void FileCommitter::Commit(ShardIndex shard, StepRange steps, Done done) {
  bool starts = false;
  bool held = false;
  absl::Status refused;
  {
    MutexLock lock(mu_);
    refused = Admit(shard, steps);
    held = refused.ok() && shards_[shard].held;
    if (held) {
      shards_[shard].phase = Phase::kIdle;
    } else if (refused.ok()) {
      pending_.push_back({.shard = shard, .done = std::move(done)});
      starts = !std::exchange(round_runs_, true);
    }
  }
  if (held || !refused.ok()) {
    done(std::move(refused));
  } else if (starts) {
    ScheduleRound();
  }
}

void FileCommitter::ScheduleRound() {
  io_.ScheduleTail([self = shared_from_this()] { self->RunRound(); });
}

void FileCommitter::RunRound() {
  std::vector<Request> requests;
  {
    MutexLock lock(mu_);
    // FinishFiles ran it meanwhile.
    if (!round_runs_ || is_running_) return;
    requests = std::exchange(pending_, {});
    is_running_ = true;
  }
  RunOnce(std::move(requests), /*all=*/false);
  EndRound();
}

void FileCommitter::EndRound() {
  bool goes_on = false;
  {
    MutexLock lock(mu_);
    goes_on = round_runs_ = !pending_.empty();
    is_running_ = false;
  }
  round_ended_.NotifyAll();
  if (goes_on) {
    ScheduleRound();
  } else {
    ArmTimer();
  }
}

void FileCommitter::RunOnce(std::vector<Request> requests, bool all) {
  const std::vector<ShardCommit> commits = Collect(requests, all);
  absl::Status result = broken();
  if (result.ok() && finished_files_ > kUnplacedMax) result = Place();
  if (result.ok() && !commits.empty()) result = Write(commits);
  if (!result.ok() && !HasReason(result, Reason::STORAGE_FULL)) Break(result);
  Finish(commits, result);
  for (Request& request : requests) request.done(result);
  if (!result.ok() || finished_files_ == 0) return;
  const absl::Status placed = Place();
  if (HasReason(placed, Reason::STORAGE_FULL)) {
    LOG(WARNING).With("path", options_.directory)
        << "finished files will be renamed later: " << placed.message();
  } else if (!placed.ok()) {
    Break(placed);
  }
}

bool FileCommitter::IsFull(const Shard& shard, Step end, uint64_t bytes,
                           absl::Time now) const {
  const FileRoll& roll = options_.roll;
  if (bytes == 0) return false;
  return (roll.bytes > 0 && bytes >= roll.bytes) ||
         (roll.steps > 0 && end > shard.first_step &&
          end - shard.first_step >= roll.steps) ||
         now - shard.begun >= roll.interval;
}

std::vector<ShardCommit> FileCommitter::Collect(
    const std::vector<Request>& requests, bool all) {
  const absl::Time now = io_.clock().SteadyNow();
  std::vector<ShardCommit> commits;
  commits.reserve(requests.size());
  MutexLock lock(mu_);
  for (const Request& request : requests) {
    const Shard& shard = shards_[request.shard];
    commits.push_back(
        {.shard = request.shard,
         .number = shard.committed.number,
         .bytes = shard.bytes,
         .progress = exactly_once() ? shard.steps.end : 0,
         .finishes = IsFull(shard, shard.steps.end, shard.bytes, now)});
  }
  // Idle files, too, have their time.
  if (!all && options_.roll.interval == absl::InfiniteDuration()) {
    return commits;
  }
  for (ShardIndex i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    if (shard.phase != Phase::kIdle || shard.committed.bytes == 0 ||
        (!all && now - shard.begun < options_.roll.interval)) {
      continue;
    }
    shard.phase = Phase::kFinishing;
    commits.push_back({.shard = i,
                       .number = shard.committed.number,
                       .bytes = shard.committed.bytes,
                       .progress = shard.committed.progress,
                       .finishes = true});
  }
  return commits;
}

void FileCommitter::Finish(const std::vector<ShardCommit>& commits,
                           const absl::Status& result) {
  MutexLock lock(mu_);
  for (const ShardCommit& commit : commits) {
    Shard& shard = shards_[commit.shard];
    // What was not committed must be cut off before the file is finished.
    const bool is_whole = result.ok() || shard.phase == Phase::kFinishing;
    shard.phase = is_whole ? Phase::kIdle : Phase::kWriting;
    if (!result.ok()) continue;
    shard.committed = {.number = commit.number + (commit.finishes ? 1 : 0),
                       .bytes = commit.finishes ? 0 : commit.bytes,
                       .progress = commit.progress};
  }
}

void FileCommitter::FinishFiles() {
  if (!header_.format.renames()) return;
  std::vector<Request> requests;
  {
    MutexLock lock(mu_);
    round_ended_.Wait(mu_, [this] {
      mu_.AssertHeld();
      return !is_running_;
    });
    // A round that is scheduled may come too late, or need this thread.
    requests = std::exchange(pending_, {});
    round_runs_ = is_running_ = true;
  }
  if (!requests.empty()) RunOnce(std::move(requests), /*all=*/false);
  RunOnce({}, /*all=*/true);
  EndRound();
}

absl::Duration FileCommitter::TimeLeft(absl::Time now) const {
  absl::Duration left = absl::InfiniteDuration();
  for (const Shard& shard : shards_) {
    if (shard.phase != Phase::kIdle || shard.committed.bytes == 0) continue;
    left = std::min(left, shard.begun + options_.roll.interval - now);
  }
  return left;
}

void FileCommitter::ArmTimer() {
  if (options_.roll.interval == absl::InfiniteDuration()) return;
  const absl::Time now = io_.clock().SteadyNow();
  absl::Duration left;
  {
    MutexLock lock(mu_);
    left = TimeLeft(now);
    if (!broken_.ok() || timer_is_armed_ || left == absl::InfiniteDuration()) {
      return;
    }
    timer_is_armed_ = true;
  }
  // What is overdue was just tried, and the disk is full.
  if (left <= absl::ZeroDuration()) left = kFinishAgainAfter;
  const Executor::TimerId timer =
      io_.ScheduleAfter(left, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->OnTimer();
      });
  MutexLock lock(mu_);
  timer_ = timer;
}

void FileCommitter::OnTimer() {
  {
    MutexLock lock(mu_);
    timer_is_armed_ = false;
    // The round that runs sets the timer anew.
    if (!broken_.ok() || round_runs_) return;
    round_runs_ = true;
  }
  RunRound();
}

std::string FileCommitter::ManifestPath() const {
  return JoinPath(options_.directory, ManifestName(header_.writer, part_));
}

absl::Status FileCommitter::Write(const std::vector<ShardCommit>& commits) {
  if (manifest_.bytes - part_bytes_at_start_ >= options_.manifest_bytes_max ||
      placed_files_ >= options_.segment_files) {
    RETURN_IF_ERROR(ContinueInNewPart());
  }
  RETURN_IF_ERROR(WriteRecord(EncodeCommit(sequence_, commits)));
  // Who claims from here on reads the record; who claimed before may not have
  // read it, so nothing must be reported.
  const absl::Status fence =
      CheckFence(files_, options_.directory, header_.writer);
  if (!fence.ok()) {
    if (HasReason(fence, Reason::WRITER_FENCED)) return fence;
    return UnknownOutcome("look for a higher writer in", options_.directory,
                          fence);
  }
  RETURN_IF_ERROR(CheckThere(files_, options_.directory, header_.writer,
                             ManifestPath(), manifest_.bytes));
  ++sequence_;
  CHECK(ApplyCommit(header_.writer, header_.format, header_.shards, commits,
                    state_))
      << ManifestPath();
  for (const ShardCommit& commit : commits) {
    if (!commit.finishes) continue;
    ++(header_.format.renames() ? finished_files_ : placed_files_);
  }
  return absl::OkStatus();
}

absl::Status FileCommitter::Place() {
  const absl::Status placed = PlaceFinished(files_, options_.directory, state_);
  CountFiles();
  return placed;
}

void FileCommitter::CountFiles() {
  finished_files_ = CountData(state_, DataStage::kFinished);
  placed_files_ = CountData(state_, DataStage::kPlaced);
}

absl::Status FileCommitter::WriteRecord(absl::string_view record) {
  const std::string path = ManifestPath();
  RETURN_IF_ERROR(AppendRecord(*manifest_.file, path, manifest_.bytes, record));
  manifest_.bytes += record.size();
  return SyncFile(*manifest_.file, path);
}

absl::Status FileCommitter::ContinueInNewPart() {
  const uint32_t part = next_part_++;
  absl::StatusOr<ManifestPart> made = MakeNextPart(part);
  CountFiles();
  if (HasReason(made.status(), Reason::STORAGE_FULL)) {
    return GoOnWithoutRoom(made.status());
  }
  if (!made.ok()) {
    return UnknownOutcome("continue", ManifestPath(), made.status());
  }
  // A crash here leaves two parts that say the same. From here on they must
  // not part ways: if this record cannot be written, neither part goes on.
  const absl::Status linked = WriteRecord(EncodeContinued(sequence_, part));
  if (!linked.ok()) {
    return UnknownOutcome("continue", ManifestPath(), linked);
  }
  // Who is just reading finds its way from the last part to this one.
  if (previous_part_.has_value()) {
    files_
        .Remove(JoinPath(options_.directory,
                         ManifestName(header_.writer, *previous_part_)))
        .IgnoreError();
  }
  previous_part_ = part_;
  manifest_ = *std::move(made);
  part_bytes_at_start_ = manifest_.bytes;
  part_ = part;
  sequence_ = kFirstCommitSequence;
  return absl::OkStatus();
}

absl::StatusOr<ManifestPart> FileCommitter::MakeNextPart(uint32_t part) {
  RETURN_IF_ERROR(SealPlaced(files_, options_.directory, header_,
                             options_.segment_files, next_segment_, state_));
  return MakeManifestPart(files_, options_.directory, header_, state_, part);
}

absl::Status FileCommitter::GoOnWithoutRoom(const absl::Status& why) const {
  const uint64_t grown = manifest_.bytes - part_bytes_at_start_;
  if (grown / kOvergrowthMax >= options_.manifest_bytes_max ||
      placed_files_ / kOvergrowthMax >= options_.segment_files) {
    return WithContext(
        why, absl::StrCat("the manifest ", ManifestPath(), " has grown by ",
                          grown, " bytes and needs a new part; make room"));
  }
  LOG(WARNING).With("path", ManifestPath())
      << "the manifest goes on for now: " << why.message();
  return absl::OkStatus();
}

}  // namespace penstock::core
