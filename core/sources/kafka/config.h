// What can be set of the source "kafka".
#pragma once

#include "core/contract/component.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Where partitions are begun that are there when the source is opened first.
enum class KafkaStart { kEarliest, kLatest, kTimestamp, kOffsets };

// What becomes of messages that the topic lost before they were read.
enum class KafkaExpired { kFail, kSkip };

// What becomes of messages without a value.
enum class KafkaTombstones { kIgnore, kPass };

struct KafkaStartOffset {
  std::string topic;
  int32_t partition = 0;
  // From 0.
  int64_t offset = 0;
  friend bool operator==(const KafkaStartOffset&,
                         const KafkaStartOffset&) = default;
};

// A header that a message must have (or, negated, must not have).
struct KafkaHeaderCondition {
  std::string name;
  // nullopt: any value.
  std::optional<std::string> value;
  bool is_negated = false;
  friend bool operator==(const KafkaHeaderCondition&,
                         const KafkaHeaderCondition&) = default;
};

// Columns of the schema that the source fills in; empty: none.
struct KafkaColumns {
  std::string topic;
  std::string partition;
  std::string offset;
  std::string timestamp;
  std::string key;
  std::string headers;
  friend bool operator==(const KafkaColumns&, const KafkaColumns&) = default;
};

struct KafkaSourceConfig final : ComponentConfig {
  // Either names, or a pattern of them: `*` any characters, `?` one, `[ab]`.
  std::vector<std::string> topics;
  std::string topic_pattern;
  // Of librdkafka; values may be references to secrets.
  std::map<std::string, std::string> options;

  KafkaStart start = KafkaStart::kEarliest;
  // With kTimestamp.
  absl::Time start_time;
  // With kOffsets; a partition that it does not name is begun at its earliest.
  std::vector<KafkaStartOffset> start_offsets;

  // This connector reads the partitions whose number leaves `share_index` when
  // divided by `share_count`, which is at least 1.
  uint32_t share_index = 0;
  uint32_t share_count = 1;

  KafkaExpired expired = KafkaExpired::kFail;
  // The input ends at what is there at the open.
  bool stop_at_end = false;
  KafkaTombstones tombstones = KafkaTombstones::kIgnore;
  // All must hold.
  std::vector<KafkaHeaderCondition> header_filter;
  KafkaColumns columns;
  // How often new topics and partitions are looked for.
  absl::Duration discovery_interval = absl::Seconds(30);

  // Whether the group shows how far the connector came.
  bool commits() const { return options.contains("group.id"); }

  // How long an open waits for brokers.
  absl::Duration open_timeout = absl::Seconds(20);
  // Payload of one buffer; a longer message gets one of its own.
  size_t block_bytes = size_t{1} << 20;

  absl::string_view type() const override { return "kafka"; }
};

// What can be known without a connection. Errors: INVALID_CONFIG, metadata
// "field" names it, relative to the source.
absl::Status CheckKafkaSourceConfig(const KafkaSourceConfig& config);

}  // namespace penstock::core
