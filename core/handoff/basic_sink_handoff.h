// The handoff for one encoder type and one router type.
// See core/handoff/README.md; upholds INV-4, INV-5, INV-8, INV-9, INV-12.
#pragma once

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/rate_limit.h"
#include "core/handoff/chunk.h"
#include "core/handoff/frame_pool.h"
#include "core/handoff/shard_buffer.h"
#include "core/handoff/shard_sender.h"
#include "core/handoff/sink_handoff.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {

// Seed type: `SinkHandoff`. The corrections of design §9 are: parking per shard
// (ShardSender), the lease inside the chunk, rollback (ShardBuffer) and poison
// for good, a flush that says kFatal, StepEnd and age, exact deduplication of
// acks.
//
// `Encoder` is RowEncoder or a final class derived from it, which saves the
// virtual calls per record; its Clone returns its own type.
//
// Owner, Threads, Lifecycle, Bound: as Handoff.
template <std::derived_from<RowEncoder> Encoder, typename Router>
class SinkHandoff final : public Handoff {
 public:
  // Requires: as MakeHandoff.
  SinkHandoff(std::unique_ptr<Encoder> encoder, Router router,
              ShardQueues& queues, std::shared_ptr<InflightBudget> budget,
              ChunkConfig config, const Clock& clock)
      : config_(config),
        exactly_once_(config.level == FtModel::kExactlyOnce),
        shard_count_(queues.size()),
        router_(std::move(router)),
        budget_(std::move(budget)),
        clock_(clock),
        skip_log_(5, absl::Seconds(10), clock),
        sender_(queues) {
    CHECK_GT(config.target_bytes, 0u);
    CHECK_GT(config.rows_max, 0u);
    CHECK(!exactly_once_ || config.rows_max == UINT64_MAX);
    CHECK(budget_ != nullptr);
    // Room for the row that crosses the target, so that a frame seldom grows.
    const auto pool = std::make_shared<FramePool>(FramePool::Options{
        .frame_bytes = config.target_bytes + config.target_bytes / 8 + 4096});
    shards_.reserve(queues.size());
    for (ShardIndex i = 0; i < queues.size(); ++i) {
      shards_.push_back(
          {.buffer = ShardBuffer<Encoder>(CloneTyped(*encoder), pool)});
    }
  }
  SinkHandoff(const SinkHandoff&) = delete;
  SinkHandoff& operator=(const SinkHandoff&) = delete;

  void BeginStep(StepHandle handle, BudgetLease reservation) override {
    CHECK(!in_step_);
    CHECK(!handle.IsEmpty());
    CHECK(!begun_ || handle.step() > step_) << "step " << handle.step();
    in_step_ = true;
    begun_ = true;
    step_ = handle.step();
    if (!fatal_.ok()) return;  // Both arguments die here: the step failed.
    handle_ = std::move(handle);
    reservation_ = std::move(reservation);
    for (Shard& shard : shards_) {
      shard.chunks_of_step = 0;
      if (exactly_once_) shard.buffer.LearnSize();
    }
  }

  void PushBatch(const RecordBatch& batch) override {
    CHECK(in_step_);
    const size_t records = batch.record_count();
    counters_.records_in += records;
    now_.reset();
    for (size_t i = 0; i < records; ++i) {
      if (!fatal_.ok()) [[unlikely]] {
        counters_.records_discarded += records - i;
        return;
      }
      Push(batch.At(i));
    }
  }

  void AddBadRecords(std::vector<BadRecord> bad_records) override;

  Flow EndStep() override;

  Flow Relieve() override {
    const SendResult result = sender_.Relieve();
    if (result == SendResult::kClosed) Poison(QueueClosed());
    if (!fatal_.ok()) return Flow::kFatal;
    return result == SendResult::kSent ? Flow::kContinue : Flow::kBlocked;
  }

  Flow FlushTerminal() override {
    if (!exactly_once_) {
      for (ShardIndex i = 0; fatal_.ok() && i < shards_.size(); ++i) {
        Seal(i);
        shards_[i].buffer.ReturnUnused();
      }
    }
    return Relieve();
  }

  absl::Time FlushAged(absl::Time steady_now) override {
    absl::Time next = absl::InfiniteFuture();
    if (exactly_once_) return next;
    for (ShardIndex i = 0; fatal_.ok() && i < shards_.size(); ++i) {
      ShardBuffer<Encoder>& buffer = shards_[i].buffer;
      if (buffer.IsEmpty()) continue;
      const absl::Time due = buffer.oldest_ingest() + config_.age_max;
      if (due <= steady_now) {
        Seal(i);
        buffer.ReturnUnused();
      } else {
        next = std::min(next, due);
      }
    }
    return fatal_.ok() ? next : absl::InfiniteFuture();
  }

  size_t parked(ShardIndex shard) const override {
    return sender_.parked(shard);
  }
  const HandoffCounters& counters() const override { return counters_; }
  const absl::Status& fatal() const override { return fatal_; }

 private:
  struct Shard {
    ShardBuffer<Encoder> buffer;
    // Covers rows of steps that have ended (below exactly-once).
    BudgetLease lease = {};
    uint32_t chunks_of_step = 0;
  };

  void Push(const Record& record) {
    const ShardIndex index =
        shard_count_ == 1 ? 0 : router_.Route(record, shard_count_);
    if (index >= shard_count_) [[unlikely]] {
      ++counters_.records_discarded;
      Poison(NoSuchShard(index, shard_count_));
      return;
    }
    ShardBuffer<Encoder>& buffer = shards_[index].buffer;
    const size_t begin = buffer.frame_bytes();
    absl::Status status = buffer.Append(record);
    if (!status.ok()) [[unlikely]] {
      Refuse(index, record, status);
      return;
    }
    ++counters_.records_out;
    if (!buffer.HasAckOf(step_)) [[unlikely]]
      NoteFirstOfStep(buffer);
    if (config_.row_positions) buffer.AddPosition(begin, record.meta);
    if (buffer.bytes() >= config_.target_bytes ||
        buffer.rows() >= config_.rows_max) {
      Seal(index);
    }
  }

  // What comes now is the first of this step in its chunk.
  void NoteFirstOfStep(ShardBuffer<Encoder>& buffer) {
    if (!buffer.HasAck()) {
      // One reading of the clock is good for a whole batch.
      if (!now_.has_value()) now_ = clock_.SteadyNow();
      buffer.set_oldest_ingest(*now_);
    }
    buffer.AddAck(handle_.Share());
  }

  void Refuse(ShardIndex shard, const Record& record,
              const absl::Status& status);

  void SealAll() {
    for (ShardIndex i = 0; fatal_.ok() && i < shards_.size(); ++i) Seal(i);
  }

  void Seal(ShardIndex index);

  // The shard's lease, made up to `bytes` out of the step's reservation.
  BudgetLease TakeLease(Shard& shard, uint64_t bytes) {
    BudgetLease lease = std::move(shard.lease);
    if (lease.bytes() >= bytes) return lease;
    const uint64_t missing = bytes - lease.bytes();
    lease.Merge(reservation_.bytes() > 0 ? reservation_.Split(missing)
                                         : budget_->Overdraw(missing));
    return lease;
  }

  void Forward(ShardIndex shard, ShardItem&& item) {
    if (sender_.Send(shard, std::move(item)) == SendResult::kClosed) {
      Poison(QueueClosed());
    }
  }

  // For good (INV-12): the first cause stays.
  void Poison(absl::Status cause) {
    if (!fatal_.ok()) return;
    fatal_ = std::move(cause);
    for (Shard& shard : shards_) {
      shard.buffer.Clear();
      shard.lease = BudgetLease();
    }
    // Below exactly-once what is parked is whole and may go.
    if (in_step_ && exactly_once_) sender_.DropLast(step_);
    reservation_ = BudgetLease();
    handle_ = StepHandle();
  }

  const ChunkConfig config_;
  const bool exactly_once_;
  const uint32_t shard_count_;
  const Router router_;
  // Shared by: the connector and every lease.
  const std::shared_ptr<InflightBudget> budget_;
  const Clock& clock_;
  RateLimit skip_log_;

  ShardSender sender_;
  std::vector<Shard> shards_;
  bool in_step_ = false;
  bool begun_ = false;
  // The open step, or the last one.
  Step step_ = 0;
  StepHandle handle_;
  BudgetLease reservation_;
  // When the batch that is being pushed was accepted; read when needed.
  std::optional<absl::Time> now_;
  HandoffCounters counters_;
  absl::Status fatal_;
};

}  // namespace penstock::core

#include "core/handoff/basic_sink_handoff_inl.h"
