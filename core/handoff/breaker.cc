#include "core/handoff/breaker.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

// Longer than anybody waits, and far from overflow.
constexpr absl::Duration kProbeIntervalMax = absl::Hours(24);

// More than any window needs; one bit each.
constexpr uint32_t kWindowMax = 1'000'000;

absl::Status Refuse(absl::string_view field, absl::string_view problem) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("checking a circuit breaker: ", field, " ", problem),
      {{"field", absl::StrCat("delivery.breaker.", field)}});
}

}  // namespace

Breaker::Permit::Permit(Permit&& other) noexcept
    : breaker_(std::move(other.breaker_)),
      episode_(other.episode_),
      is_probe_(other.is_probe_),
      is_overdue_(other.is_overdue_) {}

Breaker::Permit& Breaker::Permit::operator=(Permit&& other) noexcept {
  std::swap(breaker_, other.breaker_);
  std::swap(episode_, other.episode_);
  std::swap(is_probe_, other.is_probe_);
  std::swap(is_overdue_, other.is_overdue_);
  return *this;
}

Breaker::Permit::~Permit() {
  if (breaker_ != nullptr) breaker_->Dropped(*this);
}

void Breaker::Permit::Succeed() {
  if (const auto breaker = std::move(breaker_)) breaker->Succeeded(*this);
}

void Breaker::Permit::Fail(absl::Time steady_now) {
  const auto breaker = std::move(breaker_);
  if (breaker != nullptr && !is_overdue_) breaker->Failed(*this, steady_now);
}

void Breaker::Permit::NoteOverdue(absl::Time steady_now) {
  if (breaker_ == nullptr || is_overdue_) return;
  breaker_->Failed(*this, steady_now);
  is_overdue_ = true;
}

absl::Status Breaker::Check(const Options& options) {
  if (options.consecutive_failures_max == 0)
    return Refuse("consecutive_failures_max", "must be above 0");
  // Written so that NaN is refused, too.
  if (options.failure_ratio.has_value() &&
      !(*options.failure_ratio > 0 && *options.failure_ratio <= 1)) {
    return Refuse("failure_ratio", "must be above 0 and at most 1");
  }
  if (options.window_writes == 0 || options.window_writes > kWindowMax) {
    return Refuse("window_writes", "must be from 1 to 1,000,000");
  }
  if (options.probes_max == 0) return Refuse("probes_max", "must be above 0");
  if (options.probe_interval <= absl::ZeroDuration() ||
      options.probe_interval > kProbeIntervalMax) {
    return Refuse("probe_interval", "must be above 0 and at most 24 h");
  }
  return absl::OkStatus();
}

Breaker::Breaker(const Options& options) : options_(options) {
  CHECK_OK(Check(options));
}

Breaker::Admission Breaker::Ask(absl::Time steady_now) {
  Admission admission;
  MutexLock lock(mu_);
  if (state_ == State::kOpen) {
    if (steady_now < probe_at_) {
      admission.ask_again = probe_at_;
      return admission;
    }
    Enter(State::kHalfOpen);
  }
  if (state_ == State::kHalfOpen) {
    // Whoever has a probe tells the listeners.
    if (probes_ == options_.probes_max) return admission;
    ++probes_;
  }
  admission.permit = Permit();
  admission.permit->breaker_ = shared_from_this();
  admission.permit->episode_ = episode_;
  admission.permit->is_probe_ = state_ == State::kHalfOpen;
  return admission;
}

Breaker::Permit Breaker::Force() {
  Permit permit;
  MutexLock lock(mu_);
  permit.breaker_ = shared_from_this();
  permit.episode_ = episode_;
  return permit;
}

void Breaker::Listen(absl::AnyInvocable<void()> on_moved) {
  listeners_.push_back(std::move(on_moved));
}

Breaker::Snapshot Breaker::snapshot() const {
  MutexLock lock(mu_);
  return {
      .state = state_,
      .opens = opens_,
      .failures_in_a_row = failures_,
      .probe_at = state_ == State::kOpen ? probe_at_ : absl::InfinitePast()};
}

void Breaker::Succeeded(const Permit& permit) {
  {
    MutexLock lock(mu_);
    // One that was overdue is newer than any move that its failure made.
    if (permit.episode_ != episode_ && !permit.is_overdue_) return;
    failures_ = 0;
    if (state_ == State::kClosed) {
      // The window counts each attempt once.
      if (!permit.is_overdue_) Note(false);
      return;
    }
    Enter(State::kClosed);
  }
  TellListeners();
}

void Breaker::Failed(const Permit& permit, absl::Time steady_now) {
  {
    MutexLock lock(mu_);
    if (permit.episode_ != episode_) return;
    if (failures_ < UINT32_MAX) ++failures_;
    if (state_ == State::kOpen) return;
    if (state_ == State::kClosed) {
      Note(true);
      if (!HasFailedTooOften()) return;
    }
    Open(steady_now);
  }
  TellListeners();
}

void Breaker::Dropped(const Permit& permit) {
  {
    MutexLock lock(mu_);
    if (permit.episode_ != episode_ || !permit.is_probe_) return;
    --probes_;
  }
  TellListeners();
}

void Breaker::Note(bool failed) {
  if (window_.size() < options_.window_writes) {
    window_.push_back(failed);
  } else {
    window_failures_ -= window_[oldest_] ? 1 : 0;
    window_[oldest_] = failed;
    oldest_ = (oldest_ + 1) % window_.size();
  }
  window_failures_ += failed ? 1 : 0;
}

bool Breaker::HasFailedTooOften() const {
  if (failures_ >= options_.consecutive_failures_max) return true;
  if (!options_.failure_ratio.has_value() ||
      window_.size() != options_.window_writes) {
    return false;
  }
  // A hair below, for the ratio is a decimal fraction in binary: 0.07 of a
  // hundred writes are seven.
  constexpr double kRounding = 1 - 1e-9;
  return static_cast<double>(window_failures_) >=
         *options_.failure_ratio * static_cast<double>(window_.size()) *
             kRounding;
}

void Breaker::Open(absl::Time steady_now) {
  Enter(State::kOpen);
  ++opens_;
  probe_at_ = steady_now + options_.probe_interval;
}

void Breaker::Enter(State state) {
  state_ = state;
  ++episode_;
  probes_ = 0;
  window_.clear();
  oldest_ = 0;
  window_failures_ = 0;
}

void Breaker::TellListeners() {
  for (auto& listener : listeners_) listener();
}

}  // namespace penstock::core
