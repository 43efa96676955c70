// Makes the steps of all shards durable, in groups. See
// core/sinks/file/README.md; upholds INV-1 and INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"
#include "core/sinks/file/manifest.h"
#include "core/sinks/file/takeover.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

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
//   kIdle ─BeginBatch─▶ kIdle ─EndBatch─▶ kReady ─Commit─▶ kCommitting
//     ▲                                                         │
//     └──────────────── done, with or without an error ─────────┘
//
// Owner:     the FileSink. Shared by: its endpoints and the round under way.
// Threads:   thread-safe; one endpoint a shard.
// Lifecycle: usable until Break; no way back.
// Bound:     one request a shard; one round at a time on the I/O executor.
class FileCommitter final : public OutputCommitter,
                            public std::enable_shared_from_this<FileCommitter> {
 public:
  struct Options {
    std::string directory;
    // A part that has grown by this much is followed by a new one.
    uint64_t manifest_bytes_max = 0;
  };
  FileCommitter(FileSystem& files, Executor& io, Options options,
                TakenOver taken);

  // What is committed of a shard, for an endpoint that begins a batch.
  struct Committed {
    uint64_t bytes = 0;
    Step progress = 0;
  };
  struct Batch {
    Committed committed;
    // The shard holds exactly these steps: the batch was committed before, is
    // to be answered with OK and not written again.
    bool held = false;
  };
  // Errors: broken; INVALID_REQUEST while the shard's last batch is being
  // committed; in exactly-once also INVALID_REQUEST for no steps, and
  // PROGRESS_AHEAD or PROGRESS_BEHIND if they do not begin at its progress and
  // are not held.
  absl::StatusOr<Batch> BeginBatch(ShardIndex shard, StepRange steps);
  // The batch that began is durable in the first `bytes` of the shard's data.
  void EndBatch(ShardIndex shard, StepRange steps, uint64_t bytes);

  // OK, or why nothing works any more.
  absl::Status broken() const;
  // From now on everything fails with `why`; the first one counts.
  void Break(absl::Status why);

  void Commit(ShardIndex shard, StepRange steps, Done done) override;

 private:
  enum class Phase { kIdle, kReady, kCommitting };
  struct Shard {
    Phase phase = Phase::kIdle;
    Committed committed;
    // Of the last batch begun.
    bool held = false;
    // While not kIdle.
    StepRange steps;
    uint64_t bytes = 0;
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
  std::vector<ShardCommit> Collect(const std::vector<Request>& requests);
  absl::Status Write(const std::vector<ShardCommit>& commits);
  absl::Status ContinueInNewPart();
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
  absl::Status broken_ ABSL_GUARDED_BY(mu_);
  std::vector<Shard> shards_ ABSL_GUARDED_BY(mu_);
  std::vector<Request> pending_ ABSL_GUARDED_BY(mu_);
  bool round_runs_ ABSL_GUARDED_BY(mu_) = false;

  // Confined to the round.
  CommittedState state_;
  ManifestPart manifest_;
  uint64_t part_bytes_at_start_;
  uint32_t part_ = 0;
  uint32_t next_part_ = 1;
  uint64_t sequence_ = kFirstCommitSequence;
};

}  // namespace penstock::core
