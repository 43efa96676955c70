// What librdkafka says of itself from time to time.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// A plain value. Source: librdkafka's STATISTICS.md.
struct KafkaStatistics {
  struct Broker {
    // "kafka1:9092/1".
    std::string name;
    // Below 0: one of bootstrap.servers, whose number is not known.
    int64_t node_id = -1;
    // A connection stands.
    bool is_up = false;
    // One is wanted and does not stand: it is being tried again.
    bool is_down = false;
  };
  struct Partition {
    std::string topic;
    int32_t partition = 0;
    // Behind the last message that can be read; below 0: not known.
    int64_t end_offset = -1;
    // Messages not consumed yet; below 0: not known.
    int64_t lag = -1;
  };

  // Bytes in librdkafka's queues, in both directions.
  uint64_t memory_bytes = 0;
  std::vector<Broker> brokers;
  std::vector<Partition> partitions;

  bool IsAnyUp() const;
  // Names those that are down; empty if there are none.
  std::string DownBrokers() const;
};

// Errors: INTERNAL: it is not what librdkafka sends.
absl::StatusOr<KafkaStatistics> ParseKafkaStatistics(absl::string_view json);

}  // namespace penstock::core
