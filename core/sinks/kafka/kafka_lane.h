// One shard's producer with its fence and its count.
// See core/sinks/kafka/README.md; upholds INV-1 and INV-7.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/contract/output_target.h"
#include "core/kafka/kafka_group_offset.h"
#include "core/kafka/kafka_options.h"
#include "core/kafka/kafka_producer.h"
#include "core/record/step.h"
#include "core/sinks/kafka/config.h"
#include "core/sinks/kafka/kafka_progress.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// What the lanes of one open have in common. Constant once made.
struct KafkaWriting {
  KafkaSinkConfig config;
  OutputOpen open;
  // Without a transactional id.
  KafkaConf conf;
  // Of the topic, as they were at the open.
  int32_t partitions = 1;
  // What is sent together at most; nullopt: the topic's limit is not known.
  std::optional<uint64_t> batch_bytes = std::nullopt;
  // Outlives it.
  const Clock& clock;

  bool exactly_once() const { return open.level == FtModel::kExactlyOnce; }
  // `transactional_id`: empty: none. `alone`: each message is sent by itself.
  absl::StatusOr<std::unique_ptr<KafkaProducer>> MakeProducer(
      const std::string& transactional_id, bool alone = false) const;
  // What `group` has committed; nullopt: nothing.
  absl::StatusOr<std::optional<KafkaGroupOffset>> ReadOffset(
      const std::string& group, KafkaOffsetRead read,
      absl::Time deadline) const;
  // The end of a call that begins now.
  absl::Time Deadline(absl::Time batch) const;
};

// Makes and replaces a shard's producer. Exactly-once: between a producer's
// Init, which fences all others of the shard, and its fatal error nobody else
// moves the shard's progress; so what was read behind Init is what a commit of
// it moves on from: the compare-and-set of design §4.
//
//   none ─Ensure: make, read, Init, read again─▶ ready ─Drop─▶ none
//
// Threads:   Enter and Leave are thread-safe; between them all else is confined
//            to who has entered. queued_bytes() is thread-safe.
// Lifecycle: Take once, then Ensure before each use.
// Bound:     one producer.
class KafkaLane {
 public:
  // Shared by: the target, its lanes and endpoints.
  KafkaLane(std::shared_ptr<const KafkaWriting> writing, ShardIndex shard)
      : writing_(std::move(writing)), shard_(shard) {}

  // Waits until whoever has entered has left. Errors: DEADLINE.
  absl::Status Enter(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_);
  void Leave() ABSL_LOCKS_EXCLUDED(mu_);

  // What stands in the cluster; nullopt: nothing.
  absl::StatusOr<std::optional<KafkaProgress>> Read(KafkaOffsetRead read,
                                                    absl::Time deadline);
  // Exactly-once: fences all others, and makes the open's writer the shard's;
  // `steps` is called with what stands there and says what the count shall be.
  // `renews_owner`: the connector's owner is committed again with it.
  absl::Status Take(absl::AnyInvocable<absl::StatusOr<Step>(
                        const std::optional<KafkaProgress>&)>
                        steps,
                    bool renews_owner, absl::Time deadline);
  // That there is a producer, and that the shard is still ours.
  absl::Status Ensure(absl::Time deadline);
  // Requires: Ensure or Take succeeded, and Drop was not called since.
  KafkaProducer& producer() { return *producer_; }
  bool has_producer() const { return producer_ != nullptr; }
  // As far as known.
  Step progress() const { return progress_; }

  // The open transaction also moves the count, and commits. What became of a
  // commit without an answer is read. Errors: then the producer is dropped.
  absl::Status Commit(Step steps, absl::Time deadline);
  // Ends an open transaction without a trace, if need be by the next producer.
  void Rollback(absl::Time deadline);
  void Drop();
  // The producer, if there is one, which is the caller's.
  std::unique_ptr<KafkaProducer> GiveUp();
  // What `error` comes to: asks whether a newer writer is what it follows from.
  absl::Status Explain(absl::Status error, absl::Time deadline);
  // The cluster refuses something of what is queued. Returns: ROW_REFUSED, if
  // that is a message for certain; UNAVAILABLE if it may have been what was
  // sent together, which is over the topic's limit: from now on each message is
  // sent by itself, so that the next refusal tells.
  absl::Status Refused(const absl::Status& error, absl::Time deadline);
  // A batch was taken whole.
  void NoteTaken();
  // Commits the count again, so that the cluster does not forget it; of shard 0
  // also the owner's.
  absl::Status Renew(absl::Time deadline);

  uint64_t queued_bytes() const {
    return queued_bytes_.load(std::memory_order_relaxed);
  }
  void NoteQueued();

 private:
  absl::Status Connect();
  absl::Status Confirm(absl::Time deadline);
  absl::Status SendProgress(Step steps, absl::Time deadline);
  absl::Status SendOwner(absl::Time deadline);

  const std::shared_ptr<const KafkaWriting> writing_;
  const ShardIndex shard_;

  std::unique_ptr<KafkaProducer> producer_;
  // Why nothing works any more: fenced, or progress is lost.
  absl::Status broken_;
  Step progress_ = 0;
  // Messages are sent one by one.
  bool alone_ = false;
  std::atomic<uint64_t> queued_bytes_ = 0;

  Mutex mu_;
  CondVar left_;
  bool entered_ ABSL_GUARDED_BY(mu_) = false;
};

// Ends their producers at the same time: a shard's may take seconds, and there
// may be dozens. One that somebody has entered drops its own, at its end.
void EndTogether(std::span<const std::shared_ptr<KafkaLane>> lanes);

}  // namespace penstock::core
