// What tests do to a Kafka cluster, mock or real, beside the code under test.
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

struct KafkaRecord {
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers = {};
};

// Each fails hard, after a minute at most.

// At a real broker; a mock has a call of its own. `settings`: of the topic.
void CreateKafkaTopic(
    const std::string& bootstrap, const std::string& topic, int partitions,
    const std::vector<std::pair<std::string, std::string>>& settings = {});
void DeleteKafkaTopic(const std::string& bootstrap, const std::string& topic);

// Writes `records`, in order, each to its partition; offsets do not count.
void WriteKafka(const std::string& bootstrap, const std::string& topic,
                const std::vector<KafkaRecord>& records);

struct KafkaReadOptions {
  // Only what is committed.
  bool committed = true;
  // nullopt: all of them, one after the other.
  std::optional<int32_t> partition;
};
// Everything that a new reader finds now, by partition and offset.
std::vector<KafkaRecord> ReadKafka(const std::string& bootstrap,
                                   const std::string& topic,
                                   const KafkaReadOptions& options = {});

}  // namespace penstock::core
