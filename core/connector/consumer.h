// The connector's ear: what its reader says, recorded for the driver.
// See core/connector/README.md; upholds INV-5, INV-6, INV-8.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/connector/backpressure.h"
#include "core/connector/parse_error_counts.h"
#include "core/connector/staged_times.h"
#include "core/connector/waker.h"
#include "core/contract/consumer.h"
#include "core/contract/count_watch.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/contract/parse_error.h"
#include "core/contract/resume.h"
#include "core/contract/row_encoder.h"
#include "core/contract/watermark.h"
#include "core/handoff/budget.h"
#include "core/record/buffer_size.h"
#include "core/record/nested_size.h"
#include "core/record/record_batch.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// What a reader flushed in answer to one Queue or Replay. Move-only.
struct FlushedStep {
  // In arrival order.
  std::vector<RecordBatch> batches;
  // That stood among the records of the step, in arrival order; only if they
  // are kept. The reservation is for them, too.
  std::vector<BadRecord> bad_records;
  // As the reader reported it; equal to the sum of the batches.
  BufferSize amount;
  std::optional<Resume> resume;
  std::vector<Watermark> watermarks;
  // Steady time at which its oldest record was staged; InfiniteFuture(): it has
  // none, or they were read before (Replay).
  absl::Time staged_at = absl::InfiniteFuture();
  // Replay only: as the reader reported it.
  uint64_t hash = 0;
  // Of all batches, for what they will be encoded to, estimated, or for what
  // they hold until then if that is more (INV-6). Empty in Replay.
  BudgetLease reservation;
  // Of that, what is estimated.
  uint64_t estimated_bytes = 0;
  // The storage that the batch admitted last is in.
  const void* last_storage = nullptr;
  // Why the next buffer was not admitted, if one was not.
  bool stopped_by_budget = false;
  bool stopped_by_size = false;
  // The reader asked for a step since the one before.
  bool requested = false;
  bool transaction_started = false;
  bool transaction_committed = false;
  std::optional<std::string> transaction_label;
  // Nothing more will ever come, nothing is staged, no step is asked for.
  bool end_of_input = false;
};

struct TransactionEvent {
  bool started = false;
  std::optional<std::string> label;
};

struct ReaderError {
  absl::Status status;
  bool fatal = false;
  std::string tag;
};

// What a reader said since the driver looked last. Move-only.
struct ReaderNews {
  // At most one of these three: the answer to the command under way.
  std::optional<FlushedStep> extended;
  std::optional<FlushedStep> replayed;
  bool skipped = false;
  std::vector<ReaderError> errors;
  // Samples; `parse_error_count` counts all since the connector opened.
  std::vector<ParseError> parse_errors;
  uint64_t parse_error_count = 0;
  std::optional<ConnectorHealth> health;
  std::vector<TransactionEvent> transactions;
};

// What is staged and waits for a Queue.
struct StagedInput {
  BufferSize queued;
  // Steady time since which something is staged; InfiniteFuture(): nothing is.
  absl::Time since = absl::InfiniteFuture();
  bool end_of_input = false;
  // The reader asked for a step.
  bool step_requested = false;
};

// Totals of this instance (INV-8).
struct InputTotals {
  BufferSize buffered;
  BufferSize extended;
  BufferSize replayed;
  BufferSize queued;
  // Flushed into a step that was abandoned before it was handed off.
  uint64_t records_discarded = 0;
  uint64_t parse_errors = 0;
  bool end_of_input = false;
};

// Owner:     the connector; outlives the reader. Shared by: the I/O task that
//            destroys the reader.
// Threads:   thread-safe. The reader's threads report; the driver commands
//            (Begin…, Abandon) and takes what came. Holds one lock, calls
//            nothing under it.
// Lifecycle: as its reader; after Abandon it only counts.
// Bound:     one step's batches and bad records, which Admit bounds;
//            `kSamplesMax` errors, parse errors and events of transactions
//            each. An InputQueue says two of the last in a flush, and the
//            driver hears of one flush before it asks for the next: more is a
//            bug of the source.
class Consumer final : public InputConsumer {
 public:
  struct Options {
    std::optional<FtModel> level;
    uint64_t queued_bytes_max = 0;
    // Estimates encoded sizes; shared by no encoding thread.
    std::unique_ptr<const RowEncoder> estimator;
    // Of the records.
    NestedSizer nested{Schema()};
    // What a chunk holds of each row beside the row.
    uint64_t row_table_bytes = 0;
    // Whether bad records go to dead letters.
    bool keeps_bad_records = false;
    // Shared by: the connector and all leases.
    std::shared_ptr<InflightBudget> budget;
    // Shared by: the driver and all that wake it.
    std::shared_ptr<Waker> waker;
    // Shared by: the connector, sources and watchers.
    std::shared_ptr<CountWatch> completed;
    // Null at level none, which is left out of checkpoints.
    std::shared_ptr<CountWatch> checkpointed;
    // Counters changed. Called on the reader's threads, also while these hold
    // locks of theirs; only records.
    std::function<void()> on_changed;
  };
  static constexpr size_t kSamplesMax = 100;

  Consumer(Options options, const Clock& clock);

  // --- For the driver.
  // What follows is the answer to a Queue, a Replay or a Skip that is sent
  // next. Requires: no command is under way.
  void BeginQueue(const StepCaps& caps) ABSL_LOCKS_EXCLUDED(mu_);
  void BeginReplay() ABSL_LOCKS_EXCLUDED(mu_);
  void BeginSkip() ABSL_LOCKS_EXCLUDED(mu_);
  // Nobody waits for the reader any more: what it still flushes is discarded
  // and counted. For good.
  void Abandon() ABSL_LOCKS_EXCLUDED(mu_);
  // A step was abandoned after it was taken from here.
  void CountDiscarded(uint64_t records) ABSL_LOCKS_EXCLUDED(mu_);

  // Without a lock; what is being said just now wakes the driver.
  bool HasNews() const { return has_news_.load(std::memory_order_acquire); }
  ReaderNews TakeNews() ABSL_LOCKS_EXCLUDED(mu_);
  // What is staged. The driver is woken once when `wake_at` (in either
  // component) is reached, unless it is already, at end of input, or when a
  // step is requested; and, whether it asks or not, when nothing was staged and
  // then something is, which is at most once for each answer to a command.
  StagedInput WatchStaged(BufferSize wake_at) ABSL_LOCKS_EXCLUDED(mu_);
  StagedInput staged() const ABSL_LOCKS_EXCLUDED(mu_);
  InputTotals totals() const ABSL_LOCKS_EXCLUDED(mu_);
  ParseErrorCounts parse_errors() const ABSL_LOCKS_EXCLUDED(mu_);
  std::shared_ptr<ConnectorMetrics> custom_metrics() const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Upper estimate of the encoded size of `batch`, at least 1.
  uint64_t Estimate(const RecordBatch& batch) const;

  // --- For the reader; see InputConsumer.
  uint64_t MaxBatchSize() const override;
  uint64_t MaxBatchBytes() const override;
  uint64_t MaxQueuedBytes() const override;
  std::optional<FtModel> PipelineFaultTolerance() const override;
  void ParseErrors(std::vector<ParseError> errors) override;
  bool KeepsBadRecords() const override { return options_.keeps_bad_records; }
  void Buffered(BufferSize amount) override;
  bool Admit(const RecordBatch& next) override;
  void Flush(RecordBatch batch) override;
  void Replayed(BufferSize amount, uint64_t hash) override;
  void Skipped() override;
  void Extended(BufferSize amount, std::optional<Resume> resume,
                std::vector<Watermark> watermarks) override;
  void EndOfInput() override;
  void RequestStep() override;
  void StartTransaction(std::optional<absl::string_view> label) override;
  void CommitTransaction() override;
  void SetCustomMetrics(std::shared_ptr<ConnectorMetrics> metrics) override;
  std::shared_ptr<CountWatch> CompletionWatcher() override;
  std::shared_ptr<CountWatch> CheckpointWatcher() override;
  void Error(bool fatal, absl::Status error, absl::string_view tag) override;
  void UpdateConnectorHealth(ConnectorHealth health) override;

 private:
  enum class Command { kNone, kQueue, kReplay, kSkip };

  void Begin(Command command, const StepCaps& caps) ABSL_LOCKS_EXCLUDED(mu_);
  static absl::string_view Name(Command command);
  // The reader's answer to `command`: counts it and hands it over, or reports
  // a reader that answers what it was not asked.
  void Answer(Command command, FlushedStep step) ABSL_LOCKS_EXCLUDED(mu_);
  // Takes `amount` out of what is queued, into `total`. Returns: since when the
  // oldest of it was there.
  absl::Time CountAnswer(BufferSize amount, BufferSize& total)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddError(ReaderError error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddTransaction(TransactionEvent event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StagedInput Staged() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes the driver for what was put into news_.
  void TellNews() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the driver waits for what is now staged; disarms.
  bool TakeWatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const Clock& clock_;

  mutable Mutex mu_;
  Command command_ ABSL_GUARDED_BY(mu_) = Command::kNone;
  bool abandoned_ ABSL_GUARDED_BY(mu_) = false;
  StepCaps caps_ ABSL_GUARDED_BY(mu_);
  // The command's answer so far.
  FlushedStep flushing_ ABSL_GUARDED_BY(mu_);
  BufferSize flushed_ ABSL_GUARDED_BY(mu_);
  ReaderNews news_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> has_news_{false};
  bool too_many_transactions_ ABSL_GUARDED_BY(mu_) = false;

  InputTotals totals_ ABSL_GUARDED_BY(mu_);
  ParseErrorCounts parse_errors_ ABSL_GUARDED_BY(mu_);
  StagedTimes staged_times_ ABSL_GUARDED_BY(mu_);
  absl::Time staged_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  bool step_requested_ ABSL_GUARDED_BY(mu_) = false;
  bool watching_ ABSL_GUARDED_BY(mu_) = false;
  BufferSize wake_at_ ABSL_GUARDED_BY(mu_);

  // Shared by: the source and whoever scrapes.
  std::shared_ptr<ConnectorMetrics> metrics_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
