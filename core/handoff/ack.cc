#include "core/handoff/ack.h"

#include "core/base/check.h"

#include <utility>

namespace penstock::core {

void AckRef::Drop() {
  AckState* const state = std::exchange(state_, nullptr);
  // Release: what this holder did, Fail included, is seen by the last one.
  // Acquire: the last one sees it.
  if (state->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::unique_ptr<AckState> last(state);
  last->listener->OnAck(last->step, last->failed.load(std::memory_order_relaxed)
                                        ? AckStatus::kFailed
                                        : AckStatus::kDelivered);
}

AckSet& AckSet::operator=(AckSet&& other) noexcept {
  if (this != &other) {
    FailAll();
    refs_ = std::move(other.refs_);
    other.refs_.clear();
  }
  return *this;
}

void AckSet::Absorb(AckSet&& other) {
  for (AckRef& ref : other.refs_) refs_.push_back(std::move(ref));
  other.refs_.clear();
}

void AckSet::Deliver() && { refs_.clear(); }

void AckSet::FailAll() {
  for (const AckRef& ref : refs_) ref.Fail();
  refs_.clear();
}

StepHandle::StepHandle(Step step, std::shared_ptr<AckListener> listener) {
  CHECK(listener != nullptr);
  auto state = std::make_unique<AckState>();
  state->step = step;
  state->listener = std::move(listener);
  ref_ = AckRef(state.release());
}

StepHandle& StepHandle::operator=(StepHandle&& other) noexcept {
  if (this != &other) {
    ref_.Fail();
    ref_ = std::move(other.ref_);
  }
  return *this;
}

StepHandle::~StepHandle() { ref_.Fail(); }

void StepHandle::Resolve() && {
  CHECK(!ref_.IsEmpty());
  ref_.state_->listener->OnMade(ref_.step());
  ref_ = AckRef();
}

}  // namespace penstock::core
