// Who may command which pipeline on this worker (rule 1).
// See server/dispatch/README.md; upholds INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/strand.h"
#include "core/connector/requests.h"
#include "server/dispatch/fence_store.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {

// A takeover is finished, and its first command admitted, only when the new
// record is durable *and* every command that was admitted under the old epoch
// has been handed over: from then on nothing of the old epoch acts.
//
// Owner:     the dispatcher. Shared by: its own tasks in flight.
// Threads:   thread-safe; saves run one at a time on `io`.
// Bound:     `pipelines_max` records; those of pipelines that were idle for
//            longer than `grace` make room. Waiting commands: as the callers.
class PipelineFences : public std::enable_shared_from_this<PipelineFences> {
 public:
  struct Options {
    size_t pipelines_max = 10'000;
    absl::Duration grace = absl::Hours(24);
  };

  // One command on its way to a connector; ends with the hand-over.
  // Move-only.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&&) noexcept = default;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass();

   private:
    friend class PipelineFences;
    struct Life;
    // Shared by: all passes of one (pipeline, epoch) and the takeover that
    // waits for them.
    std::shared_ptr<Life> life_;
    // Null after the pass was moved from.
    std::shared_ptr<PipelineFences> fences_;
  };
  using Admit = absl::AnyInvocable<void(absl::StatusOr<Pass>)>;
  // Told, outside of locks, when a pipeline went to a higher epoch.
  using OnTakeover = absl::AnyInvocable<void(const std::string& pipeline)>;

  PipelineFences(Options options, std::unique_ptr<FenceStore> store,
                 std::map<std::string, FenceRecord> records, core::Executor& io,
                 OnTakeover on_takeover);

  // Calls `admit` exactly once: inline where nothing has to be made durable and
  // no takeover is under way.
  // Errors: INVALID_REQUEST, STALE_EPOCH, EPOCH_TAKEN, MEMORY_REFUSED,
  // SHUTTING_DOWN, what saving met.
  void Enter(const core::Fence& fence, Admit admit);
  // From now on nobody new enters; who waits for a takeover is told so.
  void Close();
  // Whether `fence` still commands its pipeline.
  bool IsCurrent(const core::Fence& fence) const;
  // A controller is there, whether it commands or not, until Leave.
  void Stay(const std::string& pipeline);
  void Leave(const std::string& pipeline);
  // Steady time since which nobody stays and no command was admitted; nullopt:
  // somebody stays, or the pipeline is not known.
  std::optional<absl::Time> UnheardSince(const std::string& pipeline) const;
  // The pipeline has connectors, or no more.
  void SetInUse(const std::string& pipeline, bool in_use);
  std::map<std::string, FenceRecord> records() const;

 private:
  // Who waits for a takeover.
  struct Waiting {
    core::Fence fence;
    Admit admit;
  };
  struct Entry {
    FenceRecord record;
    std::shared_ptr<Pass::Life> life;
  };
  // Of whoever commands a pipeline, across epochs.
  struct Presence {
    uint64_t staying = 0;
    absl::Time heard;
  };

  // Admission under the lock; nullopt-like kOk with `pass` unset = takeover.
  absl::Status Judge(const core::Fence& fence, Pass& pass, bool& higher)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeOverNext();
  void TakeOver(const core::Fence& fence, Admit admit);
  // The takeover by `pass` is durable and the old epoch quiet.
  void Begin(const std::string& pipeline, bool took_over, Pass pass,
             Admit admit);
  bool IsExpired(const FenceRecord& record) const;
  void Prune(std::map<std::string, FenceRecord>& records) const;
  void EndPass(const std::shared_ptr<Pass::Life>& life);

  const Options options_;
  const std::unique_ptr<FenceStore> store_;
  core::Executor& io_;
  OnTakeover on_takeover_;
  mutable core::Mutex mu_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
  // Of no other pipelines than `entries_`, and those where somebody stays.
  std::map<std::string, Presence> presences_ ABSL_GUARDED_BY(mu_);
  // One task of `saves_` for each.
  std::deque<Waiting> takings_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  core::Strand saves_;
};

}  // namespace penstock::server
