// The FIFO inside an InputQueue, with its accounts.
#pragma once

#include "core/base/check.h"
#include "core/queue/input_queue_entry.h"
#include "core/record/buffer_size.h"

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace penstock::core {

// Entries in order; what they hold, in records, payload and memory.
//
// Owner:   an InputQueue. Threads: thread-compatible.
// Bound:   none of its own; see InputQueue.
template <typename Aux, typename Buffer>
class StagedEntries {
 public:
  using Entry = InputQueueEntry<Aux, Buffer>;

  void PushBack(Entry entry) {
    if (entry.buffer.has_value()) CountIn(*entry.buffer);
    entries_.push_back(std::move(entry));
  }
  // The oldest entry, or null. Lifetime: until PopFront or SplitFront.
  // PushBack leaves it where it is, for so does std::deque.
  Entry* Front() { return entries_.empty() ? nullptr : &entries_.front(); }
  // Splits the front buffer if it holds more than `records`. The start of a
  // transaction stays with the first part, commit and aux with the rest.
  // Requires: the front entry has a buffer; records > 0.
  void SplitFront(uint64_t records);
  // Requires: not empty.
  Entry PopFront() {
    CHECK(!entries_.empty());
    Entry front = std::move(entries_.front());
    entries_.pop_front();
    if (front.buffer.has_value()) CountOut(*front.buffer);
    return front;
  }

  size_t count() const { return entries_.size(); }
  // Records and payload bytes.
  BufferSize size() const { return size_; }
  // Memory that the buffers keep alive, each storage counted once.
  uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  // A storage, and how many of the buffers share it.
  struct StorageUse {
    size_t buffers = 0;
    uint64_t bytes = 0;
  };

  void CountIn(const Buffer& buffer);
  void CountOut(const Buffer& buffer);

  std::deque<Entry> entries_;
  BufferSize size_;
  absl::flat_hash_map<const void*, StorageUse> storages_;
  uint64_t memory_bytes_ = 0;
};

template <typename Aux, typename Buffer>
void StagedEntries<Aux, Buffer>::SplitFront(uint64_t records) {
  Entry& whole = entries_.front();
  if (whole.buffer->size().records <= records) return;
  CountOut(*whole.buffer);
  Buffer part = whole.buffer->TakeSome(records);
  CountIn(part);
  if (whole.buffer->IsEmpty()) {
    // A coarse buffer gave all it had.
    whole.buffer = std::move(part);
    return;
  }
  CountIn(*whole.buffer);
  Entry first{.buffer = std::move(part),
              .timestamp = whole.timestamp,
              .start_transaction =
                  std::exchange(whole.start_transaction, std::nullopt)};
  entries_.push_front(std::move(first));
}

template <typename Aux, typename Buffer>
void StagedEntries<Aux, Buffer>::CountIn(const Buffer& buffer) {
  size_ += buffer.size();
  StorageUse& use = storages_[buffer.storage_id()];
  if (use.buffers++ == 0) {
    use.bytes = buffer.MemoryBytes();
    memory_bytes_ += use.bytes;
  }
}

template <typename Aux, typename Buffer>
void StagedEntries<Aux, Buffer>::CountOut(const Buffer& buffer) {
  size_ -= buffer.size();
  const auto it = storages_.find(buffer.storage_id());
  CHECK(it != storages_.end());
  if (--it->second.buffers == 0) {
    memory_bytes_ -= it->second.bytes;
    storages_.erase(it);
  }
}

}  // namespace penstock::core
