#include "core/sinks/kafka/kafka_endpoint.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <limits>
#include <utility>

namespace penstock::core {

KafkaEndpoint::KafkaEndpoint(std::shared_ptr<const KafkaWriting> writing,
                             std::shared_ptr<KafkaLane> lane, ShardIndex shard)
    : writing_(std::move(writing)), lane_(std::move(lane)), shard_(shard) {}

KafkaEndpoint::~KafkaEndpoint() { Leave(); }

absl::Status KafkaEndpoint::Connect(AsyncErrorCallback /*on_error*/) {
  const absl::Time deadline = Deadline();
  RETURN_IF_ERROR(lane_->Enter(deadline));
  absl::Status ensured = lane_->Ensure(deadline);
  lane_->Leave();
  return ensured;
}

size_t KafkaEndpoint::MaxBufferSizeBytes() const {
  return std::numeric_limits<size_t>::max();
}

absl::Status KafkaEndpoint::BatchStart(const OutputBatch& batch) {
  Leave();
  batch_deadline_ = batch.deadline;
  RETURN_IF_ERROR(lane_->Enter(Deadline()));
  entered_ = true;
  absl::Status status = lane_->Ensure(Deadline());
  if (status.ok()) status = CheckSteps(batch.steps);
  if (!status.ok()) {
    Leave();
    return status;
  }
  lane_->producer().ForgetFailures();
  steps_ = batch.steps;
  in_batch_ = true;
  return absl::OkStatus();
}

absl::Status KafkaEndpoint::CheckSteps(StepRange steps) {
  held_ = false;
  if (!writing_->exactly_once()) return absl::OkStatus();
  if (steps.begin >= steps.end || steps.end > uint64_t{INT64_MAX}) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("a batch of shard ", shard_, " with steps ",
                                  steps.begin, " to ", steps.end));
  }
  const Step progress = lane_->progress();
  held_ = steps.end == progress;
  if (held_ || steps.begin == progress) return absl::OkStatus();
  return MakeError(
      steps.begin < progress ? Reason::PROGRESS_AHEAD : Reason::PROGRESS_BEHIND,
      absl::StrCat("shard ", shard_, " of topic ", writing_->config.topic,
                   " holds the steps below ", progress,
                   " and is to be given those from ", steps.begin, " to below ",
                   steps.end),
      {{"shard", absl::StrCat(shard_)}, {"progress", absl::StrCat(progress)}});
}

absl::Status KafkaEndpoint::CheckInBatch(absl::string_view what) const {
  if (in_batch_) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_REQUEST,
      absl::StrCat(what, " of shard ", shard_, " outside of a batch"));
}

absl::Status KafkaEndpoint::Begin() {
  if (begun_) return absl::OkStatus();
  if (writing_->exactly_once()) {
    RETURN_IF_ERROR(lane_->producer().Begin());
  }
  begun_ = true;
  return absl::OkStatus();
}

absl::Status KafkaEndpoint::PushBuffer(absl::string_view /*buffer*/) {
  Leave();
  return MakeError(Reason::UNSUPPORTED,
                   "the kafka sink takes messages, not frames of rows");
}

absl::Status KafkaEndpoint::PushKey(std::optional<absl::string_view> key,
                                    std::optional<absl::string_view> value,
                                    std::span<const MessageHeader> headers) {
  RETURN_IF_ERROR(CheckInBatch("message"));
  if (held_) return absl::OkStatus();
  absl::Status pushed = Begin();
  if (pushed.ok()) pushed = Push(key, value, headers);
  lane_->NoteQueued();
  return pushed.ok() ? pushed : Fail(std::move(pushed));
}

absl::Status KafkaEndpoint::Push(std::optional<absl::string_view> key,
                                 std::optional<absl::string_view> value,
                                 std::span<const MessageHeader> headers) {
  const bool by_key = key.has_value() &&
                      writing_->config.partition_by == KafkaPartitionBy::kKey;
  const auto partitions = static_cast<uint32_t>(writing_->partitions);
  return lane_->producer().Produce(
      {.key = key,
       .value = value,
       .headers = headers,
       .partition = by_key ? RD_KAFKA_PARTITION_UA
                           : static_cast<int32_t>(shard_ % partitions)},
      [this] { return Deadline(); });
}

// All but the commit.
absl::Status KafkaEndpoint::Write() {
  RETURN_IF_ERROR(Begin());
  return lane_->producer().Flush(Deadline());
}

absl::Status KafkaEndpoint::BatchEnd() {
  RETURN_IF_ERROR(CheckInBatch("end"));
  if (!held_) {
    absl::Status written = Write();
    if (written.ok() && writing_->exactly_once()) {
      written = lane_->Commit(steps_.end, Deadline());
    }
    if (!written.ok()) return Fail(std::move(written));
    begun_ = false;
    lane_->NoteTaken();
  }
  Leave();
  return absl::OkStatus();
}

absl::Status KafkaEndpoint::BatchProbe() {
  RETURN_IF_ERROR(CheckInBatch("probe"));
  if (!writing_->exactly_once()) {
    Leave();
    return MakeError(Reason::UNSUPPORTED,
                     "kafka sink: only a transaction can be probed");
  }
  if (!held_) {
    absl::Status written = Write();
    if (!written.ok()) return Fail(std::move(written));
  }
  Leave();
  return absl::OkStatus();
}

void KafkaEndpoint::Leave() {
  if (!std::exchange(entered_, false)) return;
  in_batch_ = false;
  if (std::exchange(begun_, false)) {
    if (writing_->exactly_once()) {
      lane_->Rollback(Deadline());
    } else {
      // What is queued must not be sent behind what comes next.
      lane_->Drop();
    }
  }
  lane_->NoteQueued();
  lane_->Leave();
}

absl::Status KafkaEndpoint::Fail(absl::Status error) {
  const bool refused = HasReason(error, Reason::ROW_REFUSED);
  const absl::Time deadline = Deadline();
  if (refused) error = lane_->Refused(error, deadline);
  // The next producer sends in another way.
  const bool drops = refused && !HasReason(error, Reason::ROW_REFUSED);
  if (writing_->exactly_once()) {
    if (std::exchange(begun_, false)) lane_->Rollback(deadline);
    error = lane_->Explain(std::move(error), deadline);
  }
  if (drops) lane_->Drop();
  Leave();
  return error;
}

}  // namespace penstock::core
