// How far a pipeline is, for a person or a program.
#pragma once

#include "client/controller/controller.h"
#include "client/controller/lease.h"

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <string>

namespace penstock::client {

// Totals over all connectors.
struct RunTotals {
  uint64_t records = 0;
  uint64_t bytes = 0;
  core::Step step = 0;
  core::Step released = 0;
  core::Step completed = 0;
  core::Step checkpointed = 0;
  uint64_t recoveries = 0;
  // Connectors that lived when the controller started, and were kept.
  uint64_t adopted = 0;
  // How many were not, by why.
  std::map<std::string, uint64_t> not_adopted;
  BadRecords bad_records;
  std::string health = "OK";
};
RunTotals TotalsOf(const ControllerSnapshot& snapshot);

// Prints a live line that is rewritten (terminal), a line every few seconds
// (text elsewhere), or one JSON object a second. What nobody reads it leaves
// out.
// Threads: confined to one thread.
class ProgressPrinter {
 public:
  enum class Style { kLive, kPlain, kJson };
  static Style StyleOf(const std::string& format);

  ProgressPrinter(Style style, absl::Time steady_now)
      : style_(style), started_(steady_now), last_(steady_now) {}

  // So much there is to read from the beginning on, records and the LF behind
  // each; 0: nobody knows.
  void SetInputBytes(uint64_t bytes) { input_bytes_ = bytes; }
  // Prints if it is time.
  void Show(const ControllerSnapshot& snapshot, absl::Time steady_now);
  // Another controller leads. Prints if it is time, or if another one does now.
  void ShowStandby(const LeaseState& lease, absl::Time steady_now);
  // A controller of this run has ended, and another one may count from nothing:
  // what this one did is part of all that is said from now on.
  void EndReign(const ControllerSnapshot& last);
  // The last words: totals, time, rate.
  void Finish(const ControllerSnapshot& snapshot, int worker_restarts,
              const std::string& outcome, absl::Time steady_now);

 private:
  RunTotals TotalsWith(const ControllerSnapshot& snapshot) const;

  const Style style_;
  const absl::Time started_;
  absl::Time last_;
  uint64_t last_bytes_ = 0;
  double rate_ = 0;
  uint64_t input_bytes_ = 0;
  // Of the reigns that have ended.
  RunTotals before_;
  // Who led when ShowStandby printed last.
  std::string leader_;
};

}  // namespace penstock::client
