#include "core/sources/kafka/kafka_metrics.h"

namespace penstock::core {
namespace {

using enum ConnectorMetrics::Kind;

constexpr Measured<KafkaMetrics> kMeasures[] = {
    {{"kafka_partitions", "Partitions that are read."},
     &KafkaMetrics::partitions},
    {{"kafka_lag_offsets",
      "Offsets between what was read and the partitions' ends."},
     &KafkaMetrics::lag},
    {{"kafka_client_bytes", "Bytes in librdkafka's queues."},
     &KafkaMetrics::client_bytes},
    {{"kafka_ignored_messages_total",
      "Messages that no record was made of: without value or with an empty "
      "one, with other headers than wanted, or in which the format finds none "
      "(heartbeats of an envelope, blanks).",
      kCounter},
     &KafkaMetrics::ignored},
    {{"kafka_skipped_offsets_total",
      "Offsets that had expired before they were read, and were passed over as "
      "configured.",
      kCounter},
     &KafkaMetrics::skipped},
};

}  // namespace

std::vector<ConnectorMetrics::Sample> KafkaMetrics::Metrics() const {
  return SamplesOf<KafkaMetrics>(*this, kMeasures);
}

std::vector<Measure> KafkaMetrics::Measures() {
  return MeasuresOf<KafkaMetrics>(kMeasures);
}

}  // namespace penstock::core
