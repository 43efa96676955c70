// Where a reader stages parsed buffers until a Queue command takes them.
// See core/queue/README.md; upholds INV-5 (a push never blocks) and INV-8.
#pragma once

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/contract/consumer.h"
#include "core/contract/parse_error.h"
#include "core/contract/watermark.h"
#include "core/queue/input_queue_entry.h"
#include "core/queue/staged_entries.h"
#include "core/record/buffer_size.h"
#include "core/record/record_batch.h"
#include "core/record/step_hash.h"

#include <absl/functional/any_invocable.h>
#include <absl/functional/function_ref.h>
#include <absl/time/time.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

// Seed type: `InputQueue`. A FIFO of staged buffers that tells the consumer
// what is buffered, flushes batches of them into the running step, and says
// how much memory it holds.
//
// Owner:     a reader. Outlived by the consumer; outlives all who push.
// Threads:   thread-safe: any number of pushers, one flush at a time (CHECK).
//            The consumer is called under the lock for Buffered and
//            RequestStep only, which record and return; every other call, and
//            `on_room`, is made without it.
// Lifecycle: what is staged at destruction is dropped.
// Bound:     none of its own, for a push never blocks and never rejects. A
//            reader stages nothing while IsFull(), so the queue holds at most
//            InputConsumer::MaxQueuedBytes() plus one buffer of each pusher,
//            and at most kEntriesMax entries plus as many.
template <typename Aux = std::monostate, typename Buffer = RecordBatch>
class InputQueue {
 public:
  using Entry = InputQueueEntry<Aux, Buffer>;
  using RoomCallback = absl::AnyInvocable<void()>;

  static constexpr size_t kEntriesMax = 65'536;

  // `on_room` is called, on the flushing thread, when a flush made room after
  // IsFull() said true: then a reader that stopped goes on. A reader that
  // sleeps on a condition of its own loses no wake-up if `on_room` takes the
  // lock of that condition and the condition includes `!IsFull()`.
  explicit InputQueue(InputConsumer& consumer, RoomCallback on_room = {})
      : consumer_(consumer), on_room_(std::move(on_room)) {}
  InputQueue(const InputQueue&) = delete;
  InputQueue& operator=(const InputQueue&) = delete;

  // Seed: `push_entry`. Reports `errors`, then appends `entry` and reports its
  // size as buffered, both under the lock, so that whoever hears of the
  // records finds them. An entry without records, perhaps with bad ones, asks
  // for a step instead: otherwise its aux could wait for ever. Blocks: never.
  void PushEntry(Entry entry, std::vector<ParseError> errors)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Seed: `push_with_aux`.
  void PushWithAux(std::optional<Buffer> buffer, std::vector<ParseError> errors,
                   absl::Time timestamp, Aux aux) ABSL_LOCKS_EXCLUDED(mu_) {
    PushEntry(Entry{.buffer = std::move(buffer),
                    .timestamp = timestamp,
                    .aux = std::move(aux)},
              std::move(errors));
  }

  // Seed: `push`. Without records nothing is appended, but a step is asked
  // for: the errors belong to one.
  void Push(std::optional<Buffer> buffer, std::vector<ParseError> errors,
            absl::Time timestamp) requires std::same_as<Aux, std::monostate>;

  // Seed: `flush_with_aux`. Flushes whole buffers, for an aux belongs to a
  // whole buffer.
  FlushResult<Aux> FlushWithAux() ABSL_LOCKS_EXCLUDED(mu_) {
    return FlushWithAuxUntil([](const Aux& /*aux*/) { return false; });
  }

  // Seed: `flush_with_aux_until`. Flushes whole buffers until the first of
  //   - the batch holds MaxBatchSize() records or MaxBatchBytes() bytes (the
  //     last buffer may exceed either);
  //   - an entry was taken whose aux satisfies `stop_at`;
  //   - a transaction was committed;
  //   - the consumer does not Admit the next buffer;
  //   - the queue is empty.
  // Entries without records count for nothing and are taken also when the
  // batch is full.
  FlushResult<Aux> FlushWithAuxUntil(
      absl::FunctionRef<bool(const Aux&)> stop_at) ABSL_LOCKS_EXCLUDED(mu_);

  // Seed: `queue`. Answers a Queue of a reader without fault tolerance:
  // flushes as above, but splits the last buffer so that MaxBatchSize() is
  // kept exactly, and reports Extended, without resume, with one watermark per
  // flushed buffer.
  void Queue() requires std::same_as<Aux, std::monostate>;

  // Entries staged, with and without buffers. Seed: `len`, `is_empty`.
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return staged_.count();
  }
  bool IsEmpty() const ABSL_LOCKS_EXCLUDED(mu_) { return size() == 0; }
  // Records and payload bytes staged: what was buffered and not yet flushed.
  BufferSize QueuedSize() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return staged_.size();
  }
  // Memory that the staged buffers keep alive, each storage counted once.
  uint64_t QueuedBytes() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return staged_.memory_bytes();
  }
  // Whether a reader must stop staging. True arms `on_room`. A queue without
  // entries is never full, so that a buffer beyond the limit passes alone.
  bool IsFull() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Whether the last buffer of a batch may be split.
  enum class Splitting { kWhole, kSplit };
  struct Taken {
    BufferSize total;
    bool blocked = false;
    bool transaction_committed = false;
  };

  // The loop behind all flushes. `took` is told of every entry taken, after
  // its buffer was flushed, and returns true to stop after it.
  Taken FlushEntries(
      Splitting splitting, StepHasher* hasher,
      absl::FunctionRef<bool(bool had_buffer, absl::Time, Aux)> took)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The next entry, or null, split to `records_max` records unless that is
  // nullopt. Others may push meanwhile; only the one flush touches the entry.
  Entry* Front(std::optional<uint64_t> records_max) ABSL_LOCKS_EXCLUDED(mu_);
  Entry PopFront() ABSL_LOCKS_EXCLUDED(mu_);
  // Flushes one admitted entry; returns the size of its buffer.
  BufferSize FlushBuffer(Buffer buffer, StepHasher* hasher);
  void StartTransaction(const std::optional<std::string>& label);
  // Whether there was one to commit.
  bool CommitTransaction();
  bool IsFullLocked(uint64_t bytes_max) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  InputConsumer& consumer_;
  RoomCallback on_room_;

  mutable Mutex mu_;
  StagedEntries<Aux, Buffer> staged_ ABSL_GUARDED_BY(mu_);
  // IsFull() said true and `on_room_` has not been called since.
  bool full_seen_ ABSL_GUARDED_BY(mu_) = false;

  // Only flushes use these.
  std::atomic<bool> flushing_ = false;
  bool transaction_in_progress_ = false;
};

}  // namespace penstock::core

#include "core/queue/input_queue_inl.h"
