#include "core/record/record_batch_builder.h"

#include "core/base/check.h"

#include <utility>

namespace penstock::core {

RecordBatchBuilder::RecordBatchBuilder(BlockRef block, uint32_t partition,
                                       uint32_t columns)
    : storage_(std::make_shared<RecordStorage>()) {
  CHECK(block != nullptr);
  CHECK_LT(block->capacity(), size_t{RecordEntry::kNull});
  storage_->block = std::move(block);
  storage_->partition = partition;
  storage_->columns = columns;
}

void RecordBatchBuilder::Reserve(size_t records) {
  storage_->entries.reserve(records);
  storage_->values.reserve(records * storage_->columns);
}

void RecordBatchBuilder::AddRow(std::span<const Value> row) {
  CHECK_EQ(row.size(), size_t{storage_->columns});
  storage_->values.insert(storage_->values.end(), row.begin(), row.end());
}

void RecordBatchBuilder::SetCells(
    std::span<const std::pair<uint32_t, Value>> cells) {
  const size_t columns = storage_->columns;
  CHECK_GE(storage_->values.size(), columns);
  Value* const row =
      storage_->values.data() + storage_->values.size() - columns;
  for (const auto& [column, value] : cells) {
    CHECK_LT(size_t{column}, columns);
    row[column] = value;
  }
}

void RecordBatchBuilder::DropRow() {
  storage_->values.resize(storage_->entries.size() * storage_->columns);
}

uint32_t RecordBatchBuilder::AddToArena(absl::string_view bytes) {
  const size_t begin = storage_->arena.size();
  CHECK_LT(begin + bytes.size(), size_t{RecordEntry::kNull});
  storage_->arena.insert(storage_->arena.end(), bytes.begin(), bytes.end());
  return static_cast<uint32_t>(begin);
}

RecordBatch RecordBatchBuilder::Build() && {
  CHECK_EQ(storage_->values.size(),
           storage_->entries.size() * storage_->columns);
  return RecordBatch(std::exchange(storage_, nullptr));
}

}  // namespace penstock::core
