// One step on its way from the reader into the handoff, buffer by buffer.
// See core/connector/README.md; upholds INV-4, INV-5, INV-8.
#pragma once

#include "core/connector/consumer.h"
#include "core/connector/lanes.h"
#include "core/connector/outlet.h"
#include "core/handoff/budget.h"
#include "core/handoff/sink_handoff.h"
#include "core/record/record_batch.h"
#include "core/record/step.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::core {

// Both orders are Design §3's canonical one. Of batches: by partition, then by
// source offset; buffers of one partition at one offset keep their arrival
// order.
void SortCanonically(std::vector<RecordBatch>& batches);
void SortCanonically(std::vector<BadRecord>& bad_records);

// A resumable cursor: it hands over one buffer at a time and returns whenever
// somebody else may want a turn.
//
// Owner:     the driver. Threads: confined to its strand.
// Lifecycle: Begin, Push until kDone, End; or Abandon. Then again.
// Bound:     one step's buffers; each is freed as soon as it is handed over.
class StepRunner {
 public:
  // Payload handed over before others of the executor get a turn.
  static constexpr uint64_t kTurnBytes = uint64_t{1} << 20;

  enum class Progress {
    kDone,   // all buffers are handed over
    kAgain,  // an immediate command waits: serve it, then go on
    kYield,  // a turn is over
  };

  // Requires: nothing is running; `outlet` outlives the step.
  void Begin(Outlet& outlet, Step step, FlushedStep flushed);
  bool is_running() const { return outlet_ != nullptr; }
  Progress Push(const Lanes& lanes);

  struct Ended {
    // kFatal: the step failed and there is no result.
    Flow flow = Flow::kContinue;
    // Records that the encoder refused.
    uint64_t records_skipped = 0;
  };
  // Requires: Push returned kDone.
  Ended End();
  // The step stays open in the handoff, whose end fails it.
  // Returns: how many records were not handed over.
  uint64_t Abandon();

 private:
  Outlet* outlet_ = nullptr;
  std::vector<RecordBatch> batches_;
  std::vector<BadRecord> bad_records_;
  size_t next_ = 0;
  uint64_t skipped_before_ = 0;
};

}  // namespace penstock::core
