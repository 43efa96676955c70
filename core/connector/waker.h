// How whatever a driver waits for calls it back.
#pragma once

#include "core/base/strand.h"

#include <absl/functional/any_invocable.h>

#include <atomic>
#include <functional>
#include <memory>

namespace penstock::core {

// Many callers, one driver: however often it is woken before it runs, it runs
// once. Who wakes has recorded something before, which the run will see.
//
//   IDLE ─Wake─▶ POSTED ─Begin─▶ RUNNING ─Wake─▶ AGAIN
//     ▲                             │ End: false   │ End: true
//     └─────────────────────────────┘   RUNNING ◀──┘
//
// Owner:     shared by the driver and everything that may wake it, so that
//            late callbacks of a connector that is gone are harmless.
// Threads:   Wake is thread-safe; Begin and End belong to the strand.
// Bound:     one task of its own in the strand.
class Waker {
 public:
  // `run` is posted to `strand` at most once at a time. It must not own what
  // owns the strand (it holds its driver weakly). Shared by: the driver.
  Waker(std::shared_ptr<Strand> strand, std::function<void()> run);
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Sees to it that the driver runs, or goes on, after this call began.
  // Never runs it inside this call. Blocks: never.
  void Wake();

  // The driver runs: it sees what was recorded before. Until End, a Wake
  // posts nothing.
  void Begin();
  // Returns: true: woken meanwhile, look again (and still running).
  bool End();
  // Instead of End: lets others of the executor have their turn, then goes on.
  void EndAndPost();

 private:
  enum class State { kIdle, kPosted, kRunning, kAgain };

  const std::shared_ptr<Strand> strand_;
  const std::function<void()> run_;
  std::atomic<State> state_{State::kIdle};
};

}  // namespace penstock::core
