#include "core/sinks/kafka/kafka_lane.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// To end what was begun; what takes longer is left to the next producer.
constexpr absl::Duration kRollbackTime = absl::Seconds(2);

bool IsForGood(const absl::Status& error) {
  return HasReason(error, Reason::WRITER_FENCED) ||
         HasReason(error, Reason::PROGRESS_LOST) ||
         HasReason(error, Reason::STATE_DAMAGED);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaProducer>> KafkaWriting::MakeProducer(
    const std::string& transactional_id) const {
  KafkaConf made{.conf = KafkaConfHandle(rd_kafka_conf_dup(conf.conf.get())),
                 .secrets = conf.secrets};
  if (!transactional_id.empty()) {
    const std::string time_out =
        absl::StrCat(absl::ToInt64Milliseconds(config.transaction_timeout));
    RETURN_IF_ERROR(made.Set("transactional.id", transactional_id));
    RETURN_IF_ERROR(made.Set("transaction.timeout.ms", time_out));
    RETURN_IF_ERROR(made.Set("message.timeout.ms", time_out));
  }
  return KafkaProducer::Create(std::move(made), config.topic, clock);
}

absl::StatusOr<std::optional<KafkaGroupOffset>> KafkaWriting::ReadOffset(
    const std::string& group, absl::Time deadline) const {
  KafkaConf made{.conf = KafkaConfHandle(rd_kafka_conf_dup(conf.conf.get())),
                 .secrets = conf.secrets};
  return ReadKafkaGroupOffset(std::move(made), group, config.topic, clock,
                              deadline);
}

absl::Time KafkaWriting::Deadline(absl::Time batch) const {
  return std::min(batch, clock.SteadyNow() + config.request_timeout);
}

absl::Status KafkaLane::Enter(absl::Time deadline) {
  MutexLock lock(mu_);
  const bool free = left_.WaitUntil(mu_, deadline, [this] {
    mu_.AssertHeld();
    return !entered_;
  });
  if (!free) {
    return MakeError(Reason::DEADLINE,
                     absl::StrCat("kafka sink: shard ", shard_,
                                  " is busy renewing its progress"));
  }
  entered_ = true;
  return absl::OkStatus();
}

void KafkaLane::Leave() {
  MutexLock lock(mu_);
  entered_ = false;
  left_.NotifyAll();
}

absl::StatusOr<std::optional<KafkaProgress>> KafkaLane::Read(
    absl::Time deadline) {
  ASSIGN_OR_RETURN(
      const std::optional<KafkaGroupOffset> found,
      writing_->ReadOffset(ProgressGroup(writing_->open, shard_), deadline));
  if (!found.has_value()) return std::optional<KafkaProgress>();
  ASSIGN_OR_RETURN(const KafkaProgress progress, ParseStoredProgress(*found));
  return std::optional<KafkaProgress>(progress);
}

absl::Status KafkaLane::Connect() {
  if (producer_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      producer_, writing_->MakeProducer(ProgressGroup(writing_->open, shard_)));
  return absl::OkStatus();
}

absl::Status KafkaLane::Take(absl::AnyInvocable<absl::StatusOr<Step>(
                                 const std::optional<KafkaProgress>&)>
                                 steps,
                             absl::Time deadline) {
  RETURN_IF_ERROR(Connect());
  RETURN_IF_ERROR(producer_->Init(deadline));
  ASSIGN_OR_RETURN(const std::optional<KafkaProgress> found, Read(deadline));
  ASSIGN_OR_RETURN(const Step count, steps(found));
  RETURN_IF_ERROR(producer_->Begin());
  RETURN_IF_ERROR(SendProgress(count, deadline));
  RETURN_IF_ERROR(producer_->Commit(deadline));
  progress_ = count;
  return absl::OkStatus();
}

absl::Status KafkaLane::Ensure(absl::Time deadline) {
  RETURN_IF_ERROR(broken_);
  if (producer_ != nullptr && producer_->IsBroken()) Drop();
  if (producer_ != nullptr) return absl::OkStatus();
  if (!writing_->exactly_once()) {
    ASSIGN_OR_RETURN(producer_, writing_->MakeProducer(""));
    return absl::OkStatus();
  }
  absl::Status confirmed = Confirm(deadline);
  if (confirmed.ok()) return confirmed;
  Drop();
  if (IsForGood(confirmed)) broken_ = confirmed;
  return confirmed;
}

// Looks before Init, too, so that a writer that was replaced disturbs nobody.
absl::Status KafkaLane::Confirm(absl::Time deadline) {
  ASSIGN_OR_RETURN(std::optional<KafkaProgress> found, Read(deadline));
  RETURN_IF_ERROR(CheckIsMine(writing_->open, shard_, found));
  RETURN_IF_ERROR(Connect());
  absl::Status taken = producer_->Init(deadline);
  if (HasReason(taken, Reason::WRITER_FENCED)) {
    // By a producer that came in between: it is looked at next time.
    return MakeError(Reason::UNAVAILABLE, taken.message());
  }
  RETURN_IF_ERROR(taken);
  ASSIGN_OR_RETURN(found, Read(deadline));
  RETURN_IF_ERROR(CheckIsMine(writing_->open, shard_, found));
  progress_ = found->steps;
  return absl::OkStatus();
}

absl::Status KafkaLane::SendProgress(Step steps, absl::Time deadline) {
  return producer_->SendOffset(
      ProgressGroup(writing_->open, shard_), static_cast<int64_t>(steps),
      ProgressMetadata(writing_->open.writer), deadline);
}

absl::Status KafkaLane::Commit(Step steps, absl::Time deadline) {
  RETURN_IF_ERROR(SendProgress(steps, deadline));
  absl::Status committed = producer_->Commit(deadline);
  if (!committed.ok()) {
    if (IsKafkaAbortable(committed)) return committed;
    // Whether it took effect stands in the group: it is asked now, or before
    // the next batch.
    Drop();
    if (writing_->clock.SteadyNow() >= deadline) return committed;
    const absl::Status asked = Ensure(deadline);
    RETURN_IF_ERROR(broken_);
    if (!asked.ok() || progress_ != steps) return committed;
  }
  progress_ = steps;
  return absl::OkStatus();
}

void KafkaLane::Rollback(absl::Time deadline) {
  if (producer_ == nullptr) return;
  const absl::Time now = writing_->clock.SteadyNow();
  if (producer_->IsBroken() || now >= deadline ||
      !producer_->Abort(std::min(now + kRollbackTime, deadline)).ok()) {
    Drop();
    return;
  }
  producer_->ForgetFailures();
  NoteQueued();
}

void KafkaLane::Drop() {
  producer_.reset();
  NoteQueued();
}

absl::Status KafkaLane::Explain(absl::Status error, absl::Time deadline) {
  if (!writing_->exactly_once() || !broken_.ok()) {
    return broken_.ok() ? error : broken_;
  }
  if (!HasReason(error, Reason::WRITER_FENCED)) return error;
  // Perhaps the cluster has ended a transaction that took too long, or an open
  // that was too late has only knocked.
  Ensure(deadline).IgnoreError();
  if (!broken_.ok()) return broken_;
  return MakeError(Reason::UNAVAILABLE, error.message());
}

absl::Status KafkaLane::Renew(absl::Time deadline) {
  RETURN_IF_ERROR(Ensure(deadline));
  absl::Status renewed = producer_->Begin();
  if (renewed.ok() && shard_ == 0) {
    renewed = producer_->SendOffset(
        OwnerGroup(writing_->open), writing_->open.shards,
        OwnerMetadata(writing_->open.incarnation), deadline);
  }
  if (renewed.ok()) renewed = Commit(progress_, deadline);
  if (renewed.ok()) return renewed;
  Rollback(deadline);
  return Explain(std::move(renewed), deadline);
}

void KafkaLane::NoteQueued() {
  queued_bytes_.store(producer_ == nullptr ? 0 : producer_->queued_bytes(),
                      std::memory_order_relaxed);
}

}  // namespace penstock::core
