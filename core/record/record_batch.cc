#include "core/record/record_batch.h"

#include "core/base/check.h"
#include "core/record/step_hash.h"

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

uint64_t PayloadBytes(const RecordEntry& entry) {
  const uint64_t value =
      entry.value_size == RecordEntry::kNull ? 0 : entry.value_size;
  const uint64_t key =
      entry.key_size == RecordEntry::kNull ? 0 : entry.key_size;
  return value + key;
}

BufferSize SizeOf(std::span<const RecordEntry> entries) {
  BufferSize size{.records = entries.size(), .bytes = 0};
  for (const RecordEntry& entry : entries) size.bytes += PayloadBytes(entry);
  return size;
}

}  // namespace

uint64_t RecordStorage::MemoryBytes() const {
  return (block == nullptr ? 0 : block->capacity()) +
         entries.capacity() * sizeof(RecordEntry) + arena.capacity() +
         values.capacity() * sizeof(Value) + value_arena.MemoryBytes();
}

RecordBatch::RecordBatch(std::shared_ptr<const RecordStorage> storage)
    : storage_(std::move(storage)) {
  CHECK(storage_ != nullptr);
  end_ = storage_->entries.size();
  size_ = SizeOf(storage_->entries);
}

RecordBatch::RecordBatch(std::shared_ptr<const RecordStorage> storage,
                         size_t begin, size_t end, BufferSize size)
    : storage_(std::move(storage)), begin_(begin), end_(end), size_(size) {}

uint64_t BadRecord::MemoryBytes() const {
  // The status that becomes of it, with its payload, is of this order.
  constexpr uint64_t kStatusBytes = 512;
  return sizeof(BadRecord) + kStatusBytes + tag.size() + description.size() +
         text.size();
}

uint64_t RecordBatch::MemoryBytes() const {
  return (storage_ == nullptr ? 0 : storage_->MemoryBytes()) + BadRecordBytes();
}

void RecordBatch::AddBadRecords(std::vector<BadRecord> bad) {
  CHECK(bad_ == nullptr);
  if (bad.empty()) return;
  bad_ = std::make_unique<std::vector<BadRecord>>(std::move(bad));
}

std::vector<BadRecord> RecordBatch::TakeBadRecords() {
  if (bad_ == nullptr) return {};
  return std::move(*std::exchange(bad_, nullptr));
}

uint64_t RecordBatch::BadRecordBytes() const {
  uint64_t bytes = 0;
  if (bad_ == nullptr) return bytes;
  for (const BadRecord& bad : *bad_) bytes += bad.MemoryBytes();
  return bytes;
}

int64_t RecordBatch::first_offset() const {
  CHECK_GT(record_count(), 0u);
  return storage_->entries[begin_].offset;
}

RecordBatch RecordBatch::TakeSome(uint64_t records) {
  if (records >= record_count()) return TakeAll();
  const size_t middle = begin_ + static_cast<size_t>(records);
  const std::span<const RecordEntry> entries(storage_->entries);
  // Sums the shorter side.
  BufferSize taken;
  if (records <= record_count() / 2) {
    taken = SizeOf(entries.subspan(begin_, middle - begin_));
  } else {
    taken = size_ - SizeOf(entries.subspan(middle, end_ - middle));
  }
  RecordBatch result(storage_, begin_, middle, taken);
  begin_ = middle;
  size_ -= taken;
  return result;
}

RecordBatch RecordBatch::TakeAll() {
  RecordBatch result(storage_, begin_, end_, size_);
  result.bad_ = std::move(bad_);
  begin_ = end_;
  size_ = {};
  return result;
}

void RecordBatch::HashInto(StepHasher& hasher) const {
  for (size_t i = 0; i < record_count(); ++i) hasher.Add(At(i));
}

}  // namespace penstock::core
