// Where a Kafka source is: offsets of partitions. Its seek JSON.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// By what a message is known again: no log has another one at its place, but
// that of a topic that was made anew under the same name.
struct KafkaMessageId {
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  friend bool operator==(const KafkaMessageId&,
                         const KafkaMessageId&) = default;
};

// A range of one partition: offsets from `start` on, below `end`. Between them
// offsets may be missing: transaction marks, compacted and aborted messages.
struct KafkaRange {
  int32_t partition = 0;
  int64_t start = 0;
  int64_t end = 0;
  // The last message that was read, below `end`; nullopt: none was, or it has
  // no time.
  std::optional<KafkaMessageId> last = std::nullopt;
  friend bool operator==(const KafkaRange&, const KafkaRange&) = default;
};

struct KafkaTopicRanges {
  std::string topic;
  // Ascending by partition.
  std::vector<KafkaRange> ranges;
  friend bool operator==(const KafkaTopicRanges&,
                         const KafkaTopicRanges&) = default;
};

// All partitions that are known, those that a step did not read from with an
// empty range. The order of topics never changes, new ones come last: a
// partition's id is made of it.
//
//   {"version":2,"topics":[{"topic":"orders","ranges":
//       [[0,17,23,1,1764547200000],[1,4,4]]}]}
//
// Behind start and end: how far the last message is before the end, and its
// time in milliseconds. Version 1 is read, too: it has neither.
//
// A plain value.
struct KafkaPosition {
  // Of a step's JSON, at most about 384 KiB.
  static constexpr size_t kPartitionsMax = 4'096;
  static constexpr size_t kTopicsMax = 2'048;
  static constexpr int32_t kPartitionNumberMax = (int32_t{1} << 20) - 1;

  std::vector<KafkaTopicRanges> topics;

  // The number that records of a partition bear: its own, for the first topic.
  static uint32_t IdOf(size_t topic, int32_t partition) {
    return static_cast<uint32_t>(topic) << 20 |
           static_cast<uint32_t>(partition);
  }

  size_t partition_count() const;
  // Index of the topic; nullopt: it is not known.
  std::optional<size_t> FindTopic(absl::string_view topic) const;
  // Null: it is not known. Lifetime: until something is added.
  KafkaRange* Find(absl::string_view topic, int32_t partition);
  const KafkaRange* Find(absl::string_view topic, int32_t partition) const;
  // Requires: `id` is of a partition that is known.
  KafkaRange& At(uint32_t id);
  const std::string& TopicOf(uint32_t id) const {
    return topics[id >> 20].topic;
  }
  static int32_t PartitionOf(uint32_t id) {
    return static_cast<int32_t>(id & 0xfffff);
  }
  // Adds a partition, whose range is empty and begins at `offset`.
  // Requires: it is not known.
  void Add(absl::string_view topic, int32_t partition, int64_t offset);

  std::string ToJson() const;
  // Errors: MALFORMED_FRAME.
  static absl::StatusOr<KafkaPosition> Parse(absl::string_view json);

  friend bool operator==(const KafkaPosition&, const KafkaPosition&) = default;
};

// "orders/3".
std::string KafkaPartitionName(absl::string_view topic, int32_t partition);

}  // namespace penstock::core
