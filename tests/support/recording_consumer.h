// An InputConsumer that remembers what a reader said, and what it broke.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/consumer.h"
#include "core/contract/count_watch.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/contract/parse_error.h"
#include "core/contract/resume.h"
#include "core/contract/watermark.h"
#include "core/record/buffer_size.h"
#include "core/record/record.h"
#include "core/record/record_batch.h"
#include "core/record/step_hash.h"

#include <absl/functional/any_invocable.h>
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {

// A record that owns its bytes. Rows are left out.
struct OwnedRecord {
  std::optional<std::string> value;
  std::optional<std::string> key;
  uint32_t partition = 0;
  int64_t offset = 0;
  Op op = Op::kInsert;

  static OwnedRecord Of(const Record& record);
  friend bool operator==(const OwnedRecord&, const OwnedRecord&) = default;
};
std::ostream& operator<<(std::ostream& out, const OwnedRecord& record);

// Threads:   thread-safe.
// Lifecycle: outlives the reader and every queue made over it.
class RecordingConsumer final : public InputConsumer {
 public:
  struct Limits {
    uint64_t batch_records_max = UINT64_MAX;
    uint64_t batch_bytes_max = UINT64_MAX;
    uint64_t queued_bytes_max = uint64_t{32} << 20;
    bool keeps_bad_records = false;
  };

  // How a step was reported.
  enum class StepKind { kExtended, kReplayed, kSkipped };

  // What was flushed and said from one report to the next.
  struct RecordedStep {
    StepKind kind = StepKind::kExtended;
    std::vector<OwnedRecord> records;
    // That its buffers carried, if they are kept.
    std::vector<BadRecord> bad_records;
    // As counted here, and hashed here, over what was flushed.
    BufferSize flushed;
    StepHash hash;
    // The size of each buffer, in order.
    std::vector<BufferSize> buffers;
    // As the reader said.
    BufferSize amount;
    std::optional<uint64_t> replay_hash;
    std::optional<Resume> resume;
    std::vector<Watermark> watermarks;
    // Labels of the transactions started, nullopt = without label.
    std::vector<std::optional<std::string>> starts;
    size_t commits = 0;

    // What `resume` holds; empty without one.
    std::string seek() const;
  };

  struct RecordedError {
    bool fatal = false;
    absl::Status status;
    std::string tag;
  };

  // All that was said. The totals of INV-8 among it.
  struct Transcript {
    BufferSize buffered;
    BufferSize extended;
    BufferSize replayed;
    size_t buffered_calls = 0;
    size_t request_steps = 0;
    size_t end_of_inputs = 0;
    std::vector<RecordedStep> steps;
    std::vector<ParseError> parse_errors;
    std::vector<RecordedError> errors;
    std::vector<ConnectorHealth> health;
    // The rules of the contract that the reader broke: empty if it is right.
    std::vector<std::string> violations;

    size_t CountSteps(StepKind kind) const;
    bool HasFatal() const;
  };

  explicit RecordingConsumer(
      std::optional<FtModel> level = FtModel::kExactlyOnce);
  RecordingConsumer(std::optional<FtModel> level, Limits limits);

  // Knobs, thread-safe.
  void SetLimits(Limits limits) ABSL_LOCKS_EXCLUDED(mu_);
  // From now on at most `buffers` buffers are admitted to each step; nullopt
  // (as at the start): any number.
  void AdmitAtMost(std::optional<size_t> buffers) ABSL_LOCKS_EXCLUDED(mu_);
  // For readers that run on an executor of the test: WaitUntil calls `pump`,
  // which runs what can run, instead of blocking.
  void SetPump(absl::AnyInvocable<void()> pump) { pump_ = std::move(pump); }

  // A copy of everything so far.
  Transcript transcript() const ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: until `predicate`, called under the lock, is true, or `timeout` of
  // real time is over. With a pump: pumps, then asks once. Returns: its last
  // value.
  bool WaitUntil(absl::FunctionRef<bool(const Transcript&)> predicate,
                 absl::Duration timeout = absl::Seconds(20))
      ABSL_LOCKS_EXCLUDED(mu_);

  // InputConsumer.
  uint64_t MaxBatchSize() const override;
  uint64_t MaxBatchBytes() const override;
  uint64_t MaxQueuedBytes() const override;
  std::optional<FtModel> PipelineFaultTolerance() const override {
    return level_;
  }
  bool KeepsBadRecords() const override;
  void ParseErrors(std::vector<ParseError> errors) override;
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
  std::shared_ptr<CountWatch> CompletionWatcher() override {
    return completion_;
  }
  std::shared_ptr<CountWatch> CheckpointWatcher() override {
    return checkpoint_;
  }
  void Error(bool fatal, absl::Status error, absl::string_view tag) override;
  void UpdateConnectorHealth(ConnectorHealth health) override;

  // The metrics that were set, if any.
  std::shared_ptr<ConnectorMetrics> custom_metrics() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Violation(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the running step as `step` says; wakes whoever waits.
  void Report(RecordedStep step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::optional<FtModel> level_;
  // Shared with whoever watches.
  const std::shared_ptr<CountWatch> completion_;
  const std::shared_ptr<CountWatch> checkpoint_;
  absl::AnyInvocable<void()> pump_;

  mutable Mutex mu_;
  CondVar changed_;
  Limits limits_ ABSL_GUARDED_BY(mu_);
  std::optional<size_t> admit_max_ ABSL_GUARDED_BY(mu_);
  Transcript transcript_ ABSL_GUARDED_BY(mu_);
  // The running step.
  RecordedStep running_ ABSL_GUARDED_BY(mu_);
  StepHasher hasher_ ABSL_GUARDED_BY(mu_);
  size_t admitted_ ABSL_GUARDED_BY(mu_) = 0;
  size_t flushed_ ABSL_GUARDED_BY(mu_) = 0;
  bool transaction_open_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<ConnectorMetrics> metrics_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
