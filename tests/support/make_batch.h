// RecordBatches for tests, in one line.
#pragma once

#include "core/record/record.h"
#include "core/record/record_batch.h"
#include "core/record/record_batch_builder.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace penstock::core {

struct TestRecord {
  std::optional<std::string> value = "";
  std::optional<std::string> key = std::nullopt;
  Op op = Op::kInsert;
  // nullopt: one above the record before, the first is 0.
  std::optional<int64_t> offset = std::nullopt;
};

// A batch over a block of its own that holds the bytes of `records`.
inline RecordBatch MakeBatch(const std::vector<TestRecord>& records,
                             uint32_t partition = 0) {
  size_t bytes = 1;
  for (const TestRecord& record : records) {
    bytes += record.value.value_or("").size() + record.key.value_or("").size();
  }
  auto block = std::make_shared<Block>(bytes);
  RecordBatchBuilder builder(block, partition);
  uint32_t place = 0;
  const auto put = [&](const std::string& text) {
    std::memcpy(block->data() + place, text.data(), text.size());
    const uint32_t begin = place;
    place += static_cast<uint32_t>(text.size());
    return std::pair(begin, static_cast<uint32_t>(text.size()));
  };
  int64_t offset = 0;
  for (const TestRecord& record : records) {
    RecordEntry entry;
    entry.value_size = RecordEntry::kNull;
    if (record.value.has_value()) {
      std::tie(entry.value_begin, entry.value_size) = put(*record.value);
    }
    if (record.key.has_value()) {
      std::tie(entry.key_begin, entry.key_size) = put(*record.key);
    }
    entry.op = record.op;
    entry.offset = record.offset.value_or(offset);
    offset = entry.offset + 1;
    builder.Add(entry);
  }
  return std::move(builder).Build();
}

// A batch of plain values.
inline RecordBatch MakeValueBatch(const std::vector<std::string>& values,
                                  uint32_t partition = 0,
                                  int64_t first_offset = 0) {
  std::vector<TestRecord> records;
  for (const std::string& value : values) {
    records.push_back({.value = value, .offset = first_offset++});
  }
  return MakeBatch(records, partition);
}

}  // namespace penstock::core
