// The bound on bytes between the read and the confirmed write.
// See core/handoff/README.md; upholds INV-6.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

class InflightBudget;

// One holder's share of the budget; returns it when dropped. Move-only;
// moved-from it is empty. Threads: thread-compatible.
class BudgetLease {
 public:
  BudgetLease() = default;
  BudgetLease(BudgetLease&& other) noexcept;
  BudgetLease& operator=(BudgetLease&& other) noexcept;
  ~BudgetLease();

  uint64_t bytes() const { return bytes_; }
  // Takes `bytes` out into a lease of its own. What is missing is added to the
  // budget beyond its limit: an estimate was too low (counted in `overdrafts`).
  // Requires: not default-constructed or moved from, or `bytes` is 0.
  BudgetLease Split(uint64_t bytes);
  // Adds the other lease's bytes. Requires: same budget, or one is empty.
  void Merge(BudgetLease other);

 private:
  friend class InflightBudget;
  BudgetLease(std::shared_ptr<InflightBudget> budget, uint64_t bytes);
  void Return();

  // Shared by: every lease, so that a chunk may outlive its connector.
  std::shared_ptr<InflightBudget> budget_;
  uint64_t bytes_ = 0;
};

// Seed type: `InflightBudget`; ours has a limit.
//
// Owner:   shared by the connector and every lease. Made by make_shared.
// Threads: thread-safe; reserving and returning are one short lock.
// Bound:   `limit` bytes, except that one reservation is always granted while
//          nothing is held (an oversized record is handled alone), and for
//          ForceReserve and overdrafts.
class InflightBudget : public std::enable_shared_from_this<InflightBudget> {
 public:
  struct Options {
    uint64_t limit = uint64_t{64} << 20;
    // Marks, as parts of the limit.
    double high = 0.8;
    double low = 0.5;
  };
  // Requires: limit > 0, 0 < low <= high <= 1; `clock` outlives it.
  explicit InflightBudget(Options options, const Clock& clock = RealClock());
  InflightBudget(const InflightBudget&) = delete;
  InflightBudget& operator=(const InflightBudget&) = delete;

  // nullopt: it does not fit now. Blocks: never.
  std::optional<BudgetLease> TryReserve(uint64_t bytes);
  // For Replay: grants whatever is asked.
  BudgetLease ForceReserve(uint64_t bytes);
  // As ForceReserve, and counts an overdraft: bytes exist that no reservation
  // foresaw.
  BudgetLease Overdraw(uint64_t bytes);
  // May a new step begin? False from the moment usage reaches the high mark
  // until it has fallen to the low mark.
  bool MayBegin() const;
  uint64_t usage() const;
  uint64_t limit() const { return options_.limit; }
  uint64_t overdrafts() const;
  // How often usage rose to the high mark, from below the low one, and how long
  // it then took to fall to the low one, all together; one that goes on counts
  // so far.
  struct Pauses {
    uint64_t count = 0;
    absl::Duration time;
  };
  Pauses pauses() const;
  // Called, outside the lock, whenever usage falls to the low mark or to zero,
  // on the returning thread: must only record. Set once, before use.
  void SetOnRoom(absl::AnyInvocable<void()> on_room);

 private:
  friend class BudgetLease;
  void Add(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Return(uint64_t bytes);

  const Options options_;
  const Clock& clock_;
  const uint64_t high_bytes_;
  const uint64_t low_bytes_;
  absl::AnyInvocable<void()> on_room_;
  mutable Mutex mu_;
  uint64_t usage_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t overdrafts_ ABSL_GUARDED_BY(mu_) = 0;
  // Of those that are over; beside them, since when the last one goes on.
  Pauses pauses_ ABSL_GUARDED_BY(mu_);
  bool above_high_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time paused_at_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
