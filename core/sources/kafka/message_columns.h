// Columns that the source fills in, of what Kafka knows of a message.
#pragma once

#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"
#include "core/sources/kafka/config.h"
#include "core/sources/kafka/topic_consumer.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace penstock::core {

// Threads: thread-compatible. A plain value.
class MessageColumns {
 public:
  // None.
  MessageColumns() = default;
  // Errors: INVALID_CONFIG, naming the field: the schema has no such column, or
  // of another type than: topic varchar, partition integer or bigint, offset
  // bigint, timestamp timestamp, timestamptz or bigint (milliseconds), key
  // varbinary or varchar, headers map(varchar, varbinary).
  static absl::StatusOr<MessageColumns> Make(const KafkaColumns& columns,
                                             const Schema& schema);

  bool IsEmpty() const { return cells_.empty(); }
  bool has_headers() const { return headers_.has_value(); }

  // Of messages that come next, whose batch has `arena`.
  void SetPartition(absl::string_view topic, int32_t partition,
                    ValueArena& arena);
  // `key`: where it lies in the block. False: the key is no UTF-8, but its
  // column is text.
  // Lifetime of the cells: until the next call.
  [[nodiscard]] bool SetMessage(const KafkaEvent& event,
                                std::optional<absl::string_view> key,
                                std::span<const KafkaHeader> headers,
                                ValueArena& arena);
  std::span<const std::pair<uint32_t, Value>> cells() const { return cells_; }

 private:
  enum class Time { kTimestamp, kTimestamptz, kMillis };

  // Adds a cell for the column `name` if it is of one of `types`.
  absl::StatusOr<std::optional<size_t>> AddCell(absl::string_view field,
                                                const std::string& name,
                                                const Schema& schema,
                                                std::span<const SqlType> types);

  // By column; places of each in it.
  std::vector<std::pair<uint32_t, Value>> cells_;
  std::optional<size_t> topic_;
  std::optional<size_t> partition_;
  std::optional<size_t> offset_;
  std::optional<size_t> timestamp_;
  std::optional<size_t> key_;
  std::optional<size_t> headers_;
  Time time_ = Time::kTimestamptz;
  bool key_is_text_ = false;
};

}  // namespace penstock::core
