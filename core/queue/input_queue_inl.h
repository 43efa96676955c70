// The definitions behind input_queue.h, which is what to include and read.
#pragma once

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/contract/parse_error.h"
#include "core/contract/watermark.h"
#include "core/queue/input_queue.h"
#include "core/record/buffer_size.h"
#include "core/record/step_hash.h"

#include <absl/functional/function_ref.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

template <typename Aux, typename Buffer>
void InputQueue<Aux, Buffer>::PushEntry(Entry entry,
                                        std::vector<ParseError> errors) {
  if (!errors.empty()) consumer_.ParseErrors(std::move(errors));
  // A buffer without records would hold memory for nothing.
  if (entry.buffer.has_value() && entry.buffer->IsEmpty()) entry.buffer.reset();
  const BufferSize size =
      entry.buffer.has_value() ? entry.buffer->size() : BufferSize{};

  MutexLock lock(mu_);
  staged_.PushBack(std::move(entry));
  if (size.records > 0) {
    consumer_.Buffered(size);
  } else {
    consumer_.RequestStep();
  }
}

template <typename Aux, typename Buffer>
void InputQueue<Aux, Buffer>::Push(
    std::optional<Buffer> buffer, std::vector<ParseError> errors,
    absl::Time timestamp) requires std::same_as<Aux, std::monostate> {
  if (buffer.has_value() && !buffer->IsEmpty()) {
    PushWithAux(std::move(buffer), std::move(errors), timestamp, {});
    return;
  }
  if (!errors.empty()) consumer_.ParseErrors(std::move(errors));
  consumer_.RequestStep();
}

template <typename Aux, typename Buffer>
FlushResult<Aux> InputQueue<Aux, Buffer>::FlushWithAuxUntil(
    absl::FunctionRef<bool(const Aux&)> stop_at) {
  FlushResult<Aux> result;
  std::optional<StepHasher> hasher = consumer_.Hasher();
  const Taken taken =
      FlushEntries(Splitting::kWhole, hasher.has_value() ? &*hasher : nullptr,
                   [&](bool /*had_buffer*/, absl::Time timestamp, Aux aux) {
                     const bool stop = stop_at(aux);
                     result.aux.emplace_back(timestamp, std::move(aux));
                     return stop;
                   });
  result.total = taken.total;
  result.blocked = taken.blocked;
  result.transaction_committed = taken.transaction_committed;
  if (hasher.has_value()) result.hash = hasher->Finish();
  return result;
}

template <typename Aux, typename Buffer>
void InputQueue<Aux, Buffer>::Queue() requires
    std::same_as<Aux, std::monostate> {
  std::vector<Watermark> watermarks;
  const Taken taken =
      FlushEntries(Splitting::kSplit, nullptr,
                   [&](bool had_buffer, absl::Time timestamp, Aux /*aux*/) {
                     if (had_buffer) {
                       watermarks.push_back(
                           {.timestamp = timestamp, .metadata = std::nullopt});
                     }
                     return false;
                   });
  consumer_.Extended(taken.total, std::nullopt, std::move(watermarks));
}

template <typename Aux, typename Buffer>
auto InputQueue<Aux, Buffer>::FlushEntries(
    Splitting splitting, StepHasher* hasher,
    absl::FunctionRef<bool(bool had_buffer, absl::Time, Aux)> took) -> Taken {
  CHECK(!flushing_.exchange(true)) << "two flushes at a time";
  const uint64_t records_max = consumer_.MaxBatchSize();
  const uint64_t bytes_max = consumer_.MaxBatchBytes();
  Taken taken;
  bool stop = false;
  while (!stop) {
    const bool is_batch_full =
        taken.total.records >= records_max || taken.total.bytes >= bytes_max;
    const bool may_split = splitting == Splitting::kSplit && !is_batch_full;
    const Entry* front =
        Front(may_split ? std::optional(records_max - taken.total.records)
                        : std::nullopt);
    if (front == nullptr) break;
    const bool had_buffer = front->buffer.has_value();
    if (had_buffer) {
      if (is_batch_full && front->buffer->size().records > 0) break;
      if (!consumer_.Admit(*front->buffer)) {
        taken.blocked = true;
        break;
      }
    }
    Entry entry = PopFront();
    if (entry.start_transaction.has_value()) {
      StartTransaction(*entry.start_transaction);
    }
    if (had_buffer) {
      taken.total += FlushBuffer(*std::move(entry.buffer), hasher);
    }
    stop = took(had_buffer, entry.timestamp, std::move(entry.aux));
    if (entry.commit_transaction && CommitTransaction()) {
      taken.transaction_committed = true;
      stop = true;
    }
  }
  flushing_.store(false);
  return taken;
}

template <typename Aux, typename Buffer>
BufferSize InputQueue<Aux, Buffer>::FlushBuffer(Buffer buffer,
                                                StepHasher* hasher) {
  const BufferSize size = buffer.size();
  if (hasher != nullptr) buffer.HashInto(*hasher);
  consumer_.Flush(std::move(buffer));
  return size;
}

template <typename Aux, typename Buffer>
void InputQueue<Aux, Buffer>::StartTransaction(
    const std::optional<std::string>& label) {
  if (std::exchange(transaction_in_progress_, true)) return;
  std::optional<absl::string_view> view;
  if (label.has_value()) view = *label;
  consumer_.StartTransaction(view);
}

template <typename Aux, typename Buffer>
bool InputQueue<Aux, Buffer>::CommitTransaction() {
  if (!std::exchange(transaction_in_progress_, false)) return false;
  consumer_.CommitTransaction();
  return true;
}

template <typename Aux, typename Buffer>
auto InputQueue<Aux, Buffer>::Front(std::optional<uint64_t> records_max)
    -> Entry* {
  MutexLock lock(mu_);
  Entry* front = staged_.Front();
  if (front == nullptr || !front->buffer.has_value()) return front;
  if (records_max.has_value()) staged_.SplitFront(*records_max);
  return staged_.Front();
}

template <typename Aux, typename Buffer>
auto InputQueue<Aux, Buffer>::PopFront() -> Entry {
  const uint64_t bytes_max = consumer_.MaxQueuedBytes();
  bool made_room = false;
  Entry entry;
  {
    MutexLock lock(mu_);
    entry = staged_.PopFront();
    if (full_seen_ && !IsFullLocked(bytes_max)) {
      full_seen_ = false;
      made_room = true;
    }
  }
  if (made_room && on_room_) on_room_();
  return entry;
}

template <typename Aux, typename Buffer>
bool InputQueue<Aux, Buffer>::IsFullLocked(uint64_t bytes_max) const {
  if (staged_.count() == 0) return false;
  return staged_.memory_bytes() >= bytes_max || staged_.count() >= kEntriesMax;
}

template <typename Aux, typename Buffer>
bool InputQueue<Aux, Buffer>::IsFull() {
  const uint64_t bytes_max = consumer_.MaxQueuedBytes();
  MutexLock lock(mu_);
  const bool is_full = IsFullLocked(bytes_max);
  if (is_full) full_seen_ = true;
  return is_full;
}

}  // namespace penstock::core
