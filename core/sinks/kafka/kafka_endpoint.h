// Writes one shard of a Kafka sink.
#pragma once

#include "core/contract/output_endpoint.h"
#include "core/record/step.h"
#include "core/sinks/kafka/kafka_lane.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace penstock::core {

// Exactly-once: one transaction a batch, begun with its first message; the
// shard's count moves with it. Below it: a batch is whole when the cluster has
// confirmed each of its messages.
//
// Owner:     the shard worker. Threads: as OutputEndpoint; MemoryBytes may be
//            asked by any.
// Lifecycle: Connect, batches. It has entered its lane from BatchStart to the
//            batch's end.
// Bound:     what its lane's producer may hold.
class KafkaEndpoint final : public OutputEndpoint {
 public:
  // Shared by: the target and this.
  KafkaEndpoint(std::shared_ptr<const KafkaWriting> writing,
                std::shared_ptr<KafkaLane> lane, ShardIndex shard);
  ~KafkaEndpoint() override;

  absl::Status Connect(AsyncErrorCallback on_error) override;
  size_t MaxBufferSizeBytes() const override;
  absl::Status BatchStart(const OutputBatch& batch) override;
  // UNSUPPORTED: messages only.
  absl::Status PushBuffer(absl::string_view buffer) override;
  absl::Status PushKey(std::optional<absl::string_view> key,
                       std::optional<absl::string_view> value,
                       std::span<const MessageHeader> headers) override;
  absl::Status BatchEnd() override;
  absl::Status BatchProbe() override;
  bool IsFaultTolerant() const override { return writing_->exactly_once(); }
  uint64_t MemoryBytes() const override { return lane_->queued_bytes(); }

 private:
  absl::Time Deadline() const { return writing_->Deadline(batch_deadline_); }
  absl::Status CheckInBatch(absl::string_view what) const;
  absl::Status CheckSteps(StepRange steps);
  // That there is a transaction, where there are any.
  absl::Status Begin();
  absl::Status Push(std::optional<absl::string_view> key,
                    std::optional<absl::string_view> value,
                    std::span<const MessageHeader> headers);
  absl::Status Write();
  // The batch is over, and leaves nothing of what is not committed.
  void Leave();
  absl::Status Fail(absl::Status error);

  const std::shared_ptr<const KafkaWriting> writing_;
  const std::shared_ptr<KafkaLane> lane_;
  const ShardIndex shard_;

  bool entered_ = false;
  // False also while a call runs: one that fails ends the batch.
  bool in_batch_ = false;
  // There is something to be rolled back.
  bool begun_ = false;
  // Committed before: nothing of it is written.
  bool held_ = false;
  StepRange steps_;
  absl::Time batch_deadline_ = absl::InfiniteFuture();
};

}  // namespace penstock::core
