#include "core/sinks/file/file_committer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/durable.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

// How many times its size a part may have while there is no room for the next
// one: what cannot be read in one piece could not be taken over.
constexpr uint64_t kOvergrowthMax = 8;

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
      part_bytes_at_start_(manifest_.bytes) {
  MutexLock lock(mu_);
  for (size_t i = 0; i < state_.progress.size(); ++i) {
    shards_[i].committed.progress = state_.progress[i];
  }
}

absl::StatusOr<FileCommitter::Batch> FileCommitter::BeginBatch(
    ShardIndex shard, StepRange steps) {
  MutexLock lock(mu_);
  CHECK_LT(shard, shards_.size());
  RETURN_IF_ERROR(broken_);
  Shard& state = shards_[shard];
  if (state.phase == Phase::kCommitting) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("beginning a batch of shard ", shard,
                                  " while the last one is being committed"));
  }
  state.phase = Phase::kIdle;
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
  MutexLock lock(mu_);
  Shard& state = shards_[shard];
  CHECK(state.phase == Phase::kIdle) << "shard " << shard;
  CHECK_GE(bytes, state.committed.bytes);
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
    requests = std::exchange(pending_, {});
  }
  const std::vector<ShardCommit> commits = Collect(requests);
  absl::Status result = broken();
  if (result.ok()) {
    result = Write(commits);
    if (!result.ok() && !HasReason(result, Reason::STORAGE_FULL)) {
      Break(result);
    }
  }
  Finish(commits, result);
  for (Request& request : requests) request.done(result);
  bool goes_on = false;
  {
    MutexLock lock(mu_);
    goes_on = round_runs_ = !pending_.empty();
  }
  if (goes_on) ScheduleRound();
}

std::vector<ShardCommit> FileCommitter::Collect(
    const std::vector<Request>& requests) {
  std::vector<ShardCommit> commits;
  commits.reserve(requests.size());
  MutexLock lock(mu_);
  for (const Request& request : requests) {
    const Shard& shard = shards_[request.shard];
    commits.push_back({.shard = request.shard,
                       .bytes = shard.bytes,
                       .progress = exactly_once() ? shard.steps.end : 0});
  }
  return commits;
}

void FileCommitter::Finish(const std::vector<ShardCommit>& commits,
                           const absl::Status& result) {
  MutexLock lock(mu_);
  for (const ShardCommit& commit : commits) {
    Shard& shard = shards_[commit.shard];
    shard.phase = Phase::kIdle;
    if (result.ok()) {
      shard.committed = {.bytes = commit.bytes, .progress = commit.progress};
    }
  }
}

std::string FileCommitter::ManifestPath() const {
  return JoinPath(options_.directory, ManifestName(header_.writer, part_));
}

absl::Status FileCommitter::Write(const std::vector<ShardCommit>& commits) {
  if (manifest_.bytes - part_bytes_at_start_ >= options_.manifest_bytes_max) {
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
  ++sequence_;
  CHECK(ApplyCommit(header_.writer, header_.shards, commits, state_))
      << ManifestPath();
  return absl::OkStatus();
}

absl::Status FileCommitter::WriteRecord(absl::string_view record) {
  const std::string path = ManifestPath();
  RETURN_IF_ERROR(AppendRecord(*manifest_.file, path, manifest_.bytes, record));
  manifest_.bytes += record.size();
  return SyncFile(*manifest_.file, path);
}

absl::Status FileCommitter::ContinueInNewPart() {
  const uint32_t part = next_part_++;
  absl::StatusOr<ManifestPart> made =
      MakeManifestPart(files_, options_.directory, header_, state_, part);
  if (HasReason(made.status(), Reason::STORAGE_FULL)) {
    const uint64_t grown = manifest_.bytes - part_bytes_at_start_;
    if (grown / kOvergrowthMax >= options_.manifest_bytes_max) {
      return WithContext(
          made.status(),
          absl::StrCat("the manifest ", ManifestPath(), " has grown by ", grown,
                       " bytes and needs a new part; make room"));
    }
    LOG(WARNING).With("path", ManifestPath())
        << "the manifest goes on for now: " << made.status().message();
    return absl::OkStatus();
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
  manifest_ = *std::move(made);
  part_bytes_at_start_ = manifest_.bytes;
  part_ = part;
  sequence_ = kFirstCommitSequence;
  return absl::OkStatus();
}

}  // namespace penstock::core
