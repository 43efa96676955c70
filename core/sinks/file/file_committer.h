// Makes the steps of all shards durable, in groups. See
// core/sinks/file/README.md; upholds INV-1 and INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/manifest.h"
#include "core/sinks/file/takeover.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// One round at a time: the requests that came while the last round ran become
// one record in this writer's manifest, synced; then a look for a higher
// writer; only then are they answered. Whatever leaves it unknown whether a
// higher writer may have read the record breaks the committer for good, so
// that nothing which that writer counts on is ever changed.
//
// Each shard's part of it:
//
//   kIdle ─BeginBatch─▶ kWriting ─EndBatch─▶ kReady ─Commit─▶ kCommitting
//    ▲ │                                                         │
//    │ └──a round finishes its file──▶ kFinishing ──┐            │
//    └───────── done, with or without an error ─────┴────────────┘
//
// A commit that reaches a limit of `roll` finishes the shard's file; so does a
// round for idle shards whose time is over, and FinishFiles. The shard's next
// batch begins a new file. Files are renamed when what says that they are
// finished has been reported.
//
// Owner:     the FileSink. Shared by: its endpoints, the round under way, and
//            weakly its timer.
// Threads:   thread-safe; one endpoint a shard.
// Lifecycle: usable until Break; no way back.
// Bound:     one request a shard; one round at a time on the I/O executor, one
//            timer; kUnplacedMax files that a full disk keeps from their names.
class FileCommitter final : public OutputCommitter,
                            public std::enable_shared_from_this<FileCommitter> {
 public:
  struct Options {
    std::string directory;
    // A part that has grown by this much is followed by a new one.
    uint64_t manifest_bytes_max = 0;
    uint32_t segment_files = 0;
    FileRoll roll;
  };
  static constexpr size_t kUnplacedMax = 256;
  FileCommitter(FileSystem& files, Executor& io, Options options,
                TakenOver taken);
  ~FileCommitter() override;

  // What is committed of a shard, for an endpoint that begins a batch.
  struct Committed {
    // Its data file, which does not exist while `bytes` is 0.
    uint32_t number = 0;
    uint64_t bytes = 0;
    Step progress = 0;
  };
  struct Batch {
    Committed committed;
    // The shard holds exactly these steps: the batch was committed before, is
    // to be answered with OK and not written again.
    bool held = false;
  };
  // Blocks: while the shard's file is being finished, until `deadline`.
  // Errors: broken; DEADLINE_EXCEEDED; INVALID_REQUEST while the last batch is
  // being committed; in exactly-once also INVALID_REQUEST for no steps, and
  // PROGRESS_AHEAD or PROGRESS_BEHIND if they do not begin at its progress and
  // are not held.
  absl::StatusOr<Batch> BeginBatch(ShardIndex shard, StepRange steps,
                                   absl::Time deadline);
  // The batch that began is durable in the first `bytes` of the shard's data.
  void EndBatch(ShardIndex shard, StepRange steps, uint64_t bytes);

  // OK, or why nothing works any more.
  absl::Status broken() const;
  // From now on everything fails with `why`; the first one counts.
  void Break(absl::Status why);
  // Finishes the files of all shards that have committed all they have written,
  // if files are renamed; the others are the next open's.
  // A round that was scheduled and has not begun is run first.
  // Blocks: as two rounds do, and while one runs.
  void FinishFiles();

  const ManifestHeader& header() const { return header_; }

  void Commit(ShardIndex shard, StepRange steps, Done done) override;

 private:
  enum class Phase { kIdle, kWriting, kReady, kCommitting, kFinishing };
  struct Shard {
    Phase phase = Phase::kIdle;
    Committed committed;
    // Of the last batch begun.
    bool held = false;
    // While kReady or kCommitting.
    StepRange steps;
    uint64_t bytes = 0;
    // Of the file, once it has committed bytes: where its steps begin, and when
    // its first commit came.
    Step first_step = 0;
    absl::Time begun;
  };
  struct Request {
    ShardIndex shard = 0;
    Done done;
  };

  bool exactly_once() const { return header_.level == FtModel::kExactlyOnce; }
  absl::Status Admit(ShardIndex shard, StepRange steps)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ScheduleRound();
  void RunRound();
  void EndRound();
  // One round's requests; `all`: it finishes every file that it may.
  void RunOnce(std::vector<Request> requests, bool all);
  std::vector<ShardCommit> Collect(const std::vector<Request>& requests,
                                   bool all);
  bool IsFull(const Shard& shard, Step end, uint64_t bytes,
              absl::Time now) const;
  // When the next idle file's time is over; infinite: never.
  absl::Duration TimeLeft(absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ArmTimer();
  void OnTimer();
  absl::Status Write(const std::vector<ShardCommit>& commits);
  absl::Status ContinueInNewPart();
  // Seals what may be sealed, then makes a part of what is left.
  absl::StatusOr<ManifestPart> MakeNextPart(uint32_t part);
  // No new part could be made. Errors: STORAGE_FULL: nor can the old one go on.
  absl::Status GoOnWithoutRoom(const absl::Status& why) const;
  absl::Status Place();
  void CountFiles();
  // Appends to the manifest and syncs it. Errors: STORAGE_FULL: nothing
  // happened. Any other: it is unknown.
  absl::Status WriteRecord(absl::string_view record);
  std::string ManifestPath() const;
  void Finish(const std::vector<ShardCommit>& commits,
              const absl::Status& result);

  FileSystem& files_;
  Executor& io_;
  const Options options_;
  const ManifestHeader header_;

  mutable Mutex mu_;
  CondVar round_ended_;
  absl::Status broken_ ABSL_GUARDED_BY(mu_);
  std::vector<Shard> shards_ ABSL_GUARDED_BY(mu_);
  std::vector<Request> pending_ ABSL_GUARDED_BY(mu_);
  // A round is scheduled, or running.
  bool round_runs_ ABSL_GUARDED_BY(mu_) = false;
  bool is_running_ ABSL_GUARDED_BY(mu_) = false;
  bool timer_is_armed_ ABSL_GUARDED_BY(mu_) = false;
  Executor::TimerId timer_ ABSL_GUARDED_BY(mu_) = Executor::TimerId::kNone;

  // Confined to the round.
  CommittedState state_;
  // Files of state_ by stage.
  size_t finished_files_ = 0;
  size_t placed_files_ = 0;
  ManifestPart manifest_;
  uint64_t part_bytes_at_start_;
  uint32_t part_ = 0;
  std::optional<uint32_t> previous_part_;
  uint32_t next_part_ = 1;
  uint32_t next_segment_;
  uint64_t sequence_ = kFirstCommitSequence;
};

}  // namespace penstock::core
