// Configuration of the `kafka` sink.
#pragma once

#include "core/contract/component.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <map>
#include <string>

namespace penstock::core {

enum class KafkaPartitionBy {
  // By the key's bytes, as Kafka's own producers do (murmur2); a record without
  // a key goes as with kShard.
  kKey,
  // The shard's number, modulo the number of partitions.
  kShard,
};

struct KafkaSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "kafka"; }

  std::string topic;
  KafkaPartitionBy partition_by = KafkaPartitionBy::kKey;
  // After this the cluster aborts a transaction that is not ended, so that
  // readers of committed records wait for a dead worker no longer than this.
  absl::Duration transaction_timeout = absl::Minutes(1);
  // How long one call of a batch may take before the batch is tried again.
  absl::Duration request_timeout = absl::Seconds(30);
  // Options of librdkafka (core/kafka/kafka_options.h), but for those that the
  // sink sets itself; with `bootstrap.servers`.
  std::map<std::string, std::string> options;
};

// INVALID_CONFIG with metadata "field", such as "sink.kafka.topic".
absl::Status CheckKafkaSinkConfig(const KafkaSinkConfig& config);

// What the sink sets where `options` say nothing else, and what they may not.
std::map<std::string, std::string> KafkaSinkDefaults();

}  // namespace penstock::core
