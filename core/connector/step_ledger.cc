#include "core/connector/step_ledger.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/contract/resume.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {
namespace {

uint64_t PositionBytes(const Resume& resume) {
  if (const auto* replay = std::get_if<Resume::Replay>(&resume.kind())) {
    return replay->seek.capacity() + replay->replay.capacity();
  }
  if (const auto* seek = std::get_if<Resume::Seek>(&resume.kind())) {
    return seek->seek.capacity();
  }
  return 0;
}

}  // namespace

uint64_t MemoryBytes(const StepResult& result) {
  uint64_t bytes = sizeof(StepResult) + PositionBytes(result.resume);
  if (result.full_position.has_value()) {
    bytes += result.full_position->capacity();
  }
  bytes += result.watermarks.capacity() * sizeof(Watermark);
  for (const Watermark& watermark : result.watermarks) {
    if (watermark.metadata.has_value()) bytes += watermark.metadata->capacity();
  }
  if (result.transaction_label.has_value()) {
    bytes += result.transaction_label->capacity();
  }
  return bytes;
}

StepLedger::StepLedger(Options options)
    : options_(options),
      made_steps_(options.base_steps),
      released_steps_(options.base_steps) {}

absl::StatusOr<StepLedger::ResultPtr> StepLedger::Ask(
    Step step, Step previous_steps) const {
  MutexLock lock(mu_);
  if (step < made_steps_) {
    if (ResultPtr result = Find(step); result != nullptr) return result;
    return Gone(step);
  }
  if (absl::Status chain = CheckChain(step, previous_steps); !chain.ok()) {
    return chain;
  }
  return ResultPtr();
}

absl::StatusOr<std::optional<ReplayReply>> StepLedger::AskReplay(
    Step step, Step previous_steps) const {
  MutexLock lock(mu_);
  if (step < made_steps_) {
    for (const Replayed& replayed : replayed_) {
      if (replayed.step == step) return std::optional(replayed.reply);
    }
    return Gone(step);
  }
  if (absl::Status chain = CheckChain(step, previous_steps); !chain.ok()) {
    return chain;
  }
  return std::optional<ReplayReply>();
}

absl::Status StepLedger::CheckRoom() const {
  MutexLock lock(mu_);
  if (retained_.empty() ||
      retained_bytes_ + kResultBytes <= options_.retained_bytes_max) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::RETAINED_FULL,
      absl::StrCat("making a step: ", retained_.size(), " results hold ",
                   retained_bytes_, " of ", options_.retained_bytes_max,
                   " bytes; release steps from ", released_steps_, " on"),
      {{"retained_bytes", absl::StrCat(retained_bytes_)},
       {"retained_bytes_max", absl::StrCat(options_.retained_bytes_max)},
       {"released_steps", absl::StrCat(released_steps_)}});
}

void StepLedger::Add(ResultPtr result) {
  MutexLock lock(mu_);
  CHECK_GE(result->step, made_steps_) << "a number never means two contents";
  made_steps_ = result->step + 1;
  unfinished_.push_back(result->step);
  retained_bytes_ += MemoryBytes(*result);
  retained_.push_back(std::move(result));
}

void StepLedger::AddReplayed(Step step, const ReplayReply& reply) {
  MutexLock lock(mu_);
  CHECK_GE(step, made_steps_) << "a number never means two contents";
  CHECK(retained_.empty()) << "replay comes before any new step";
  made_steps_ = step + 1;
  released_steps_ = step + 1;
  unfinished_.push_back(step);
  replayed_.push_back({.step = step, .reply = reply});
  if (replayed_.size() > kReplaysKept) replayed_.pop_front();
}

absl::Status StepLedger::Release(Step released_steps) {
  // Freed outside the lock.
  std::vector<ResultPtr> freed;
  MutexLock lock(mu_);
  if (released_steps > made_steps_) {
    return MakeError(
        Reason::RELEASE_AHEAD,
        absl::StrCat("releasing the steps below ", released_steps, ": only ",
                     "those below ", made_steps_, " were made"),
        {{"released_steps", absl::StrCat(released_steps)},
         {"made_steps", absl::StrCat(made_steps_)}});
  }
  if (released_steps <= released_steps_) return absl::OkStatus();
  released_steps_ = released_steps;
  while (!retained_.empty() && retained_.front()->step < released_steps) {
    retained_bytes_ -= MemoryBytes(*retained_.front());
    freed.push_back(std::move(retained_.front()));
    retained_.pop_front();
  }
  return absl::OkStatus();
}

void StepLedger::Complete(Step completed_steps) {
  MutexLock lock(mu_);
  while (!unfinished_.empty() && unfinished_.front() < completed_steps) {
    unfinished_.pop_front();
  }
}

std::vector<Step> StepLedger::unfinished_steps() const {
  MutexLock lock(mu_);
  return {unfinished_.begin(), unfinished_.end()};
}

Step StepLedger::made_steps() const {
  MutexLock lock(mu_);
  return made_steps_;
}

Step StepLedger::released_steps() const {
  MutexLock lock(mu_);
  return released_steps_;
}

StepLedger::ResultPtr StepLedger::Retained(Step step) const {
  MutexLock lock(mu_);
  return Find(step);
}

StepLedger::Snapshot StepLedger::snapshot() const {
  MutexLock lock(mu_);
  Snapshot snapshot = {.made_steps = made_steps_,
                       .released_steps = released_steps_,
                       .retained_steps = {},
                       .retained_bytes = retained_bytes_};
  snapshot.retained_steps.reserve(retained_.size());
  for (const ResultPtr& result : retained_) {
    snapshot.retained_steps.push_back(result->step);
  }
  return snapshot;
}

StepLedger::ResultPtr StepLedger::Find(Step step) const {
  const auto found = std::lower_bound(retained_.begin(), retained_.end(), step,
                                      [](const ResultPtr& result, Step wanted) {
                                        return result->step < wanted;
                                      });
  if (found == retained_.end() || (*found)->step != step) return nullptr;
  return *found;
}

absl::Status StepLedger::Gone(Step step) const {
  const ErrorMetadata metadata = {
      {"step", absl::StrCat(step)},
      {"made_steps", absl::StrCat(made_steps_)},
      {"released_steps", absl::StrCat(released_steps_)}};
  if (step < released_steps_) {
    return MakeError(
        Reason::STEP_RELEASED,
        absl::StrCat("asking for step ", step, ": the steps below ",
                     released_steps_, " are released; their results are gone"),
        metadata);
  }
  return MakeError(
      Reason::STEP_GAP,
      absl::StrCat("asking for step ", step, ": it was never made and the ",
                   "last step is ", made_steps_ - 1, "; use a higher number"),
      metadata);
}

absl::Status StepLedger::CheckChain(Step step, Step previous_steps) const {
  if (step == kStepsMax) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("asking for step ", step, ": the last that ",
                                  "there may be is ", kStepsMax - 1));
  }
  if (previous_steps == made_steps_) return absl::OkStatus();
  return MakeError(
      Reason::STEP_GAP,
      absl::StrCat("asking for step ", step, " behind the steps below ",
                   previous_steps, ": this connector made the steps below ",
                   made_steps_),
      {{"step", absl::StrCat(step)},
       {"previous_steps", absl::StrCat(previous_steps)},
       {"made_steps", absl::StrCat(made_steps_)}});
}

}  // namespace penstock::core
