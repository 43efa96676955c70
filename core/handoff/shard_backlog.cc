#include "core/handoff/shard_backlog.h"

#include "core/base/check.h"

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// Appends to an ascending list without doubling its last number.
void AddNumber(Step step, std::vector<Step>& numbers) {
  if (numbers.empty() || numbers.back() != step) numbers.push_back(step);
}

}  // namespace

void ShardWrite::AddChunk(EncodedChunk chunk) {
  rows += chunk.rows;
  bytes += chunk.frame.size();
  chunks.push_back(std::move(chunk));
}

AckSet ShardWrite::TakeAcks() {
  AckSet acks = std::move(end_acks);
  for (EncodedChunk& chunk : chunks) acks.Absorb(std::move(chunk.acks));
  return acks;
}

void HeldSteps::Add(ShardItem item, absl::Time steady_now) {
  if (auto* const chunk = std::get_if<EncodedChunk>(&item)) {
    AddChunk(std::move(*chunk), steady_now);
  } else {
    AddEnd(std::get<StepEnd>(std::move(item)), steady_now);
  }
}

void HeldSteps::AddChunk(EncodedChunk chunk, absl::Time steady_now) {
  if (IsHeldByTarget(chunk.step)) {
    std::move(chunk.acks).Deliver();
    return;
  }
  HeldStep& held = Open(chunk.step, steady_now);
  held.bytes += chunk.frame.size();
  bytes_ += chunk.frame.size();
  held.chunks.push_back(std::move(chunk));
}

void HeldSteps::AddEnd(StepEnd end, absl::Time steady_now) {
  if (IsHeldByTarget(end.step)) {
    ++already_held_steps_;
    std::move(end.acks).Deliver();
    return;
  }
  HeldStep& held = Open(end.step, steady_now);
  held.ended = true;
  held.end_acks = std::move(end.acks);
}

bool HeldSteps::IsHeldByTarget(Step step) const {
  if (step < opened_progress_) return true;
  // Dropping it would lose it: stop instead.
  CHECK_GE(step, progress_) << "a step below the progress made since open";
  return false;
}

HeldSteps::HeldStep& HeldSteps::Open(Step step, absl::Time steady_now) {
  if (!steps_.empty() && steps_.back().step == step) {
    CHECK(!steps_.back().ended) << "step " << step << " goes on after its end";
    return steps_.back();
  }
  CHECK(steps_.empty() || (steps_.back().ended && steps_.back().step < step))
      << "step " << step << " comes too early";
  steps_.emplace_back();
  steps_.back().step = step;
  steps_.back().since = steady_now;
  return steps_.back();
}

HeldSteps::HeldStep HeldSteps::PopFront() {
  HeldStep held = std::move(steps_.front());
  steps_.pop_front();
  bytes_ -= held.bytes;
  return held;
}

std::optional<ShardWrite> HeldSteps::Take(const TakeLimits& limits) {
  const auto ready = [&] {
    return !steps_.empty() && steps_.front().ended &&
           steps_.front().step < limits.released;
  };
  while (ready() && steps_.front().chunks.empty()) {
    std::move(PopFront().end_acks).Deliver();
  }
  if (!ready()) return std::nullopt;
  ShardWrite write;
  while (ready() && (write.chunks.empty() ||
                     write.bytes + steps_.front().bytes <= limits.bytes_max)) {
    HeldStep held = PopFront();
    write.numbers.push_back(held.step);
    write.end_acks.Absorb(std::move(held.end_acks));
    for (EncodedChunk& chunk : held.chunks) write.AddChunk(std::move(chunk));
  }
  write.steps = {.begin = progress_, .end = write.numbers.back() + 1};
  return write;
}

void HeldSteps::SetProgress(Step progress) {
  CHECK_GE(progress, progress_);
  progress_ = progress;
}

std::vector<Step> HeldSteps::DropUnreleased(Step released) {
  std::vector<Step> numbers;
  while (!steps_.empty() && steps_.back().step >= released) {
    numbers.push_back(steps_.back().step);
    bytes_ -= steps_.back().bytes;
    steps_.pop_back();
  }
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<Step> HeldSteps::DropAll() { return DropUnreleased(0); }

absl::Time HeldSteps::oldest() const {
  return steps_.empty() ? absl::InfiniteFuture() : steps_.front().since;
}

std::optional<Step> HeldSteps::first_step() const {
  if (steps_.empty()) return std::nullopt;
  return steps_.front().step;
}

void HeldChunks::Add(ShardItem item, absl::Time steady_now) {
  auto* const chunk = std::get_if<EncodedChunk>(&item);
  CHECK(chunk != nullptr) << "a StepEnd below exactly-once";
  bytes_ += chunk->frame.size();
  if (chunks_.empty() || chunks_.back().chunk.step != chunk->step) ++steps_;
  chunks_.push_back({.chunk = std::move(*chunk), .since = steady_now});
}

std::optional<ShardWrite> HeldChunks::Take(const TakeLimits& limits) {
  if (chunks_.empty()) return std::nullopt;
  if (bytes_ < limits.bytes_max && oldest() > limits.oldest_before) {
    return std::nullopt;
  }
  ShardWrite write;
  while (
      !chunks_.empty() &&
      (write.chunks.empty() ||
       write.bytes + chunks_.front().chunk.frame.size() <= limits.bytes_max)) {
    EncodedChunk chunk = std::move(chunks_.front().chunk);
    chunks_.pop_front();
    bytes_ -= chunk.frame.size();
    if (chunks_.empty() || chunks_.front().chunk.step != chunk.step) --steps_;
    AddNumber(chunk.step, write.numbers);
    write.AddChunk(std::move(chunk));
  }
  write.steps = {.begin = write.numbers.front(),
                 .end = write.numbers.back() + 1};
  return write;
}

std::vector<Step> HeldChunks::DropUnreleased(Step /*released*/) { return {}; }

std::vector<Step> HeldChunks::DropAll() {
  std::vector<Step> numbers;
  for (const HeldChunk& held : chunks_) AddNumber(held.chunk.step, numbers);
  chunks_.clear();
  bytes_ = 0;
  steps_ = 0;
  return numbers;
}

absl::Time HeldChunks::oldest() const {
  return chunks_.empty() ? absl::InfiniteFuture() : chunks_.front().since;
}

std::optional<Step> HeldChunks::first_step() const {
  if (chunks_.empty()) return std::nullopt;
  return chunks_.front().chunk.step;
}

}  // namespace penstock::core
