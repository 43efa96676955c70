#include "core/connector/health.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kOtherTags = "other";

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

}  // namespace

std::string CutMiddle(absl::string_view text, size_t bytes_max) {
  CHECK_GE(bytes_max, size_t{64});
  if (text.size() <= bytes_max) return std::string(text);
  // Room for the note, which is shorter than this for any length.
  const size_t kept = bytes_max - 40;
  size_t head = kept / 2;
  while (head > 0 && IsContinuation(text[head])) --head;
  size_t tail = text.size() - (kept - kept / 2);
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return absl::StrCat(text.substr(0, head), " [", tail - head, " bytes cut] ",
                      text.substr(tail));
}

HealthLog::HealthLog(const Clock& clock)
    : clock_(clock),
      progress_steady_(clock.SteadyNow()),
      progress_wall_(clock.Now()),
      ok_since_(progress_wall_) {}

ErrorEntry HealthLog::AddError(absl::string_view tag, bool fatal,
                               absl::string_view text) {
  ErrorEntry entry;
  entry.time = clock_.Now();
  entry.fatal = fatal;
  entry.text = CutMiddle(text, kErrorBytes);
  MutexLock lock(mu_);
  entry.tag = std::string(tag);
  auto found = tags_.find(entry.tag);
  if (found == tags_.end() && tags_.size() >= kTagsMax) {
    entry.tag = std::string(kOtherTags);
  }
  Tag& kept = found == tags_.end() ? tags_[entry.tag] : found->second;
  entry.index = ++kept.count;
  kept.entries.push_back(entry);
  if (kept.entries.size() > kErrorsPerTag) kept.entries.pop_front();
  ++error_count_;
  if (!first_error_.has_value()) first_error_ = entry.text;
  return entry;
}

void HealthLog::SetFatal(const absl::Status& cause) {
  MutexLock lock(mu_);
  if (fatal_.has_value()) return;
  fatal_ =
      Trouble{.health = {.condition = Condition::kFatal,
                         .reason = CutMiddle(ErrorText(cause), kErrorBytes)},
              .since = clock_.Now()};
}

void HealthLog::SetSource(const ConnectorHealth& health) {
  MutexLock lock(mu_);
  if (health.condition == Condition::kOk) {
    source_.reset();
    NoteIfOk();
    return;
  }
  const Condition condition = health.condition == Condition::kNeedsConfig
                                  ? Condition::kNeedsConfig
                                  : Condition::kDegraded;
  const bool same =
      source_.has_value() && source_->health.condition == condition;
  const absl::Time since = same ? source_->since : clock_.Now();
  source_ = Trouble{.health = {.condition = condition,
                               .reason = CutMiddle(health.reason, kErrorBytes),
                               .next_attempt = health.next_attempt},
                    .since = since};
}

void HealthLog::SetRetry(ShardIndex shard, const absl::Status& error,
                         absl::Time next_attempt) {
  MutexLock lock(mu_);
  auto [at, is_new] = retries_.try_emplace(shard);
  if (is_new) at->second.since = clock_.Now();
  at->second.health = {.condition = Condition::kDegraded,
                       .reason = CutMiddle(absl::StrCat("writing shard ", shard,
                                                        ": ", ErrorText(error)),
                                           kErrorBytes),
                       .next_attempt = next_attempt};
}

void HealthLog::ClearRetry(ShardIndex shard) {
  MutexLock lock(mu_);
  if (retries_.erase(shard) > 0) NoteIfOk();
}

void HealthLog::SetOrphaned(std::optional<std::string> why) {
  MutexLock lock(mu_);
  if (!why.has_value()) {
    orphaned_.reset();
    return NoteIfOk();
  }
  orphaned_ = Trouble{
      .health = {.condition = Condition::kStalled, .reason = *std::move(why)},
      .since = clock_.Now()};
}

void HealthLog::Progress() {
  MutexLock lock(mu_);
  const bool was_stalled = Stall().has_value();
  progress_steady_ = clock_.SteadyNow();
  progress_wall_ = clock_.Now();
  if (was_stalled) NoteIfOk();
}

void HealthLog::SetPending(std::optional<std::string> what) {
  MutexLock lock(mu_);
  const bool was_stalled = Stall().has_value();
  // What just became pending has not stalled for longer than that.
  if (what.has_value() && !pending_.has_value()) {
    progress_steady_ = clock_.SteadyNow();
    progress_wall_ = clock_.Now();
  }
  pending_ = std::move(what);
  if (was_stalled) NoteIfOk();
}

absl::Time HealthLog::StallsAt() const {
  MutexLock lock(mu_);
  if (!pending_.has_value() || Stall().has_value()) {
    return absl::InfiniteFuture();
  }
  return progress_steady_ + kStallAfter;
}

std::optional<HealthLog::Trouble> HealthLog::WorstRetry() const {
  std::optional<Trouble> worst;
  for (const auto& [shard, trouble] : retries_) {
    if (!worst.has_value() || trouble.since < worst->since) worst = trouble;
  }
  return worst;
}

std::optional<HealthLog::Trouble> HealthLog::Stall() const {
  if (!pending_.has_value()) return std::nullopt;
  if (clock_.SteadyNow() < progress_steady_ + kStallAfter) return std::nullopt;
  return Trouble{
      .health = {.condition = Condition::kStalled, .reason = *pending_},
      .since = progress_wall_};
}

std::optional<HealthLog::Trouble> HealthLog::Worst() const {
  if (fatal_.has_value()) return fatal_;
  const bool source_needs_config =
      source_.has_value() &&
      source_->health.condition == Condition::kNeedsConfig;
  if (source_needs_config) return source_;
  const std::optional<Trouble> retry = WorstRetry();
  if (retry.has_value() &&
      (!source_.has_value() || retry->since <= source_->since)) {
    return retry;
  }
  if (source_.has_value()) return source_;
  if (orphaned_.has_value()) return orphaned_;
  return Stall();
}

void HealthLog::NoteIfOk() {
  if (Worst().has_value()) return;
  ok_since_ = clock_.Now();
  first_error_.reset();
}

HealthLog::Snapshot HealthLog::snapshot() const {
  Snapshot snapshot;
  MutexLock lock(mu_);
  const std::optional<Trouble> worst = Worst();
  if (worst.has_value()) snapshot.health = worst->health;
  snapshot.since = worst.has_value() ? worst->since : ok_since_;
  snapshot.first_error = first_error_;
  snapshot.error_count = error_count_;
  return snapshot;
}

std::vector<ErrorEntry> HealthLog::Errors(size_t count) const {
  std::vector<const ErrorEntry*> all;
  MutexLock lock(mu_);
  for (const auto& [name, tag] : tags_) {
    for (const ErrorEntry& entry : tag.entries) all.push_back(&entry);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ErrorEntry* a, const ErrorEntry* b) {
                     return a->time < b->time;
                   });
  count = std::min(count, all.size());
  std::vector<ErrorEntry> newest;
  newest.reserve(count);
  for (size_t i = all.size() - count; i < all.size(); ++i) {
    newest.push_back(*all[i]);
  }
  return newest;
}

}  // namespace penstock::core
