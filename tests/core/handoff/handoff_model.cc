#include "tests/core/handoff/handoff_model.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint64_t kPositionBytes = 16;

}  // namespace

HandoffModel::HandoffModel(Options options)
    : options_(std::move(options)), shards_(options_.shards) {}

bool HandoffModel::exactly_once() const {
  return options_.config.level == FtModel::kExactlyOnce;
}

void HandoffModel::BeginStep(Step step) {
  step_ = step;
  in_step_ = true;
  Hold(step);
  if (fatal_) return LetGo(step, /*failed=*/true);
  has_handle_ = true;
  reservation_ = options_.reserve;
  usage_ += reservation_;
  for (Shard& shard : shards_) shard.chunks_of_step = 0;
}

void HandoffModel::Push(ShardIndex index, std::string text, Fault fault,
                        absl::Time now) {
  ++counters_.records_in;
  if (fatal_) {
    ++counters_.records_discarded;
    return;
  }
  Shard& shard = shards_[index];
  if (fault != Fault::kNone) return Refuse(shard, fault);
  if (shard.open.empty()) shard.open_since = now;
  if (shard.open_steps.empty() || shard.open_steps.back() != step_) {
    shard.open_steps.push_back(step_);
    Hold(step_);
  }
  shard.open_bytes += RowBytes(shard, text);
  shard.open.push_back({.step = step_, .text = std::move(text)});
  ++shard.accepted;
  ++counters_.records_out;
  if (shard.open_bytes >= options_.config.target_bytes ||
      shard.open.size() >= options_.config.rows_max) {
    Seal(shard);
  }
}

void HandoffModel::Refuse(const Shard& shard, Fault fault) {
  const bool holds_rows =
      options_.encoding == Encoding::kBlocks && !shard.open.empty();
  const bool is_the_records =
      fault == Fault::kBad || (fault == Fault::kThrow && !holds_rows);
  if (is_the_records && options_.config.encode_policy == EncodePolicy::kSkip) {
    ++counters_.records_skipped;
    return;
  }
  ++counters_.records_discarded;
  Poison();
}

Flow HandoffModel::EndStep() {
  for (Shard& shard : shards_) {
    if (exactly_once()) {
      if (!fatal_) Seal(shard);
    } else if (!shard.open.empty()) {
      shard.lease = TakeLease(
          shard, shard.open_bytes + (options_.config.row_positions
                                         ? shard.open.size() * kPositionBytes
                                         : 0));
    }
  }
  for (Shard& shard : shards_) {
    if (!exactly_once() || fatal_) break;
    Hold(step_);
    Send(shard, Item{.steps = {step_}});
  }
  in_step_ = false;
  usage_ -= std::exchange(reservation_, 0);
  if (fatal_) return Flow::kFatal;
  has_handle_ = false;
  ++made_;
  LetGo(step_, /*failed=*/false);
  return parked_total() > 0 ? Flow::kBlocked : Flow::kContinue;
}

Flow HandoffModel::Relieve() {
  bool closed = false;
  for (Shard& shard : shards_) {
    if (shard.closed && !shard.parked.empty()) {
      closed = true;
      DropAll(shard.parked);
    }
    while (!shard.parked.empty() && shard.queue.size() < options_.queue_items) {
      shard.queue.push_back(std::move(shard.parked.front()));
      shard.parked.pop_front();
    }
  }
  if (closed) Poison();
  if (fatal_) return Flow::kFatal;
  return parked_total() > 0 ? Flow::kBlocked : Flow::kContinue;
}

Flow HandoffModel::FlushTerminal() {
  for (Shard& shard : shards_) {
    if (!exactly_once() && !fatal_) Seal(shard);
  }
  return Relieve();
}

absl::Time HandoffModel::FlushAged(absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  for (Shard& shard : shards_) {
    if (exactly_once() || fatal_ || shard.open.empty()) continue;
    const absl::Time due = shard.open_since + options_.config.age_max;
    if (due <= now) {
      Seal(shard);
    } else {
      next = std::min(next, due);
    }
  }
  return fatal_ ? absl::InfiniteFuture() : next;
}

HandoffModel::Item HandoffModel::Receive(ShardIndex shard) {
  Item item = std::move(shards_[shard].queue.front());
  shards_[shard].queue.pop_front();
  return item;
}

void HandoffModel::Settle(const Item& item, bool delivered) {
  usage_ -= item.lease;
  for (const Step step : item.steps) LetGo(step, !delivered);
}

void HandoffModel::DropHandoff() {
  for (Shard& shard : shards_) {
    DropOpen(shard);
    DropAll(shard.parked);
  }
  usage_ -= std::exchange(reservation_, 0);
  if (std::exchange(has_handle_, false)) LetGo(step_, /*failed=*/true);
}

void HandoffModel::DropQueues() {
  for (Shard& shard : shards_) DropAll(shard.queue);
}

AckStatus HandoffModel::FateOf(Step step) const {
  const StepState& state = steps_.at(step);
  CHECK_EQ(state.holders, 0) << "step " << step;
  return state.failed ? AckStatus::kFailed : AckStatus::kDelivered;
}

uint64_t HandoffModel::RowBytes(const Shard& shard,
                                const std::string& text) const {
  if (options_.encoding != Encoding::kMessages) return 4 + text.size();
  // Key, value, number of headers; name, value of the header "n".
  return 4 + 4 + text.size() + 4 + 4 + 1 + 4 +
         absl::StrCat(shard.accepted).size();
}

void HandoffModel::Seal(Shard& shard) {
  if (shard.open.empty()) return;
  const bool blocks = options_.encoding == Encoding::kBlocks;
  if (blocks && fail_finish_ > 0 && --fail_finish_ == 0) return Poison();
  const uint64_t bytes = shard.open_bytes + (blocks ? 4 : 0);
  Item item;
  item.lease =
      TakeLease(shard, bytes + (options_.config.row_positions
                                    ? shard.open.size() * kPositionBytes
                                    : 0));
  item.rows = std::exchange(shard.open, {});
  item.steps = std::exchange(shard.open_steps, {});
  item.index = exactly_once() ? shard.chunks_of_step++ : 0;
  item.oldest = shard.open_since;
  shard.open_bytes = 0;
  counters_.bytes_out += bytes;
  ++counters_.chunks_sealed;
  Send(shard, std::move(item));
}

// Out of the shard's own lease, then out of the reservation, then beyond it.
uint64_t HandoffModel::TakeLease(Shard& shard, uint64_t bytes) {
  const uint64_t own = std::exchange(shard.lease, 0);
  if (own >= bytes) return own;
  const uint64_t reserved = std::min(bytes - own, reservation_);
  const uint64_t beyond = bytes - own - reserved;
  reservation_ -= reserved;
  usage_ += beyond;
  if (beyond > 0) ++overdrafts_;
  return bytes;
}

void HandoffModel::Send(Shard& shard, Item item) {
  if (!shard.parked.empty()) {
    shard.parked.push_back(std::move(item));
  } else if (shard.closed) {
    Settle(item, /*delivered=*/false);
    Poison();
  } else if (shard.queue.size() == options_.queue_items) {
    shard.parked.push_back(std::move(item));
  } else {
    shard.queue.push_back(std::move(item));
  }
}

void HandoffModel::Poison() {
  if (fatal_) return;
  fatal_ = true;
  for (Shard& shard : shards_) {
    DropOpen(shard);
    while (in_step_ && exactly_once() && !shard.parked.empty() &&
           shard.parked.back().steps.back() == step_) {
      Settle(shard.parked.back(), /*delivered=*/false);
      shard.parked.pop_back();
    }
  }
  usage_ -= std::exchange(reservation_, 0);
  if (std::exchange(has_handle_, false)) LetGo(step_, /*failed=*/true);
}

void HandoffModel::LetGo(Step step, bool failed) {
  StepState& state = steps_.at(step);
  state.failed |= failed;
  if (--state.holders == 0) ++resolved_;
}

void HandoffModel::DropOpen(Shard& shard) {
  for (const Step step : std::exchange(shard.open_steps, {})) {
    LetGo(step, /*failed=*/true);
  }
  shard.open.clear();
  shard.open_bytes = 0;
  usage_ -= std::exchange(shard.lease, 0);
}

void HandoffModel::DropAll(std::deque<Item>& items) {
  for (const Item& item : items) Settle(item, /*delivered=*/false);
  items.clear();
}

size_t HandoffModel::parked_total() const {
  size_t total = 0;
  for (const Shard& shard : shards_) total += shard.parked.size();
  return total;
}

}  // namespace penstock::core
