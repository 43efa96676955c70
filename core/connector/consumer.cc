#include "core/connector/consumer.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/contract/batch_estimate.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// A source that breaks the contract: ours or an extension's, not the world's.
ReaderError Broken(absl::string_view what) {
  return {.status = MakeError(Reason::INTERNAL,
                              absl::StrCat("hearing from the source: ", what,
                                           "; this is a bug of the source")),
          .fatal = true,
          .tag = "contract"};
}

bool Reaches(const BufferSize& amount, const BufferSize& mark) {
  return amount.records >= mark.records || amount.bytes >= mark.bytes;
}

}  // namespace

Consumer::Consumer(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  CHECK(options_.estimator != nullptr);
}

absl::string_view Consumer::Name(Command command) {
  switch (command) {
    case Command::kNone:
      return "no command";
    case Command::kQueue:
      return "Queue";
    case Command::kReplay:
      return "Replay";
    case Command::kSkip:
      return "Skip";
  }
  return "unknown command";
}

void Consumer::Begin(Command command, const StepCaps& caps) {
  FlushedStep old;  // Dies outside the lock, as wherever leases may die.
  MutexLock lock(mu_);
  CHECK(command_ == Command::kNone) << "one command at a time";
  command_ = command;
  caps_ = caps;
  old = std::exchange(flushing_, FlushedStep{});
  flushing_.requested = std::exchange(step_requested_, false);
  flushed_ = {};
}

void Consumer::BeginQueue(const StepCaps& caps) {
  Begin(Command::kQueue, caps);
}

void Consumer::BeginReplay() { Begin(Command::kReplay, StepCaps{}); }

void Consumer::BeginSkip() { Begin(Command::kSkip, StepCaps{}); }

void Consumer::Abandon() {
  FlushedStep old;
  MutexLock lock(mu_);
  if (abandoned_) return;
  abandoned_ = true;
  watching_ = false;
  totals_.records_discarded += flushed_.records;
  flushed_ = {};
  old = std::exchange(flushing_, FlushedStep{});
}

void Consumer::CountDiscarded(uint64_t records) {
  MutexLock lock(mu_);
  totals_.records_discarded += records;
}

void Consumer::TellNews() {
  has_news_.store(true, std::memory_order_release);
  options_.waker->Wake();
}

ReaderNews Consumer::TakeNews() {
  MutexLock lock(mu_);
  has_news_.store(false, std::memory_order_release);
  ReaderNews news = std::exchange(news_, ReaderNews{});
  news.parse_error_count = totals_.parse_errors;
  return news;
}

StagedInput Consumer::Staged() const {
  return {.queued = totals_.queued,
          .since = staged_since_,
          .end_of_input = totals_.end_of_input,
          .step_requested = step_requested_};
}

StagedInput Consumer::WatchStaged(BufferSize wake_at) {
  MutexLock lock(mu_);
  watching_ = !abandoned_;
  // What is reached already needs no wake-up: who still waits, waits for room.
  wake_at_ = Reaches(totals_.queued, wake_at)
                 ? BufferSize{.records = UINT64_MAX, .bytes = UINT64_MAX}
                 : wake_at;
  return Staged();
}

StagedInput Consumer::staged() const {
  MutexLock lock(mu_);
  return Staged();
}

InputTotals Consumer::totals() const {
  MutexLock lock(mu_);
  return totals_;
}

ParseErrorCounts Consumer::parse_errors() const {
  MutexLock lock(mu_);
  return parse_errors_;
}

std::shared_ptr<ConnectorMetrics> Consumer::custom_metrics() const {
  MutexLock lock(mu_);
  return metrics_;
}

uint64_t Consumer::Estimate(const RecordBatch& batch) const {
  return std::max<uint64_t>(
      1, EstimateBatch(*options_.estimator, options_.nested, batch) +
             batch.size().records * options_.row_table_bytes +
             batch.BadRecordBytes());
}

uint64_t Consumer::MaxBatchSize() const {
  MutexLock lock(mu_);
  return caps_.records;
}

uint64_t Consumer::MaxBatchBytes() const {
  MutexLock lock(mu_);
  return caps_.bytes;
}

uint64_t Consumer::MaxQueuedBytes() const { return options_.queued_bytes_max; }

std::optional<FtModel> Consumer::PipelineFaultTolerance() const {
  return options_.level;
}

void Consumer::ParseErrors(std::vector<ParseError> errors) {
  if (errors.empty()) return;
  {
    MutexLock lock(mu_);
    totals_.parse_errors += errors.size();
    for (ParseError& error : errors) {
      parse_errors_.Add(error.tag);
      if (news_.parse_errors.size() == kSamplesMax) continue;
      news_.parse_errors.push_back(std::move(error));
    }
  }
  TellNews();
}

bool Consumer::TakeWatch() { return std::exchange(watching_, false); }

void Consumer::Buffered(BufferSize amount) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    const bool was_empty = totals_.queued.records == 0;
    totals_.buffered += amount;
    totals_.queued += amount;
    const bool is_first = was_empty && amount.records > 0;
    const absl::Time now = clock_.SteadyNow();
    staged_times_.Add(amount.records, now);
    if (is_first) staged_since_ = now;
    wake = !abandoned_ && is_first;
    if (watching_ && Reaches(totals_.queued, wake_at_)) wake = TakeWatch();
  }
  if (wake) options_.waker->Wake();
  options_.on_changed();
}

bool Consumer::Admit(const RecordBatch& next) {
  const uint64_t estimate = Estimate(next);
  const BufferSize size = next.size();
  uint64_t held = next.MemoryBytes();
  {
    MutexLock lock(mu_);
    // Flush reports one that nobody asked for.
    if (abandoned_ || command_ != Command::kQueue) return true;
    if (flushing_.reservation.bytes() > 0 &&
        (flushed_.bytes + size.bytes > caps_.payload_bytes_max ||
         flushing_.estimated_bytes + estimate > caps_.reserved_bytes_max)) {
      flushing_.stopped_by_size = true;
      return false;
    }
    // Another part of the same one holds nothing more.
    if (next.storage_id() == flushing_.last_storage) held = 0;
  }
  // Each batch goes when it is encoded, so never is there more than this.
  std::optional<BudgetLease> lease =
      options_.budget->TryReserve(std::max(estimate, held));
  MutexLock lock(mu_);
  if (!lease.has_value()) {
    flushing_.stopped_by_budget = true;
    return false;
  }
  flushing_.reservation.Merge(*std::move(lease));
  flushing_.estimated_bytes += estimate;
  flushing_.last_storage = next.storage_id();
  return true;
}

void Consumer::Flush(RecordBatch batch) {
  const BufferSize size = batch.size();
  {
    MutexLock lock(mu_);
    const bool is_asked =
        command_ == Command::kQueue || command_ == Command::kReplay;
    if (!abandoned_ && is_asked) {
      flushed_ += size;
      for (BadRecord& bad : batch.TakeBadRecords()) {
        flushing_.bad_records.push_back(std::move(bad));
      }
      if (!batch.IsEmpty()) flushing_.batches.push_back(std::move(batch));
      return;
    }
    totals_.records_discarded += size.records;
    if (abandoned_) return;
    AddError(Broken("it flushed a buffer without a Queue or Replay"));
  }
  TellNews();
}

absl::Time Consumer::CountAnswer(BufferSize amount, BufferSize& total) {
  total += amount;
  if (amount.records > totals_.queued.records ||
      amount.bytes > totals_.queued.bytes) {
    AddError(Broken(absl::StrCat("it flushed ", amount.records, " records (",
                                 amount.bytes, " bytes), but had only ",
                                 totals_.queued.records, " (",
                                 totals_.queued.bytes, ") buffered")));
    amount.records = std::min(amount.records, totals_.queued.records);
    amount.bytes = std::min(amount.bytes, totals_.queued.bytes);
  }
  totals_.queued -= amount;
  // What is left waits for its step from now on.
  staged_since_ =
      totals_.queued.records == 0 ? absl::InfiniteFuture() : clock_.SteadyNow();
  return staged_times_.Take(amount.records);
}

void Consumer::Answer(Command command, FlushedStep step) {
  FlushedStep old;
  {
    MutexLock lock(mu_);
    if (command == Command::kQueue) {
      step.staged_at = CountAnswer(step.amount, totals_.extended);
    }
    if (command == Command::kReplay) CountAnswer(step.amount, totals_.replayed);
    const Command asked = std::exchange(command_, Command::kNone);
    if (abandoned_) return;
    if (asked != command) {
      AddError(Broken(absl::StrCat("it answered ", Name(command),
                                   " when it was asked ", Name(asked))));
    } else if (command != Command::kSkip && !(flushed_ == step.amount)) {
      AddError(Broken(absl::StrCat(
          "it reported ", step.amount.records, " records (", step.amount.bytes,
          " bytes) in answer to ", Name(command), ", but flushed ",
          flushed_.records, " (", flushed_.bytes, ")")));
    }
    old = std::exchange(flushing_, FlushedStep{});
    // What asked for a step, now or earlier, may be what was not admitted. With
    // no record behind it nothing else would bring the step that takes it.
    if ((old.stopped_by_budget || old.stopped_by_size) &&
        (old.requested || totals_.queued.records == 0)) {
      step_requested_ = true;
    }
    step.batches = std::move(old.batches);
    step.bad_records = std::move(old.bad_records);
    step.reservation = std::move(old.reservation);
    step.stopped_by_budget = old.stopped_by_budget;
    step.stopped_by_size = old.stopped_by_size;
    step.requested = old.requested;
    step.transaction_started = old.transaction_started;
    step.transaction_committed = old.transaction_committed;
    step.transaction_label = std::move(old.transaction_label);
    // A step that is asked for by now has a position to carry, and is the last.
    step.end_of_input =
        totals_.end_of_input && totals_.queued.records == 0 && !step_requested_;
    flushed_ = {};
    if (command == Command::kQueue) news_.extended = std::move(step);
    if (command == Command::kReplay) news_.replayed = std::move(step);
    if (command == Command::kSkip) news_.skipped = true;
  }
  TellNews();
}

void Consumer::Replayed(BufferSize amount, uint64_t hash) {
  FlushedStep step;
  step.amount = amount;
  step.hash = hash;
  Answer(Command::kReplay, std::move(step));
}

void Consumer::Skipped() { Answer(Command::kSkip, FlushedStep{}); }

void Consumer::Extended(BufferSize amount, std::optional<Resume> resume,
                        std::vector<Watermark> watermarks) {
  FlushedStep step;
  step.amount = amount;
  step.resume = std::move(resume);
  step.watermarks = std::move(watermarks);
  Answer(Command::kQueue, std::move(step));
}

void Consumer::EndOfInput() {
  bool wake = false;
  {
    MutexLock lock(mu_);
    totals_.end_of_input = true;
    wake = TakeWatch();
  }
  if (wake) options_.waker->Wake();
  options_.on_changed();
}

void Consumer::RequestStep() {
  bool wake = false;
  {
    MutexLock lock(mu_);
    step_requested_ = true;
    wake = TakeWatch();
  }
  if (wake) options_.waker->Wake();
}

void Consumer::AddTransaction(TransactionEvent event) {
  if (news_.transactions.size() < kSamplesMax) {
    news_.transactions.push_back(std::move(event));
  } else if (!std::exchange(too_many_transactions_, true)) {
    AddError(Broken(absl::StrCat("it began and ended transactions ",
                                 kSamplesMax, " times in one step")));
  }
}

void Consumer::StartTransaction(std::optional<absl::string_view> label) {
  std::optional<std::string> text;
  if (label.has_value()) text = std::string(*label);
  {
    MutexLock lock(mu_);
    if (abandoned_) return;
    flushing_.transaction_started = true;
    flushing_.transaction_label = text;
    AddTransaction({.started = true, .label = std::move(text)});
  }
  TellNews();
}

void Consumer::CommitTransaction() {
  {
    MutexLock lock(mu_);
    if (abandoned_) return;
    flushing_.transaction_committed = true;
    AddTransaction({.started = false, .label = std::nullopt});
  }
  TellNews();
}

void Consumer::SetCustomMetrics(std::shared_ptr<ConnectorMetrics> metrics) {
  MutexLock lock(mu_);
  metrics_.swap(metrics);
}

std::shared_ptr<CountWatch> Consumer::CompletionWatcher() {
  return options_.completed;
}

std::shared_ptr<CountWatch> Consumer::CheckpointWatcher() {
  return options_.checkpointed;
}

void Consumer::AddError(ReaderError error) {
  if (news_.errors.size() == kSamplesMax) {
    // A fatal one is never lost, and the first is the cause: it ends the
    // connector.
    if (!error.fatal || news_.errors.back().fatal) return;
    news_.errors.pop_back();
  }
  news_.errors.push_back(std::move(error));
}

void Consumer::Error(bool fatal, absl::Status error, absl::string_view tag) {
  {
    MutexLock lock(mu_);
    AddError(
        {.status = std::move(error), .fatal = fatal, .tag = std::string(tag)});
  }
  TellNews();
}

void Consumer::UpdateConnectorHealth(ConnectorHealth health) {
  {
    MutexLock lock(mu_);
    news_.health = std::move(health);
  }
  TellNews();
}

}  // namespace penstock::core
