#include "core/sinks/kafka/kafka_lane.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// To end what was begun; what takes longer is left to the next producer.
constexpr absl::Duration kRollbackTime = absl::Seconds(2);

bool IsForGood(const absl::Status& error) {
  return HasReason(error, Reason::WRITER_FENCED) ||
         HasReason(error, Reason::PROGRESS_LOST) ||
         HasReason(error, Reason::STATE_DAMAGED);
}

// What is sent together is measured before it is compressed.
absl::Status CapBatch(uint64_t bytes_max, KafkaConf& conf) {
  std::array<char, 32> text = {};
  size_t size = text.size();
  uint64_t bytes = 0;
  if (rd_kafka_conf_get(conf.conf.get(), "batch.size", text.data(), &size) ==
          RD_KAFKA_CONF_OK &&
      absl::SimpleAtoi(text.data(), &bytes) && bytes <= bytes_max) {
    return absl::OkStatus();
  }
  return conf.Set("batch.size", absl::StrCat(bytes_max));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaProducer>> KafkaWriting::MakeProducer(
    const std::string& transactional_id, bool alone) const {
  KafkaConf made{.conf = KafkaConfHandle(rd_kafka_conf_dup(conf.conf.get())),
                 .secrets = conf.secrets};
  if (!transactional_id.empty()) {
    const std::string time_out =
        absl::StrCat(absl::ToInt64Milliseconds(config.transaction_timeout));
    RETURN_IF_ERROR(made.Set("transactional.id", transactional_id));
    RETURN_IF_ERROR(made.Set("transaction.timeout.ms", time_out));
    RETURN_IF_ERROR(made.Set("message.timeout.ms", time_out));
  }
  if (batch_bytes.has_value()) {
    RETURN_IF_ERROR(CapBatch(*batch_bytes, made));
  }
  if (alone) {
    RETURN_IF_ERROR(made.Set("batch.num.messages", "1"));
  }
  return KafkaProducer::Create(std::move(made), config.topic, clock);
}

absl::StatusOr<std::optional<KafkaGroupOffset>> KafkaWriting::ReadOffset(
    const std::string& group, KafkaOffsetRead read, absl::Time deadline) const {
  KafkaConf made{.conf = KafkaConfHandle(rd_kafka_conf_dup(conf.conf.get())),
                 .secrets = conf.secrets};
  return ReadKafkaGroupOffset(std::move(made), group, config.topic, read, clock,
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
    KafkaOffsetRead read, absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::optional<KafkaGroupOffset> found,
                   writing_->ReadOffset(ProgressGroup(writing_->open, shard_),
                                        read, deadline));
  if (!found.has_value()) return std::optional<KafkaProgress>();
  ASSIGN_OR_RETURN(const KafkaProgress progress, ParseStoredProgress(*found));
  return std::optional<KafkaProgress>(progress);
}

absl::Status KafkaLane::Connect() {
  if (producer_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      producer_,
      writing_->MakeProducer(ProgressGroup(writing_->open, shard_), alone_));
  return absl::OkStatus();
}

absl::Status KafkaLane::Take(absl::AnyInvocable<absl::StatusOr<Step>(
                                 const std::optional<KafkaProgress>&)>
                                 steps,
                             bool renews_owner, absl::Time deadline) {
  RETURN_IF_ERROR(Connect());
  RETURN_IF_ERROR(producer_->Init(deadline));
  ASSIGN_OR_RETURN(const std::optional<KafkaProgress> found,
                   Read(KafkaOffsetRead::kStable, deadline));
  ASSIGN_OR_RETURN(const Step count, steps(found));
  RETURN_IF_ERROR(producer_->Begin());
  if (renews_owner) {
    RETURN_IF_ERROR(SendOwner(deadline));
  }
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
    ASSIGN_OR_RETURN(producer_, writing_->MakeProducer("", alone_));
    return absl::OkStatus();
  }
  absl::Status confirmed = Confirm(deadline);
  if (confirmed.ok()) return confirmed;
  Drop();
  if (IsForGood(confirmed)) broken_ = confirmed;
  return confirmed;
}

// Looks before Init, too, so that a writer that was replaced disturbs nobody.
// Whatever stands there is good enough for that, as writers only grow; to wait
// for a transaction would be to wait for what Init ends.
absl::Status KafkaLane::Confirm(absl::Time deadline) {
  ASSIGN_OR_RETURN(std::optional<KafkaProgress> found,
                   Read(KafkaOffsetRead::kAny, deadline));
  if (found.has_value() && found->writer > writing_->open.writer) {
    return CheckIsMine(writing_->open, shard_, found);
  }
  RETURN_IF_ERROR(Connect());
  absl::Status taken = producer_->Init(deadline);
  if (HasReason(taken, Reason::WRITER_FENCED)) {
    // By a producer that came in between: it is looked at next time.
    return MakeError(Reason::UNAVAILABLE, taken.message());
  }
  RETURN_IF_ERROR(taken);
  ASSIGN_OR_RETURN(found, Read(KafkaOffsetRead::kStable, deadline));
  RETURN_IF_ERROR(CheckIsMine(writing_->open, shard_, found));
  progress_ = found->steps;
  return absl::OkStatus();
}

absl::Status KafkaLane::SendProgress(Step steps, absl::Time deadline) {
  return producer_->SendOffset(
      ProgressGroup(writing_->open, shard_), static_cast<int64_t>(steps),
      ProgressMetadata(writing_->open.writer), deadline);
}

absl::Status KafkaLane::SendOwner(absl::Time deadline) {
  return producer_->SendOffset(
      OwnerGroup(writing_->open), writing_->open.shards,
      OwnerMetadata(writing_->open.incarnation), deadline);
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

void KafkaLane::Drop() { GiveUp(); }

std::unique_ptr<KafkaProducer> KafkaLane::GiveUp() {
  std::unique_ptr<KafkaProducer> producer = std::move(producer_);
  NoteQueued();
  return producer;
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

absl::Status KafkaLane::Refused(const absl::Status& error,
                                absl::Time deadline) {
  std::optional<uint64_t> named;
  if (producer_ != nullptr) {
    // What became of the others says whether it was alone.
    producer_->Settle(
        std::min(writing_->clock.SteadyNow() + kRollbackTime, deadline));
    named = producer_->failed_message();
  }
  if (named.has_value() || alone_) {
    return MakeRowRefused(error.message(), named);
  }
  alone_ = true;
  LOG(WARNING) << "kafka sink: shard " << shard_ << ": " << error.message()
               << "; it may be what was sent together, so each message is sent "
                  "by itself"
               << (writing_->batch_bytes.has_value()
                       ? ""
                       : " from now on; give the right to DESCRIBE_CONFIGS of "
                         "the topic, or set batch.size to at most its "
                         "max.message.bytes");
  return MakeError(Reason::UNAVAILABLE, error.message());
}

void KafkaLane::NoteTaken() {
  // Where the limit is known it was a row, or the limit that was changed.
  if (!alone_ || !writing_->batch_bytes.has_value()) return;
  alone_ = false;
  Drop();
}

absl::Status KafkaLane::Renew(absl::Time deadline) {
  RETURN_IF_ERROR(Ensure(deadline));
  absl::Status renewed = producer_->Begin();
  if (renewed.ok() && shard_ == 0) renewed = SendOwner(deadline);
  if (renewed.ok()) renewed = Commit(progress_, deadline);
  if (renewed.ok()) return renewed;
  Rollback(deadline);
  return Explain(std::move(renewed), deadline);
}

void KafkaLane::NoteQueued() {
  queued_bytes_.store(producer_ == nullptr ? 0 : producer_->queued_bytes(),
                      std::memory_order_relaxed);
}

void EndTogether(std::span<const std::shared_ptr<KafkaLane>> lanes) {
  std::vector<std::unique_ptr<KafkaProducer>> producers;
  for (const std::shared_ptr<KafkaLane>& lane : lanes) {
    if (!lane->Enter(absl::InfinitePast()).ok()) continue;
    std::unique_ptr<KafkaProducer> producer = lane->GiveUp();
    lane->Leave();
    if (producer == nullptr) continue;
    producer->BeginEnd();
    producers.push_back(std::move(producer));
  }
}

}  // namespace penstock::core
