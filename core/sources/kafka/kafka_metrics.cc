#include "core/sources/kafka/kafka_metrics.h"

namespace penstock::core {

std::vector<ConnectorMetrics::Sample> KafkaMetrics::Metrics() const {
  const auto sample = [](const char* name, const char* help, Kind kind,
                         const std::atomic<uint64_t>& value) {
    return Sample{.name = name,
                  .help = help,
                  .kind = kind,
                  .value = static_cast<double>(value.load())};
  };
  return {
      sample("kafka_partitions", "Partitions that are read.", Kind::kGauge,
             partitions),
      sample("kafka_lag_offsets",
             "Offsets between what was read and the partitions' ends.",
             Kind::kGauge, lag),
      sample("kafka_client_bytes", "Bytes in librdkafka's queues.",
             Kind::kGauge, client_bytes),
      sample("kafka_ignored_messages_total",
             "Messages that no record was made of: without value or with an "
             "empty one, with other headers than wanted, or in which the "
             "format finds none (heartbeats of an envelope, blanks).",
             Kind::kCounter, ignored),
      sample("kafka_skipped_offsets_total",
             "Offsets that had expired before they were read, and were "
             "passed over as configured.",
             Kind::kCounter, skipped)};
}

}  // namespace penstock::core
