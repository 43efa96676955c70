// What a Kafka source shows of itself.
#pragma once

#include "core/contract/health.h"
#include "core/contract/measured.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace penstock::core {

// Threads: thread-safe: the reader's tasks set, whoever scrapes reads.
class KafkaMetrics final : public ConnectorMetrics {
 public:
  std::vector<Sample> Metrics() const override;
  // All that it may show.
  static std::vector<Measure> Measures();

  // Partitions that are read.
  std::atomic<uint64_t> partitions{0};
  // Offsets between what was read and the partitions' ends.
  std::atomic<uint64_t> lag{0};
  // Messages that no record was made of, as configured.
  std::atomic<uint64_t> ignored{0};
  // Offsets that were gone before they were read, where that is allowed.
  std::atomic<uint64_t> skipped{0};
  // Bytes in librdkafka's queues.
  std::atomic<uint64_t> client_bytes{0};
};

}  // namespace penstock::core
