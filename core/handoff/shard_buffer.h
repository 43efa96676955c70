// Where the rows of one shard gather until they are sealed.
// See core/handoff/README.md; upholds INV-9, INV-11, INV-12.
#pragma once

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/contract/frame_buffer.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack.h"
#include "core/handoff/chunk.h"
#include "core/handoff/frame_pool.h"
#include "core/record/record.h"
#include "core/record/record_batch.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {

// A clone of the encoder's own type.
template <std::derived_from<RowEncoder> Encoder>
std::unique_ptr<Encoder> CloneTyped(const Encoder& encoder) {
  std::unique_ptr<RowEncoder> clone = encoder.Clone();
  if constexpr (std::same_as<Encoder, RowEncoder>) {
    return clone;
  } else {
    auto* const typed = dynamic_cast<Encoder*>(clone.get());
    CHECK(typed != nullptr) << "Clone of another type";
    clone.release();
    return std::unique_ptr<Encoder>(typed);
  }
}

// What an encoder threw, as a Status. Requires: an exception is being handled.
absl::Status EncoderThrew(Reason reason);
// `status`, of a record at `meta`, with its place.
absl::Status CannotEncode(const absl::Status& status, const RecordMeta& meta,
                          ShardIndex shard);

// What else poisons a handoff: a router named `shard` of `shards`; a queue that
// nobody receives from.
absl::Status NoSuchShard(ShardIndex shard, uint32_t shards);
absl::Status QueueClosed();

// One shard's unsealed rows, and the encoder that may hold part of them: a
// columnar encoder must not mix the rows of two shards.
//
// Owner:   a handoff. Threads: confined to it.
// Bound:   one frame; the handoff seals at the chunk target. It has memory only
//          from the first row to ReturnUnused: a buffer of the pool, or where
//          little is expected a smaller one.
template <std::derived_from<RowEncoder> Encoder>
class ShardBuffer {
 public:
  ShardBuffer(std::unique_ptr<Encoder> encoder, std::shared_ptr<FramePool> pool)
      : encoder_(std::move(encoder)),
        columnar_(encoder_->AsColumnar()),
        pool_(std::move(pool)) {}
  ShardBuffer(ShardBuffer&&) noexcept = default;
  ShardBuffer& operator=(ShardBuffer&&) = delete;
  ~ShardBuffer() {
    if (pool_ != nullptr) Clear();
  }

  // Encodes one row. Errors: the encoder's, or what it threw: INTERNAL if it
  // is broken for good, any other if the record is; nothing is left of the row.
  absl::Status Append(const Record& record) {
    if (!has_frame_) TakeMemory();
    const size_t before = frame_.size();
    absl::Status status = Encode(record);
    if (!status.ok()) [[unlikely]] {
      frame_.Truncate(before);
      return HoldsAsBefore() ? status : HalfHeld(status);
    }
    ++rows_;
    if (columnar_ != nullptr) held_bytes_ = columnar_->BufferedBytes();
    if (record.meta.event_time_ms != RecordMeta::kNoEventTime) {
      oldest_event_ms_ = std::min(oldest_event_ms_, record.meta.event_time_ms);
    }
    return status;
  }

  // Notes where the row appended last came from. `frame_offset`: where it
  // begins, bytes() before it was appended.
  void AddPosition(size_t frame_offset, const RecordMeta& meta) {
    row_positions_.push_back(
        {.frame_offset = static_cast<uint32_t>(frame_offset),
         .partition = meta.partition,
         .source_offset = meta.offset});
  }

  // Keeps a record that Append refused; it leaves with the next chunk.
  void AddRefused(const Record& record, absl::Status error) {
    RefusedRecord refused{.partition = record.meta.partition,
                          .offset = record.meta.offset,
                          .error = std::move(error),
                          .value = std::string(record.value.value_or(""))};
    refused_bytes_ += refused.value.size();
    refused_.push_back(std::move(refused));
  }

  // The same of one that a parser refused.
  void AddBad(BadRecord bad) {
    refused_bytes_ += bad.MemoryBytes();
    refused_.push_back(
        {.partition = bad.partition,
         .offset = bad.offset,
         .error = MakeError(Reason::MALFORMED_FRAME,
                            absl::StrCat(bad.tag, ": ", bad.description),
                            {{"tag", bad.tag}}),
         .value = std::move(bad.text)});
  }

  // Keeps one handle per step, whatever number of its rows came. Steps come
  // one after the other, so the last one seen decides.
  bool HasAck() const { return !acks_.IsEmpty(); }
  bool HasAckOf(Step step) const {
    return !acks_.IsEmpty() && last_step_ == step;
  }
  void AddAck(AckRef ack) {
    last_step_ = ack.step();
    acks_.Push(std::move(ack));
  }
  void set_oldest_ingest(absl::Time time) { oldest_ingest_ = time; }

  uint32_t rows() const { return rows_; }
  // Whether there is anything to seal.
  bool IsEmpty() const { return rows_ == 0 && refused_.empty(); }
  absl::Time oldest_ingest() const { return oldest_ingest_; }
  // Of the frame alone.
  size_t frame_bytes() const { return frame_.size(); }
  // Of the frame and inside the encoder.
  size_t bytes() const { return frame_.size() + held_bytes_; }
  // Of what a chunk holds beside its frame.
  size_t beside_bytes() const {
    return row_positions_.size() * sizeof(RowPosition) + refused_bytes_;
  }

  // Makes `chunk` of everything; lease and index are the caller's to set.
  // Requires: not IsEmpty(); `chunk` is fresh. Errors: the encoder could not
  // finish; what it wrote is rolled back, and it must not be used again.
  absl::Status Seal(EncodedChunk& chunk) {
    absl::Status finished;
    if (rows_ > 0) {
      const size_t before = frame_.size();
      finished = FinishChunk();
      if (!finished.ok()) {
        frame_.Truncate(before);
        return finished;
      }
      held_bytes_ = 0;
      chunk.frame = TakeFrame();
    }
    chunk.rows = std::exchange(rows_, 0);
    chunk.acks = std::move(acks_);
    chunk.step = last_step_;
    chunk.oldest_ingest = oldest_ingest_;
    chunk.oldest_event_ms = std::exchange(oldest_event_ms_, INT64_MAX);
    chunk.row_positions = std::exchange(row_positions_, {});
    chunk.refused = std::exchange(refused_, {});
    refused_bytes_ = 0;
    return finished;
  }

  // From now on as much is expected until the next call as was sealed since
  // the last one. A matter of memory only: chunks are cut as ever.
  void LearnSize() {
    const size_t sealed = std::exchange(sealed_bytes_, 0);
    if (sealed > 0) expected_bytes_ = sealed;
  }

  // Gives the memory back where there are no rows.
  void ReturnUnused() {
    if (!has_frame_ || rows_ > 0) return;
    has_frame_ = false;
    if (is_pooled_) pool_->Return(std::move(frame_));
    frame_ = FrameBuffer();
  }

  // Drops everything: its acks fail.
  void Clear() {
    rows_ = 0;
    held_bytes_ = 0;
    acks_ = AckSet();
    row_positions_.clear();
    refused_.clear();
    refused_bytes_ = 0;
    frame_.Truncate(0);
    ReturnUnused();
  }

 private:
  // Encoders call libraries that throw: here is the boundary.
  absl::Status Encode(const Record& record) {
    try {
      return encoder_->Encode(record, frame_);
    } catch (...) {
      // Who knows what state its rows are in?
      return EncoderThrew(columnar_ != nullptr && columnar_->BufferedBytes() > 0
                              ? Reason::INTERNAL
                              : Reason::MALFORMED_FRAME);
    }
  }

  absl::Status FinishChunk() {
    if (columnar_ == nullptr) return absl::OkStatus();
    try {
      return columnar_->FinishChunk(frame_);
    } catch (...) {
      return EncoderThrew(Reason::INTERNAL);
    }
  }

  bool HoldsAsBefore() const {
    return columnar_ == nullptr || columnar_->BufferedBytes() == held_bytes_;
  }
  absl::Status HalfHeld(const absl::Status& refused) const {
    return MakeError(
        Reason::INTERNAL,
        absl::StrCat("the encoder refused a record and holds part of it: ",
                     columnar_->BufferedBytes(), " bytes after it, ",
                     held_bytes_, " before: ", refused.message()));
  }

  void TakeMemory() {
    has_frame_ = true;
    is_pooled_ = expected_bytes_ >= pool_->frame_bytes() / 2;
    frame_ = is_pooled_
                 ? pool_->Take()
                 : FrameBuffer(expected_bytes_ + expected_bytes_ / 4 + 64);
  }

  // A frame that fills less than half of its buffer is copied, so that memory
  // stays within twice what leases say, and the buffer is used again.
  SealedFrame TakeFrame() {
    sealed_bytes_ += frame_.size();
    // More than was expected: so may be the next one.
    expected_bytes_ = std::max(expected_bytes_, frame_.size());
    if (frame_.size() >= frame_.capacity() / 2) {
      has_frame_ = false;
      return SealedFrame(std::move(frame_), is_pooled_ ? pool_ : nullptr);
    }
    FrameBuffer exact(frame_.size());
    exact.Append(frame_.view());
    frame_.Truncate(0);
    return SealedFrame(std::move(exact));
  }

  std::unique_ptr<Encoder> encoder_;
  // `encoder_`, if it holds rows; otherwise null.
  ColumnarEncoder* columnar_;
  // Shared by: all shards of the handoff and the chunks on their way.
  std::shared_ptr<FramePool> pool_;
  // Without memory unless `has_frame_`.
  FrameBuffer frame_;
  bool has_frame_ = false;
  bool is_pooled_ = false;
  size_t expected_bytes_ = SIZE_MAX / 2;
  size_t sealed_bytes_ = 0;
  // Of what the encoder accepted.
  size_t held_bytes_ = 0;
  uint32_t rows_ = 0;
  AckSet acks_;
  Step last_step_ = 0;
  absl::Time oldest_ingest_;
  int64_t oldest_event_ms_ = INT64_MAX;
  std::vector<RowPosition> row_positions_;
  std::vector<RefusedRecord> refused_;
  size_t refused_bytes_ = 0;
};

}  // namespace penstock::core
