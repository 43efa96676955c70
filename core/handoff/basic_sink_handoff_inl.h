// The longer definitions behind basic_sink_handoff.h, which is what to include
// and read.
#pragma once

#include "core/base/check.h"
#include "core/base/log.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/handoff/chunk.h"
#include "core/handoff/shard_buffer.h"
#include "core/handoff/sink_handoff.h"

#include <absl/strings/str_cat.h>

#include <concepts>
#include <utility>
#include <vector>

namespace penstock::core {

template <std::derived_from<RowEncoder> Encoder, typename Router>
void SinkHandoff<Encoder, Router>::AddBadRecords(
    std::vector<BadRecord> bad_records) {
  CHECK(in_step_);
  if (bad_records.empty()) return;
  CHECK(config_.keep_refused);
  if (exactly_once_) SealAll();
  now_.reset();
  for (BadRecord& bad : bad_records) {
    if (!fatal_.ok()) return;
    const ShardIndex index = bad.partition % shard_count_;
    ShardBuffer<Encoder>& buffer = shards_[index].buffer;
    if (!buffer.HasAckOf(step_)) NoteFirstOfStep(buffer);
    buffer.AddBad(std::move(bad));
    if (buffer.beside_bytes() >= config_.target_bytes) Seal(index);
  }
}

template <std::derived_from<RowEncoder> Encoder, typename Router>
Flow SinkHandoff<Encoder, Router>::EndStep() {
  CHECK(in_step_);
  if (exactly_once_) {
    // All chunks first: if one cannot be finished, no shard has a StepEnd.
    SealAll();
    for (ShardIndex i = 0; fatal_.ok() && i < shards_.size(); ++i) {
      StepEnd end{.step = step_, .acks = {}};
      end.acks.Push(handle_.Share());
      Forward(i, std::move(end));
    }
  } else {
    // The rows stay; their lease is to outlive the reservation.
    for (Shard& shard : shards_) {
      const ShardBuffer<Encoder>& buffer = shard.buffer;
      shard.lease = TakeLease(shard, buffer.bytes() + buffer.beside_bytes());
    }
  }
  for (Shard& shard : shards_) shard.buffer.ReturnUnused();
  in_step_ = false;
  reservation_ = BudgetLease();
  if (!fatal_.ok()) return Flow::kFatal;
  std::move(handle_).Resolve();
  return sender_.parked_total() > 0 ? Flow::kBlocked : Flow::kContinue;
}

template <std::derived_from<RowEncoder> Encoder, typename Router>
void SinkHandoff<Encoder, Router>::Refuse(ShardIndex shard,
                                          const Record& record,
                                          const absl::Status& status) {
  // A broken encoder overrides the policy: skipping would lose everything.
  if (status.code() != absl::StatusCode::kInternal &&
      config_.encode_policy == EncodePolicy::kSkip) {
    ++counters_.records_skipped;
    LOG_EVERY(WARNING, skip_log_)
            .With("shard", shard)
            .With("partition", record.meta.partition)
            .With("offset", record.meta.offset)
        << "skipped a record that cannot be encoded: " << status.message();
    if (!config_.keep_refused) return;
    ShardBuffer<Encoder>& buffer = shards_[shard].buffer;
    if (!buffer.HasAckOf(step_)) NoteFirstOfStep(buffer);
    buffer.AddRefused(record, status);
    if (buffer.beside_bytes() >= config_.target_bytes) Seal(shard);
    return;
  }
  ++counters_.records_discarded;
  Poison(CannotEncode(status, record.meta, shard));
}

template <std::derived_from<RowEncoder> Encoder, typename Router>
void SinkHandoff<Encoder, Router>::Seal(ShardIndex index) {
  Shard& shard = shards_[index];
  if (shard.buffer.IsEmpty()) return;
  const size_t beside_bytes = shard.buffer.beside_bytes();
  ShardItem item;
  EncodedChunk& chunk = item.emplace<EncodedChunk>();
  const absl::Status sealed = shard.buffer.Seal(chunk);
  if (!sealed.ok()) {
    Poison(WithContext(
        sealed, absl::StrCat("while finishing a chunk of shard ", index)));
    return;
  }
  chunk.lease = TakeLease(shard, chunk.frame.size() + beside_bytes);
  chunk.index = exactly_once_ ? shard.chunks_of_step++ : 0;
  if (!exactly_once_) shard.buffer.LearnSize();
  counters_.bytes_out += chunk.frame.size();
  ++counters_.chunks_sealed;
  Forward(index, std::move(item));
}

}  // namespace penstock::core
