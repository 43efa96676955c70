#include "tests/support/recording_consumer.h"

#include "core/base/clock.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

OwnedRecord OwnedRecord::Of(const Record& record) {
  OwnedRecord owned;
  if (record.value.has_value()) owned.value = std::string(*record.value);
  if (record.key.has_value()) owned.key = std::string(*record.key);
  owned.partition = record.meta.partition;
  owned.offset = record.meta.offset;
  owned.op = record.meta.op;
  return owned;
}

std::ostream& operator<<(std::ostream& out, const OwnedRecord& record) {
  out << record.partition << "@" << record.offset << " op "
      << static_cast<int>(record.op) << " ";
  if (record.key.has_value()) out << *record.key << " = ";
  return out << record.value.value_or("(null)");
}

std::string RecordingConsumer::RecordedStep::seek() const {
  if (!resume.has_value()) return "";
  return std::string(resume->seek().value_or(""));
}

size_t RecordingConsumer::Transcript::CountSteps(StepKind kind) const {
  return static_cast<size_t>(
      std::count_if(steps.begin(), steps.end(),
                    [kind](const RecordedStep& s) { return s.kind == kind; }));
}

bool RecordingConsumer::Transcript::HasFatal() const {
  return std::any_of(errors.begin(), errors.end(),
                     [](const RecordedError& error) { return error.fatal; });
}

RecordingConsumer::RecordingConsumer(std::optional<FtModel> level)
    : RecordingConsumer(level, Limits{}) {}

RecordingConsumer::RecordingConsumer(std::optional<FtModel> level,
                                     Limits limits)
    : level_(level),
      completion_(std::make_shared<CountWatch>(0)),
      checkpoint_(level.has_value() ? std::make_shared<CountWatch>(0)
                                    : nullptr),
      limits_(limits) {}

void RecordingConsumer::SetLimits(Limits limits) {
  MutexLock lock(mu_);
  limits_ = limits;
}

void RecordingConsumer::AdmitAtMost(std::optional<size_t> buffers) {
  MutexLock lock(mu_);
  admit_max_ = buffers;
}

RecordingConsumer::Transcript RecordingConsumer::transcript() const {
  MutexLock lock(mu_);
  return transcript_;
}

bool RecordingConsumer::WaitUntil(
    absl::FunctionRef<bool(const Transcript&)> predicate,
    absl::Duration timeout) {
  if (pump_) {
    pump_();
    MutexLock lock(mu_);
    return predicate(transcript_);
  }
  MutexLock lock(mu_);
  return changed_.WaitUntil(mu_, RealClock().SteadyNow() + timeout, [&] {
    mu_.AssertHeld();
    return predicate(transcript_);
  });
}

uint64_t RecordingConsumer::MaxBatchSize() const {
  MutexLock lock(mu_);
  return limits_.batch_records_max;
}

uint64_t RecordingConsumer::MaxBatchBytes() const {
  MutexLock lock(mu_);
  return limits_.batch_bytes_max;
}

uint64_t RecordingConsumer::MaxQueuedBytes() const {
  MutexLock lock(mu_);
  return limits_.queued_bytes_max;
}

bool RecordingConsumer::KeepsBadRecords() const {
  MutexLock lock(mu_);
  return limits_.keeps_bad_records;
}

void RecordingConsumer::ParseErrors(std::vector<ParseError> errors) {
  MutexLock lock(mu_);
  if (transcript_.end_of_inputs > 0 && !errors.empty()) {
    Violation("parse errors after end of input");
  }
  for (ParseError& error : errors) {
    transcript_.parse_errors.push_back(std::move(error));
  }
  changed_.NotifyAll();
}

void RecordingConsumer::Buffered(BufferSize amount) {
  MutexLock lock(mu_);
  if (transcript_.end_of_inputs > 0) Violation("buffered after end of input");
  transcript_.buffered += amount;
  ++transcript_.buffered_calls;
  changed_.NotifyAll();
}

bool RecordingConsumer::Admit(const RecordBatch& next) {
  MutexLock lock(mu_);
  if (next.IsEmpty()) Violation("an empty buffer was to be admitted");
  if (admitted_ != flushed_) Violation("an admitted buffer was not flushed");
  if (admit_max_.has_value() && admitted_ >= *admit_max_) return false;
  ++admitted_;
  return true;
}

void RecordingConsumer::Flush(RecordBatch batch) {
  MutexLock lock(mu_);
  if (++flushed_ > admitted_) Violation("a buffer was flushed unadmitted");
  if (running_.commits > 0) Violation("a buffer was flushed after a commit");
  running_.flushed += batch.size();
  running_.buffers.push_back(batch.size());
  batch.HashInto(hasher_);
  for (BadRecord& bad : batch.TakeBadRecords()) {
    running_.bad_records.push_back(std::move(bad));
  }
  for (size_t i = 0; i < batch.record_count(); ++i) {
    running_.records.push_back(OwnedRecord::Of(batch.At(i)));
  }
}

void RecordingConsumer::Replayed(BufferSize amount, uint64_t hash) {
  MutexLock lock(mu_);
  if (hash != hasher_.Finish().value) {
    Violation("the hash of a replay is not that of what was flushed");
  }
  transcript_.replayed += amount;
  RecordedStep step = std::exchange(running_, {});
  step.kind = StepKind::kReplayed;
  step.amount = amount;
  step.replay_hash = hash;
  Report(std::move(step));
}

void RecordingConsumer::Skipped() {
  MutexLock lock(mu_);
  RecordedStep step = std::exchange(running_, {});
  if (!step.records.empty()) Violation("a skip flushed records");
  step.kind = StepKind::kSkipped;
  Report(std::move(step));
}

void RecordingConsumer::Extended(BufferSize amount,
                                 std::optional<Resume> resume,
                                 std::vector<Watermark> watermarks) {
  MutexLock lock(mu_);
  transcript_.extended += amount;
  RecordedStep step = std::exchange(running_, {});
  step.kind = StepKind::kExtended;
  step.amount = amount;
  if (resume.has_value()) {
    const auto* replay = std::get_if<Resume::Replay>(&resume->kind());
    if (replay != nullptr && replay->hash != hasher_.Finish().value) {
      Violation("the hash of a resume is not that of what was flushed");
    }
  }
  step.resume = std::move(resume);
  step.watermarks = std::move(watermarks);
  Report(std::move(step));
}

void RecordingConsumer::EndOfInput() {
  MutexLock lock(mu_);
  if (++transcript_.end_of_inputs > 1) Violation("end of input twice");
  changed_.NotifyAll();
}

void RecordingConsumer::RequestStep() {
  MutexLock lock(mu_);
  ++transcript_.request_steps;
  changed_.NotifyAll();
}

void RecordingConsumer::StartTransaction(
    std::optional<absl::string_view> label) {
  MutexLock lock(mu_);
  if (std::exchange(transaction_open_, true)) {
    Violation("a transaction was started within one");
  }
  if (running_.commits > 0) Violation("a transaction was started after commit");
  running_.starts.push_back(
      label.has_value() ? std::optional<std::string>(*label) : std::nullopt);
}

void RecordingConsumer::CommitTransaction() {
  MutexLock lock(mu_);
  if (!std::exchange(transaction_open_, false)) {
    Violation("a commit without a transaction");
  }
  ++running_.commits;
}

void RecordingConsumer::SetCustomMetrics(
    std::shared_ptr<ConnectorMetrics> metrics) {
  MutexLock lock(mu_);
  if (metrics_ != nullptr) Violation("custom metrics were set twice");
  metrics_ = std::move(metrics);
}

void RecordingConsumer::Error(bool fatal, absl::Status error,
                              absl::string_view tag) {
  MutexLock lock(mu_);
  transcript_.errors.push_back(
      {.fatal = fatal, .status = std::move(error), .tag = std::string(tag)});
  changed_.NotifyAll();
}

void RecordingConsumer::UpdateConnectorHealth(ConnectorHealth health) {
  MutexLock lock(mu_);
  transcript_.health.push_back(std::move(health));
  changed_.NotifyAll();
}

std::shared_ptr<ConnectorMetrics> RecordingConsumer::custom_metrics() const {
  MutexLock lock(mu_);
  return metrics_;
}

void RecordingConsumer::Violation(std::string what) {
  transcript_.violations.push_back(absl::StrCat(
      std::move(what), " (after ", transcript_.steps.size(), " steps)"));
}

void RecordingConsumer::Report(RecordedStep step) {
  if (admitted_ != flushed_) Violation("an admitted buffer was not flushed");
  if (step.kind != StepKind::kSkipped && step.amount != step.flushed) {
    Violation(absl::StrCat("reported ", step.amount.records, " records of ",
                           step.amount.bytes, " bytes, flushed ",
                           step.flushed.records, " of ", step.flushed.bytes));
  }
  step.hash = std::exchange(hasher_, StepHasher()).Finish();
  admitted_ = 0;
  flushed_ = 0;
  transcript_.steps.push_back(std::move(step));
  changed_.NotifyAll();
}

}  // namespace penstock::core
