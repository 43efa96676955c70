// How a parser makes a RecordBatch.
#pragma once

#include "core/base/check.h"
#include "core/record/block.h"
#include "core/record/record_batch.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace penstock::core {

// Collects the records of one fragment over one block.
//
//   RecordBatchBuilder builder(fragment.block, fragment.partition);
//   builder.Add({.value_begin = begin, .value_size = size, .offset = offset});
//   return std::move(builder).Build();
//
// Owner:   a Parse call. Threads: thread-compatible.
// Bound:   one block's records.
class RecordBatchBuilder {
 public:
  // `columns`: values in each row; 0 without a schema.
  // Requires: `block` is not null and its bytes are filled.
  RecordBatchBuilder(BlockRef block, uint32_t partition, uint32_t columns = 0);

  void Reserve(size_t records);

  // Appends a record.
  // Requires: value and key lie in the block (the key in the arena if
  // `key_in_arena`), and its row, if there are columns, was added before.
  // Inline always: what was made in registers goes to where it stays.
  [[gnu::always_inline]] void Add(const RecordEntry& entry) {
    const size_t capacity = storage_->block->capacity();
    if (entry.value_size != RecordEntry::kNull) {
      CHECK_LE(size_t{entry.value_begin} + entry.value_size, capacity);
    }
    if (entry.key_size != RecordEntry::kNull) {
      CHECK_LE(size_t{entry.key_begin} + entry.key_size,
               entry.key_in_arena ? storage_->arena.size() : capacity);
    }
    // Member by member, from registers: to copy the whole would write it in
    // parts first, read it back in larger ones, and wait for that.
    RecordEntry& kept = storage_->entries.emplace_back();
    kept.value_begin = entry.value_begin;
    kept.value_size = entry.value_size;
    kept.key_begin = entry.key_begin;
    kept.key_size = entry.key_size;
    kept.offset = entry.offset;
    kept.event_time_ms = entry.event_time_ms;
    kept.key_hash = entry.key_hash;
    kept.op = entry.op;
    kept.has_key_hash = entry.has_key_hash;
    kept.key_in_arena = entry.key_in_arena;
    DCHECK_EQ(storage_->values.size(),
              storage_->entries.size() * storage_->columns);
  }
  // Appends the row of the record that is added next.
  // Requires: as many values as columns.
  void AddRow(std::span<const Value> row);
  // Replaces cells, by column, of the row that was added last.
  // Requires: there is one, and it has these columns.
  void SetCells(std::span<const std::pair<uint32_t, Value>> cells);
  // The same of nulls, to be filled in. Lifetime: until anything is added.
  std::span<Value> NewRow() {
    std::vector<Value>& values = storage_->values;
    values.resize(values.size() + storage_->columns);
    return std::span(values).last(storage_->columns);
  }
  // Drops a row for which no record was added, so that a bad one leaves
  // nothing behind but memory.
  void DropRow();

  // Copies a rewritten key; returns its `key_begin`.
  uint32_t AddToArena(absl::string_view bytes);
  // For what row values view.
  ValueArena& value_arena() { return storage_->value_arena; }

  size_t record_count() const { return storage_->entries.size(); }

  // Requires: every row has its record. Leaves nothing to go on with.
  RecordBatch Build() &&;

 private:
  // Shared with the batch from Build on.
  std::shared_ptr<RecordStorage> storage_;
};

}  // namespace penstock::core
