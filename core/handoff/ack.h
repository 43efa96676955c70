// Who still holds a piece of a step, and what became of it.
// See core/handoff/README.md; upholds INV-1 and INV-9.
#pragma once

#include "core/record/step.h"

#include <absl/container/inlined_vector.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace penstock::core {

// The worst wins: a step is delivered only if every piece of it was.
enum class AckStatus : uint8_t { kDelivered, kFailed };

// Hears what becomes of a step.
// Threads: thread-safe; called from any thread; records and returns.
class AckListener {
 public:
  virtual ~AckListener() = default;
  // Ours: the driver's handle was resolved: the step is flushed, so it is a
  // step from now on. At most once, before OnAck.
  virtual void OnMade(Step /*step*/) {}
  // Exactly once per step, when its last handle is gone.
  virtual void OnAck(Step step, AckStatus worst) = 0;
};

// The state behind all handles of one step. Intrusively counted.
struct AckState {
  Step step = 0;
  std::atomic<uint32_t> refs{1};
  std::atomic<bool> failed{false};
  // Shared by: the tracker's owner and every step in flight, so that late acks
  // of an instance that is gone are harmless.
  std::shared_ptr<AckListener> listener;
};

// Seed type: `AckRef`. A copyable share in a step. Copying costs one relaxed
// increment; dropping a copy without a word means delivered (INV-9).
// Threads: thread-compatible; different copies on different threads.
class AckRef {
 public:
  AckRef() = default;
  AckRef(const AckRef& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) {
      state_->refs.fetch_add(1, std::memory_order_relaxed);
    }
  }
  AckRef(AckRef&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  AckRef& operator=(AckRef other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~AckRef() {
    if (state_ != nullptr) Drop();
  }

  // Marks the step failed, for good. Idempotent. Relaxed, for the decrement
  // that follows it releases, and the last one acquires.
  void Fail() const {
    if (state_ != nullptr) {
      state_->failed.store(true, std::memory_order_relaxed);
    }
  }
  bool IsEmpty() const { return state_ == nullptr; }
  // Requires: not empty.
  Step step() const { return state_->step; }

 private:
  friend class StepHandle;
  explicit AckRef(AckState* adopted) : state_(adopted) {}
  // Requires: not empty.
  void Drop();

  AckState* state_ = nullptr;
};

// Seed type: `AckSet`. Handles for data that is not yet durable. Move-only.
// Dropped undelivered it fails every handle it holds (INV-9); moved-from it is
// empty. Threads: thread-compatible.
class AckSet {
 public:
  AckSet() = default;
  AckSet(AckSet&& other) noexcept : refs_(std::move(other.refs_)) {
    other.refs_.clear();
  }
  AckSet& operator=(AckSet&& other) noexcept;
  ~AckSet() { FailAll(); }

  void Push(AckRef ref) { refs_.push_back(std::move(ref)); }
  // Takes all handles of `other`.
  void Absorb(AckSet&& other);
  // The data is durable: all handles resolve as delivered.
  void Deliver() &&;
  size_t size() const { return refs_.size(); }
  bool IsEmpty() const { return refs_.empty(); }

 private:
  void FailAll();
  // In exactly-once a chunk has one.
  absl::InlinedVector<AckRef, 1> refs_;
};

// Ours: the driver's own handle on a step: fails on drop; resolved only after
// the step's last chunk and StepEnd were queued or parked (INV-9). Move-only.
class StepHandle {
 public:
  StepHandle() = default;
  StepHandle(Step step, std::shared_ptr<AckListener> listener);
  StepHandle(StepHandle&&) noexcept = default;
  StepHandle& operator=(StepHandle&& other) noexcept;
  ~StepHandle();

  AckRef Share() const { return ref_; }
  // The step is flushed: OnMade, then this handle no longer holds it back.
  // Requires: not empty.
  void Resolve() &&;
  bool IsEmpty() const { return ref_.IsEmpty(); }
  // Requires: not empty.
  Step step() const { return ref_.step(); }

 private:
  AckRef ref_;
};

}  // namespace penstock::core
