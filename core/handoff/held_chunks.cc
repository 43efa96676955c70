#include "core/handoff/held_chunks.h"

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

void HeldChunks::Add(ShardItem item, absl::Time steady_now) {
  auto* const chunk = std::get_if<EncodedChunk>(&item);
  CHECK(chunk != nullptr) << "a StepEnd below exactly-once";
  ++chunks_received_;
  rows_ += chunk->rows;
  bytes_ += chunk->frame.size();
  if (chunks_.empty() || chunks_.back().chunk.step != chunk->step) ++steps_;
  chunks_.push_back({.chunk = std::move(*chunk), .since = steady_now});
}

absl::Time HeldChunks::ripens_at() const {
  if (chunks_.empty()) return absl::InfiniteFuture();
  return chunks_.front().since + options_.linger;
}

std::optional<FlushReason> HeldChunks::WhyNow(std::span<const LiftGoal> goals,
                                              absl::Time steady_now) const {
  if (chunks_.empty()) return std::nullopt;
  if (rows_ >= options_.rows_max) return FlushReason::kRows;
  if (bytes_ >= options_.bytes_max) return FlushReason::kBytes;
  if (draining_) return FlushReason::kDrain;
  const bool is_needed =
      std::any_of(goals.begin(), goals.end(),
                  [this](LiftGoal goal) { return goal > chunks_taken(); });
  if (is_needed) return FlushReason::kLift;
  if (steady_now >= ripens_at()) return FlushReason::kLinger;
  return std::nullopt;
}

bool HeldChunks::Fits(const EncodedChunk& chunk,
                      const ShardWrite& write) const {
  return write.chunks.empty() ||
         (write.rows + chunk.rows <= options_.rows_max &&
          write.bytes + chunk.frame.size() <= options_.bytes_max);
}

std::optional<ShardWrite> HeldChunks::Take(std::span<const LiftGoal> goals,
                                           absl::Time steady_now) {
  const std::optional<FlushReason> reason = WhyNow(goals, steady_now);
  if (!reason.has_value()) return std::nullopt;
  ShardWrite write;
  write.reason = *reason;
  write.first_chunk = chunks_taken();
  while (!chunks_.empty() && Fits(chunks_.front().chunk, write)) {
    EncodedChunk chunk = std::move(chunks_.front().chunk);
    chunks_.pop_front();
    rows_ -= chunk.rows;
    bytes_ -= chunk.frame.size();
    if (chunks_.empty() || chunks_.front().chunk.step != chunk.step) --steps_;
    AddNumber(chunk.step, write.numbers);
    write.AddChunk(std::move(chunk));
  }
  write.steps = {.begin = write.numbers.front(),
                 .end = write.numbers.back() + 1};
  under_way_.insert(write.first_chunk);
  return write;
}

std::optional<Step> HeldChunks::Confirm(const ShardWrite& write) {
  CHECK_EQ(under_way_.erase(write.first_chunk), size_t{1});
  return std::nullopt;
}

LiftGoal HeldChunks::reached() const {
  return under_way_.empty() ? chunks_taken() : *under_way_.begin();
}

std::vector<Step> HeldChunks::DropAll() {
  std::vector<Step> numbers;
  for (const HeldChunk& held : chunks_) AddNumber(held.chunk.step, numbers);
  chunks_.clear();
  rows_ = 0;
  bytes_ = 0;
  steps_ = 0;
  return numbers;
}

}  // namespace penstock::core
