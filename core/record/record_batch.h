// A parsed group of records over one shared block: the unit that is staged in
// an InputQueue. See core/record/README.md; upholds INV-8.
#pragma once

#include "core/base/check.h"
#include "core/record/block.h"
#include "core/record/buffer_size.h"
#include "core/record/record.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

class StepHasher;

// Where one record lies. 48 bytes; made by parsers, read through
// RecordBatch::At.
struct RecordEntry {
  static constexpr uint32_t kNull = 0xffffffff;

  // Value bytes in the block; `value_size == kNull` is a null value.
  uint32_t value_begin = 0;
  uint32_t value_size = 0;
  // Key bytes, in the block or, if `key_in_arena`, in the arena;
  // `key_size == kNull` is no key.
  uint32_t key_begin = 0;
  uint32_t key_size = kNull;
  int64_t offset = 0;
  int64_t event_time_ms = RecordMeta::kNoEventTime;
  uint64_t key_hash = 0;
  Op op = Op::kInsert;
  bool has_key_hash = false;
  bool key_in_arena = false;
};
static_assert(sizeof(RecordEntry) <= 48);

// Everything behind the records of one batch. Filled by a parser, at best
// through a RecordBatchBuilder, then constant.
struct RecordStorage {
  BlockRef block;
  uint32_t partition = 0;
  std::vector<RecordEntry> entries;
  // Text that had to be rewritten (unescaped keys).
  std::vector<char> arena;
  // Row values, `columns` per record, empty without a schema.
  std::vector<Value> values;
  uint32_t columns = 0;
  // What `values` view that is not in the block: unescaped text, elements of
  // arrays, maps and structs. Unlike `arena` it never moves what it gave out.
  ValueArena value_arena;

  // Bytes held: block capacity, entries, arena, values and their arena.
  uint64_t MemoryBytes() const;
};

// One that a parser could not make a record of, for the dead letters. It is in
// no count of records and in no hash.
struct BadRecord {
  uint32_t partition = 0;
  // Source offset of its first byte.
  int64_t offset = 0;
  // Why: a short tag, and what was wrong in words.
  std::string tag;
  std::string description;
  // Its first bytes, as many as a ParseError keeps.
  std::string text;

  // About what a letter of it takes on its way, from here to its output.
  uint64_t MemoryBytes() const;
  friend bool operator==(const BadRecord&, const BadRecord&) = default;
};

// Seed type: `InputBuffer` (its `len`, `hash`, `take_some`, `take_all`; `flush`
// is InputConsumer::Flush). A range of records over shared, constant storage:
// splitting copies nothing.
//
// Threads:   thread-compatible. Move-only.
// Bound:     one storage: one block (1 MiB, or one larger record).
class RecordBatch {
 public:
  RecordBatch() = default;
  explicit RecordBatch(std::shared_ptr<const RecordStorage> storage);
  RecordBatch(RecordBatch&&) noexcept = default;
  RecordBatch& operator=(RecordBatch&&) noexcept = default;

  // Records left and their payload bytes (value plus key). O(1).
  BufferSize size() const { return size_; }
  // Whether there is nothing in it, bad records neither.
  bool IsEmpty() const { return begin_ == end_ && bad_ == nullptr; }
  size_t record_count() const { return end_ - begin_; }
  // Requires: not a default-constructed batch.
  uint32_t partition() const { return storage_->partition; }
  // Bytes that this batch keeps alive. Slices of one storage each report the
  // whole: whoever sums must count a storage once (`storage_id`).
  uint64_t MemoryBytes() const;
  const void* storage_id() const {
    if (storage_ != nullptr) return storage_.get();
    return bad_.get();
  }

  // Makes it carry `bad`, which a part that is taken leaves behind unless it is
  // all. Requires: it carries none.
  void AddBadRecords(std::vector<BadRecord> bad);
  std::vector<BadRecord> TakeBadRecords();
  // Of those that it carries, together.
  uint64_t BadRecordBytes() const;

  // Requires: index < record_count(). Lifetime: this storage's.
  Record At(size_t index) const;
  // Source offset of the first record. Requires: there is one.
  int64_t first_offset() const;

  // Removes the first `records` records (all, if there are fewer) and returns
  // them. Ensures: size() before == size() after + size() of the result.
  RecordBatch TakeSome(uint64_t records);
  RecordBatch TakeAll();

  // Adds every record to `hasher` in order.
  void HashInto(StepHasher& hasher) const;

 private:
  RecordBatch(std::shared_ptr<const RecordStorage> storage, size_t begin,
              size_t end, BufferSize size);

  // Shared by: the slices cut from one parsed batch. Constant.
  std::shared_ptr<const RecordStorage> storage_;
  size_t begin_ = 0;
  size_t end_ = 0;
  BufferSize size_;
  // Null: none.
  std::unique_ptr<std::vector<BadRecord>> bad_;
};

// Inline: whoever looks at some of a record pays for that only.
inline Record RecordBatch::At(size_t index) const {
  DCHECK_LT(index, record_count());
  const size_t place = begin_ + index;
  const RecordStorage& storage = *storage_;
  const RecordEntry& entry = storage.entries[place];
  // Null values need no block.
  const char* const block =
      storage.block == nullptr ? nullptr : storage.block->data();
  // Made at once: to clear a record first takes longer than to fill it.
  return Record{
      .value = entry.value_size == RecordEntry::kNull
                   ? std::nullopt
                   : std::optional(absl::string_view(block + entry.value_begin,
                                                     entry.value_size)),
      .key = entry.key_size == RecordEntry::kNull
                 ? std::nullopt
                 : std::optional(absl::string_view(
                       (entry.key_in_arena ? storage.arena.data() : block) +
                           entry.key_begin,
                       entry.key_size)),
      .meta = {.offset = entry.offset,
               .event_time_ms = entry.event_time_ms,
               .key_hash = entry.key_hash,
               .partition = storage.partition,
               .op = entry.op,
               .has_key_hash = entry.has_key_hash},
      .row = storage.columns == 0
                 ? std::span<const Value>()
                 : std::span<const Value>(storage.values)
                       .subspan(place * storage.columns, storage.columns)};
}

}  // namespace penstock::core
