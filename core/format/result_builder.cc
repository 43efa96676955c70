#include "core/format/result_builder.h"

#include "core/base/check.h"

#include <algorithm>
#include <utility>

namespace penstock::core {

ResultBuilder::ResultBuilder(const Fragment& fragment, ParseProgress& progress,
                             uint32_t columns)
    : fragment_(fragment),
      progress_(progress),
      record_bytes_(static_cast<int64_t>(sizeof(RecordEntry) +
                                         uint64_t{columns} * sizeof(Value))),
      batch_(fragment.message != nullptr
                 ? *fragment.message->batch
                 : own_.emplace(fragment.block, fragment.partition, columns)) {
  if (!own_.has_value()) {
    arena_bytes_ = static_cast<int64_t>(batch_.value_arena().MemoryBytes());
    return;
  }
  const size_t expected = progress.records_before + progress.records_before / 8;
  const auto records_max = static_cast<size_t>(room_ / record_bytes_ + 1);
  batch_.Reserve(std::min(expected, records_max));
}

void ResultBuilder::AddError(uint32_t begin, ParseError error) {
  error.record_number = progress_.record_number + result_.records;
  error.line = progress_.line + result_.lines;
  error.byte_offset = fragment_.message == nullptr
                          ? static_cast<uint64_t>(fragment_.offset) + begin
                          : static_cast<uint64_t>(fragment_.message->offset);
  // The bad record that may be kept of it takes about as much.
  room_ -= 2 * static_cast<int64_t>(error.MemoryBytes());
  CountArena();
  result_.errors.push_back(std::move(error));
  ++result_.records;
}

void ResultBuilder::AddOfMessage(const MessageRecords& message,
                                 RecordEntry entry) {
  entry.offset = message.offset;
  entry.event_time_ms = message.event_time_ms;
  if (entry.key_size == RecordEntry::kNull &&
      message.key_size != RecordEntry::kNull) {
    entry.key_begin = message.key_begin;
    entry.key_size = message.key_size;
    entry.key_hash = message.key_hash;
    entry.has_key_hash = true;
  }
  batch_.SetCells(message.cells);
  batch_.Add(entry);
}

ParseResult ResultBuilder::Build(uint32_t bytes) && {
  CHECK_LE(bytes, fragment_.size);
  CHECK(bytes > 0 || fragment_.size == 0);
  progress_.record_number += result_.records;
  progress_.line += result_.lines;
  result_.bytes = bytes;
  if (!own_.has_value()) return std::move(result_);
  progress_.records_before = batch_.record_count();
  if (batch_.record_count() > 0) result_.batch = std::move(*own_).Build();
  return std::move(result_);
}

}  // namespace penstock::core
