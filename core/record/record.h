// One datum on its way from a source to a sink, and what is known about it.
#pragma once

#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <span>

namespace penstock::core {

// What a record does to the collection it belongs to. The numbers are hashed
// (step hash) and must never change.
enum class Op : uint8_t { kInsert = 0, kDelete = 1, kUpdate = 2, kUpsert = 3 };

// Where a record came from. A plain value of 40 bytes at most.
struct RecordMeta {
  // Position in `partition`: byte offset of the record's first byte in a file,
  // message offset in a Kafka partition. Rises strictly within a partition, but
  // for records of one message, which share its offset.
  int64_t offset = 0;
  // Milliseconds since the Unix epoch; kNoEventTime if the source has none.
  int64_t event_time_ms = kNoEventTime;
  // FNV-1a 64 of the key bytes; meaningful only if `has_key_hash`.
  uint64_t key_hash = 0;
  // Kafka partition, number of the file, 0 where a source has only one.
  uint32_t partition = 0;
  Op op = Op::kInsert;
  bool has_key_hash = false;

  static constexpr int64_t kNoEventTime = INT64_MIN;
};
static_assert(sizeof(RecordMeta) <= 40);

// A view of one record. Lifetime: as long as the RecordBatch it came from.
struct Record {
  // The record as the source framed it, without the delimiter. Null is a
  // tombstone (a Kafka message without value); empty is not null.
  std::optional<absl::string_view> value;
  std::optional<absl::string_view> key;
  RecordMeta meta;
  // Typed columns in schema order; empty where no schema is declared.
  std::span<const Value> row;
};

}  // namespace penstock::core
