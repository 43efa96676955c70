#include "core/connector/waker.h"

#include "core/base/strand.h"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace penstock::core {

// All transitions are read-modify-writes of one atomic with acquire and
// release, so what a waker recorded before Wake is seen behind Begin, or
// behind the End that returned true.

Waker::Waker(std::shared_ptr<Strand> strand, std::function<void()> run)
    : strand_(std::move(strand)), run_(std::move(run)) {}

void Waker::Wake() {
  State state = state_.load(std::memory_order_acquire);
  while (true) {
    // The exchange also where nothing changes: it publishes what was recorded.
    const State next = state == State::kIdle      ? State::kPosted
                       : state == State::kRunning ? State::kAgain
                                                  : state;
    if (state_.compare_exchange_weak(state, next, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      break;
    }
  }
  if (state == State::kIdle) strand_->Post(run_);
}

void Waker::Begin() {
  state_.exchange(State::kRunning, std::memory_order_acq_rel);
}

bool Waker::End() {
  State state = State::kRunning;
  if (state_.compare_exchange_strong(state, State::kIdle,
                                     std::memory_order_acq_rel)) {
    return false;
  }
  state_.exchange(State::kRunning, std::memory_order_acq_rel);
  return true;
}

void Waker::EndAndPost() {
  state_.exchange(State::kPosted, std::memory_order_acq_rel);
  // Through the executor: a strand goes on with its own tasks first.
  strand_->executor().Schedule(
      [strand = strand_, run = run_] { strand->Post(run); });
}

}  // namespace penstock::core
