// Writes one batch at a time through one endpoint.
// See core/handoff/README.md; upholds INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/contract/output_endpoint.h"
#include "core/contract/output_target.h"
#include "core/handoff/shard_backlog.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// One attempt: BatchStart, PushBuffer…, BatchEnd, Committer().Commit. Each of
// these calls is a task of the executor (pushes up to `push_bytes_max`), so
// that a scheduler may interleave or stop them, and blocks nothing but its
// thread.
//
// Owner:     a shard worker, which its tasks hold weakly, and while a call is
//            running not weakly.
// Threads:   Begin and Abandon are confined to the worker's strand; the calls
//            run one at a time on the executor, beside that strand.
// Lifecycle: Begin, then `done`, any number of times; Abandon ends it.
// Bound:     one batch.
class ShardWriter {
 public:
  struct Options {
    ShardIndex shard = 0;
    // Rows go to PushBuffer, messages to PushKey.
    FrameKind frames = FrameKind::kConcatenated;
    // Bytes pushed in one task, at least one frame.
    uint64_t push_bytes_max = 0;
  };
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `owner` owns this. All but `options` outlive it.
  ShardWriter(const Options& options, std::weak_ptr<const void> owner,
              OutputEndpoint& endpoint, OutputCommitter& committer,
              Executor& executor);

  // What the endpoint is told beside the steps.
  struct Terms {
    // Empty in exactly-once.
    std::string id;
    // Whether to name the chunks.
    bool chunk_ids = false;
    absl::Time deadline = absl::InfiniteFuture();
  };

  // `done` runs once, in a task of the executor and outside of any call of the
  // endpoint: with OK once the target holds `write`, else with what failed.
  // `write` is kept until then, its frames even until a late commit's answer.
  void Begin(std::shared_ptr<const ShardWrite> write, Terms terms, Done done);
  // Ends the attempt if it is between two calls: `done` is dropped, and Begin
  // may follow. False: a call is running, a commit is not answered, or `done`
  // is about to run; the attempt goes on.
  bool GiveUp();
  // No further call begins. True: one is running; `done` runs with CANCELLED
  // once it has returned. False: `done` is dropped. A commit that is not
  // answered is no running call. Idempotent.
  bool Abandon();

 private:
  enum class Phase { kBatchStart, kPush, kBatchEnd, kCommit, kAnswer };

  // What is let go of without the lock.
  struct Ended {
    std::shared_ptr<const ShardWrite> write;
    Done done;
  };

  absl::Status BatchStart();
  Ended End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Post(Phase phase, uint64_t attempt);
  // Whether a call may begin.
  bool Enter(uint64_t attempt);
  // `next` is set to what follows.
  absl::Status Run(Phase phase, uint64_t attempt, Phase& next);
  void Leave(uint64_t attempt, absl::Status status, Phase next);
  absl::Status PushSome(Phase& next);
  absl::Status Push(absl::string_view frame);
  void Commit(uint64_t attempt);
  void Answered(uint64_t attempt, absl::Status status);

  const Options options_;
  const std::weak_ptr<const void> owner_;
  OutputEndpoint& endpoint_;
  OutputCommitter& committer_;
  Executor& executor_;

  // Confined to the call that is running; otherwise as if guarded by mu_.
  // Shared by: the worker, this and a commit that is not answered.
  std::shared_ptr<const ShardWrite> write_;
  Terms terms_;
  size_t next_chunk_ = 0;

  Mutex mu_;
  uint64_t attempt_ ABSL_GUARDED_BY(mu_) = 0;
  bool in_call_ ABSL_GUARDED_BY(mu_) = false;
  // The commit's call has returned, its answer has not come.
  bool in_commit_ ABSL_GUARDED_BY(mu_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mu_) = false;
  // The committer's, if it came before its call returned.
  std::optional<absl::Status> answer_ ABSL_GUARDED_BY(mu_);
  Done done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
