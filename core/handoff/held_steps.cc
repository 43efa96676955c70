#include "core/handoff/held_steps.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

void HeldSteps::Add(ShardItem item, absl::Time /*steady_now*/) {
  if (auto* const chunk = std::get_if<EncodedChunk>(&item)) {
    AddChunk(std::move(*chunk));
  } else {
    AddEnd(std::get<StepEnd>(std::move(item)));
  }
}

void HeldSteps::AddChunk(EncodedChunk chunk) {
  if (IsHeldByTarget(chunk.step)) {
    std::move(chunk.acks).Deliver();
    return;
  }
  HeldStep& held = Open(chunk.step);
  held.bytes += chunk.frame.size();
  bytes_ += chunk.frame.size();
  held.chunks.push_back(std::move(chunk));
}

void HeldSteps::AddEnd(StepEnd end) {
  if (IsHeldByTarget(end.step)) {
    ++already_held_steps_;
    std::move(end.acks).Deliver();
    return;
  }
  HeldStep& held = Open(end.step);
  held.ended = true;
  held.end_acks = std::move(end.acks);
}

bool HeldSteps::IsHeldByTarget(Step step) const {
  if (step < options_.progress) return true;
  // Dropping it would lose it: stop instead.
  CHECK_GE(step, progress_) << "a step below the progress made since open";
  return false;
}

HeldSteps::HeldStep& HeldSteps::Open(Step step) {
  if (!steps_.empty() && steps_.back().step == step) {
    CHECK(!steps_.back().ended) << "step " << step << " goes on after its end";
    return steps_.back();
  }
  CHECK(steps_.empty() || (steps_.back().ended && steps_.back().step < step))
      << "step " << step << " comes too early";
  steps_.emplace_back();
  steps_.back().step = step;
  return steps_.back();
}

HeldSteps::HeldStep HeldSteps::PopFront() {
  HeldStep held = std::move(steps_.front());
  steps_.pop_front();
  bytes_ -= held.bytes;
  return held;
}

bool HeldSteps::SetReleased(Step count) {
  if (count <= released_) return false;
  released_ = count;
  return true;
}

bool HeldSteps::FrontIsReady() const {
  return !steps_.empty() && steps_.front().ended &&
         steps_.front().step < released_;
}

std::optional<ShardWrite> HeldSteps::Take(std::span<const LiftGoal> goals,
                                          absl::Time /*steady_now*/) {
  while (FrontIsReady() && steps_.front().chunks.empty()) {
    std::move(PopFront().end_acks).Deliver();
  }
  if (!FrontIsReady()) return TakeLift(goals);
  ShardWrite write;
  while (FrontIsReady() &&
         (write.chunks.empty() ||
          write.bytes + steps_.front().bytes <= options_.bytes_max)) {
    HeldStep held = PopFront();
    write.numbers.push_back(held.step);
    write.end_acks.Absorb(std::move(held.end_acks));
    for (EncodedChunk& chunk : held.chunks) write.AddChunk(std::move(chunk));
  }
  if (FrontIsReady()) write.reason = FlushReason::kBytes;
  write.steps = {.begin = progress_, .end = write.numbers.back() + 1};
  return write;
}

std::optional<ShardWrite> HeldSteps::TakeLift(
    std::span<const LiftGoal> goals) const {
  for (const LiftGoal goal : goals) {
    if (!steps_.empty() && steps_.front().step < goal) continue;
    ShardWrite write;
    write.steps = {.begin = progress_, .end = goal};
    write.reason = FlushReason::kLift;
    return write;
  }
  return std::nullopt;
}

std::optional<Step> HeldSteps::Confirm(const ShardWrite& write) {
  CHECK_GE(write.steps.end, progress_);
  progress_ = write.steps.end;
  return progress_;
}

absl::StatusOr<LiftGoal> HeldSteps::GoalOf(Step steps) const {
  if (steps <= released_) return steps;
  return MakeError(Reason::RELEASE_AHEAD,
                   absl::StrCat("lifting a shard to ", steps, ": only ",
                                released_, " steps are released"));
}

std::vector<Step> HeldSteps::DropFrom(Step first) {
  std::vector<Step> numbers;
  while (!steps_.empty() && steps_.back().step >= first) {
    numbers.push_back(steps_.back().step);
    bytes_ -= steps_.back().bytes;
    steps_.pop_back();
  }
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace penstock::core
