// Holds back writes to a target that fails them all.
// See core/handoff/README.md.
#pragma once

#include "core/base/mutex.h"

#include <absl/base/thread_annotations.h>
#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// One target's circuit breaker, for all writers of all shards of a connector:
//
//         failures, in a row or many        probe_interval
//   CLOSED ───────────────────────▶ OPEN ───────────────────▶ HALF-OPEN
//     ▲                              ▲                         │  │
//     │                              └──────── a probe failed ─┘  │
//     └─────────────────────────────────────── a probe succeeded ─┘
//
// Half-open it admits `probes_max` attempts at once. It paces attempts and
// nothing else: waiting for it is no attempt, and what is written is the same.
//
// Owner:   shared by the shard workers of a connector. Made by make_shared.
// Threads: thread-safe; one short lock.
// Bound:   one listener for each shard; a bit for each attempt of the window.
class Breaker : public std::enable_shared_from_this<Breaker> {
 public:
  struct Options {
    // At so many failures in a row it opens.
    uint32_t consecutive_failures_max = 5;
    // Also at a failure which makes that share of the last `window_writes`
    // attempts since it was closed; fewer attempts say nothing. nullopt: never.
    std::optional<double> failure_ratio;
    uint32_t window_writes = 100;
    absl::Duration probe_interval = absl::Seconds(5);
    uint32_t probes_max = 1;
  };
  enum class State { kClosed, kOpen, kHalfOpen };
  struct Snapshot {
    State state = State::kClosed;
    // How often it opened.
    uint64_t opens = 0;
    // Since it was closed last.
    uint32_t failures_in_a_row = 0;
    // A steady time, while it is open.
    absl::Time probe_at = absl::InfinitePast();
  };

  // Permission for one attempt. Dropped unused it says nothing of the target,
  // and gives back its place among the probes. Move-only.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept;
    Permit& operator=(Permit&& other) noexcept;
    ~Permit();
    // What became of the attempt; later ones change nothing.
    void Succeed();
    void Fail(absl::Time steady_now);
    // It has not ended in time, which counts as a failure. It may still
    // succeed: then the target works, whatever failed since it began.
    void NoteOverdue(absl::Time steady_now);

   private:
    friend class Breaker;
    // Shared by: every permit, so that one may outlive the workers.
    std::shared_ptr<Breaker> breaker_;
    uint64_t episode_ = 0;
    bool is_probe_ = false;
    // Its failure has been counted.
    bool is_overdue_ = false;
  };
  struct Admission {
    // nullopt: not now; ask again at `ask_again`, a steady time, or once a
    // listener is called, whichever comes first.
    std::optional<Permit> permit;
    absl::Time ask_again = absl::InfiniteFuture();
  };

  // Errors: INVALID_CONFIG, naming the field.
  static absl::Status Check(const Options& options);
  // Requires: Check is OK.
  explicit Breaker(const Options& options);

  Admission Ask(absl::Time steady_now);
  // For an attempt that cannot wait: admitted whatever the state.
  Permit Force();
  // Called outside the lock, on any thread, when Ask may answer otherwise; must
  // only record. Before the first Ask.
  void Listen(absl::AnyInvocable<void()> on_moved);
  Snapshot snapshot() const;

 private:
  void Succeeded(const Permit& permit);
  void Failed(const Permit& permit, absl::Time steady_now);
  void Dropped(const Permit& permit);
  // Notes how an attempt ended while it was closed.
  void Note(bool failed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether that is a reason to open. Requires: it was a failure.
  bool HasFailedTooOften() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Open(absl::Time steady_now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Enter(State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellListeners();

  const Options options_;
  // Constant after the first Ask.
  std::vector<absl::AnyInvocable<void()>> listeners_;

  mutable Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kClosed;
  // Counts changes of state: what began before the last one is no news.
  uint64_t episode_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t failures_ ABSL_GUARDED_BY(mu_) = 0;
  // A ring of the last attempts while it was closed: which failed. Grows up to
  // `window_writes`; `oldest_` is then the next to be replaced.
  std::vector<bool> window_ ABSL_GUARDED_BY(mu_);
  size_t oldest_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t window_failures_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t probes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t opens_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time probe_at_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
