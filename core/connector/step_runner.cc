#include "core/connector/step_runner.h"

#include "core/base/check.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::core {

void SortCanonically(std::vector<RecordBatch>& batches) {
  const auto before = [](const RecordBatch& a, const RecordBatch& b) {
    if (a.partition() != b.partition()) return a.partition() < b.partition();
    return a.first_offset() < b.first_offset();
  };
  // Nearly always so: a source with one partition, or one reading in turn.
  if (std::is_sorted(batches.begin(), batches.end(), before)) return;
  std::stable_sort(batches.begin(), batches.end(), before);
}

void SortCanonically(std::vector<BadRecord>& bad_records) {
  std::stable_sort(bad_records.begin(), bad_records.end(),
                   [](const BadRecord& a, const BadRecord& b) {
                     if (a.partition != b.partition) {
                       return a.partition < b.partition;
                     }
                     return a.offset < b.offset;
                   });
}

void StepRunner::Begin(Outlet& outlet, Step step, FlushedStep flushed) {
  CHECK(!is_running());
  outlet_ = &outlet;
  batches_ = std::move(flushed.batches);
  bad_records_ = std::move(flushed.bad_records);
  next_ = 0;
  skipped_before_ = outlet.handoff()->counters().records_skipped;
  outlet.handoff()->BeginStep(outlet.Register(step, flushed.staged_at),
                              std::move(flushed.reservation));
}

StepRunner::Progress StepRunner::Push(const Lanes& lanes) {
  uint64_t pushed = 0;
  while (next_ < batches_.size()) {
    if (pushed >= kTurnBytes) return Progress::kYield;
    if (pushed > 0 && lanes.HasImmediate()) return Progress::kAgain;
    // Its block is free again as soon as nothing else views it.
    const RecordBatch batch = std::move(batches_[next_++]);
    outlet_->handoff()->PushBatch(batch);
    pushed += std::max<uint64_t>(1, batch.size().bytes);
  }
  return Progress::kDone;
}

StepRunner::Ended StepRunner::End() {
  CHECK_EQ(next_, batches_.size());
  Handoff& handoff = *outlet_->handoff();
  Ended ended;
  handoff.AddBadRecords(std::exchange(bad_records_, {}));
  ended.flow = handoff.EndStep();
  ended.records_skipped = handoff.counters().records_skipped - skipped_before_;
  batches_.clear();
  outlet_ = nullptr;
  return ended;
}

uint64_t StepRunner::Abandon() {
  uint64_t left = 0;
  for (; next_ < batches_.size(); ++next_) {
    left += batches_[next_].size().records;
  }
  batches_.clear();
  bad_records_.clear();
  outlet_ = nullptr;
  return left;
}

}  // namespace penstock::core
