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
#include <vector>

namespace penstock::core {

// One attempt: BatchStart, PushBuffer…, then BatchEnd and Committer().Commit,
// or BatchProbe. Each of these calls is a task of the executor (pushes up to
// `push_bytes_max`), so that a scheduler may interleave or stop them, and
// blocks nothing but its thread.
//
// Owner:     a shard worker, which its tasks hold weakly, and while a call is
//            running not weakly.
// Threads:   Begin… and Abandon are confined to the worker's strand; the calls
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
  struct Attempt {
    std::shared_ptr<const ShardWrite> write;
    // Whole rows of `write`.
    std::vector<absl::string_view> frames;
    // BatchProbe instead of BatchEnd and the commit.
    bool is_probe = false;
    // What the endpoint is told beside the steps: an id, empty in
    // exactly-once; the names of the chunks, if the frames are these; …
    std::string id;
    bool chunk_ids = false;
    absl::Time deadline = absl::InfiniteFuture();
  };

  // `owner` owns this. All but `options` outlive it.
  ShardWriter(const Options& options, std::weak_ptr<const void> owner,
              OutputEndpoint& endpoint, OutputCommitter& committer,
              Executor& executor);

  // `done` runs once, in a task of the executor and outside of any call of the
  // endpoint: with OK once the target holds the frames (or would take them),
  // else with what failed. `write` is kept until then, its frames even until a
  // late commit's answer.
  void Begin(Attempt attempt, Done done);
  // The same for anything else that blocks and uses rows of `write`.
  void BeginCall(std::shared_ptr<const ShardWrite> write,
                 absl::AnyInvocable<absl::Status()> call, Done done);
  // Ends the attempt if it is between two calls: `done` is dropped, and Begin
  // may follow. False: a call is running, a commit is not answered, or `done`
  // is about to run; the attempt goes on.
  bool GiveUp();
  // No further call begins. True: one is running; `done` runs with CANCELLED
  // once it has returned. False: `done` is dropped. A commit that is not
  // answered is no running call. Idempotent.
  bool Abandon();

 private:
  enum class Phase {
    kBatchStart,
    kPush,
    kBatchEnd,
    kBatchProbe,
    kCommit,
    kCall,
    // Nothing more is called: an answer is to come; or this was it.
    kAnswer,
    kDone
  };

  // What is let go of without the lock.
  struct Ended {
    std::shared_ptr<const ShardWrite> write;
    Done done;
  };

  absl::Status BatchStart();
  void BeginAt(Phase phase, Attempt attempt,
               absl::AnyInvocable<absl::Status()> call, Done done);
  Ended End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Post(Phase phase, uint64_t attempt);
  // Whether a call may begin.
  bool Enter(uint64_t attempt);
  // `next` is set to what follows.
  absl::Status Run(Phase phase, uint64_t attempt, Phase& next);
  void Leave(uint64_t attempt, absl::Status status, Phase next);
  absl::Status PushSome();
  // What follows when nothing is left to push.
  Phase AfterPushes() const;
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
  Attempt work_;
  absl::AnyInvocable<absl::Status()> call_;
  size_t next_frame_ = 0;

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
