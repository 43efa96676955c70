#include "core/handoff/budget.h"

#include "core/base/check.h"

#include <algorithm>
#include <utility>

namespace penstock::core {

BudgetLease::BudgetLease(std::shared_ptr<InflightBudget> budget, uint64_t bytes)
    : budget_(std::move(budget)), bytes_(bytes) {}

BudgetLease::BudgetLease(BudgetLease&& other) noexcept
    : budget_(std::move(other.budget_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

BudgetLease& BudgetLease::operator=(BudgetLease&& other) noexcept {
  if (this != &other) {
    Return();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

BudgetLease::~BudgetLease() { Return(); }

BudgetLease BudgetLease::Split(uint64_t bytes) {
  if (bytes == 0) return BudgetLease();
  CHECK(budget_ != nullptr) << "split of an empty lease";
  const uint64_t covered = std::min(bytes, bytes_);
  BudgetLease taken(budget_, covered);
  bytes_ -= covered;
  if (covered < bytes) taken.Merge(budget_->Overdraw(bytes - covered));
  return taken;
}

void BudgetLease::Merge(BudgetLease other) {
  if (other.budget_ == nullptr) return;
  if (budget_ == nullptr) {
    *this = std::move(other);
    return;
  }
  CHECK(budget_ == other.budget_) << "leases of two budgets";
  bytes_ += std::exchange(other.bytes_, 0);
}

void BudgetLease::Return() {
  const uint64_t bytes = std::exchange(bytes_, 0);
  // The budget's callback may run: nothing of this lease is used after it.
  const std::shared_ptr<InflightBudget> budget = std::move(budget_);
  if (budget != nullptr && bytes > 0) budget->Return(bytes);
}

InflightBudget::InflightBudget(Options options, const Clock& clock)
    : options_(options),
      clock_(clock),
      high_bytes_(std::max(
          uint64_t{1}, static_cast<uint64_t>(
                           static_cast<double>(options.limit) * options.high))),
      low_bytes_(static_cast<uint64_t>(static_cast<double>(options.limit) *
                                       options.low)) {
  CHECK_GT(options.limit, 0u);
  CHECK_GT(options.low, 0.0);
  CHECK_LE(options.low, options.high);
  CHECK_LE(options.high, 1.0);
}

std::optional<BudgetLease> InflightBudget::TryReserve(uint64_t bytes) {
  {
    MutexLock lock(mu_);
    // Written so that no sum overflows: usage may be above the limit.
    const bool fits =
        usage_ <= options_.limit && bytes <= options_.limit - usage_;
    if (!fits && usage_ > 0) return std::nullopt;
    Add(bytes);
  }
  return BudgetLease(shared_from_this(), bytes);
}

BudgetLease InflightBudget::ForceReserve(uint64_t bytes) {
  {
    MutexLock lock(mu_);
    Add(bytes);
  }
  return BudgetLease(shared_from_this(), bytes);
}

BudgetLease InflightBudget::Overdraw(uint64_t bytes) {
  {
    MutexLock lock(mu_);
    ++overdrafts_;
    Add(bytes);
  }
  return BudgetLease(shared_from_this(), bytes);
}

bool InflightBudget::MayBegin() const {
  MutexLock lock(mu_);
  return !above_high_;
}

uint64_t InflightBudget::usage() const {
  MutexLock lock(mu_);
  return usage_;
}

uint64_t InflightBudget::overdrafts() const {
  MutexLock lock(mu_);
  return overdrafts_;
}

InflightBudget::Pauses InflightBudget::pauses() const {
  MutexLock lock(mu_);
  Pauses pauses = pauses_;
  if (above_high_) pauses.time += clock_.SteadyNow() - paused_at_;
  return pauses;
}

void InflightBudget::SetOnRoom(absl::AnyInvocable<void()> on_room) {
  on_room_ = std::move(on_room);
}

void InflightBudget::Add(uint64_t bytes) {
  usage_ += bytes;
  if (usage_ < high_bytes_ || above_high_) return;
  above_high_ = true;
  paused_at_ = clock_.SteadyNow();
  ++pauses_.count;
}

void InflightBudget::Return(uint64_t bytes) {
  bool room = false;
  {
    MutexLock lock(mu_);
    CHECK_LE(bytes, usage_) << "more returned than was reserved";
    const uint64_t before = usage_;
    usage_ -= bytes;
    room = (before > low_bytes_ && usage_ <= low_bytes_) || usage_ == 0;
    if (above_high_ && usage_ <= low_bytes_) {
      above_high_ = false;
      pauses_.time += clock_.SteadyNow() - paused_at_;
    }
  }
  if (room && on_room_ != nullptr) on_room_();
}

}  // namespace penstock::core
