// Reads partitions of topics, replays ranges of them, and obeys its driver.
#pragma once

#include "core/contract/component.h"
#include "core/contract/consumer.h"
#include "core/contract/reader.h"
#include "core/sources/kafka/config.h"
#include "core/sources/kafka/kafka_position.h"
#include "core/sources/kafka/message_packer.h"
#include "core/sources/kafka/topic_consumer.h"

#include <cstdint>
#include <map>
#include <memory>

namespace penstock::core {

// Everything that waits runs in tasks on the I/O executor, one batch each: it
// needs no thread of its own. librdkafka has some.
//
//   paused ──Extend──▶ reading ──every end known at open is reached──▶ ended
//      └────Pause──────────┘         (only if it stops at the end)
//   replaying: before the first Extend, a range of each partition at a time
//
// Owner:     the connector's driver. Outlived by the environment and consumer.
// Threads:   as InputReader.
// Lifecycle: until Disconnect or a fatal error. The destructor waits for the
//            task that runs, and for librdkafka's threads.
// Bound:     staged: the queue's limit and one batch of messages; librdkafka's
//            queue: see RdKafkaConsumer. Paused it fetches until that is full.
class KafkaReader final : public InputReader {
 public:
  // Offsets of a partition of a bounded input.
  struct Bounds {
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct Options {
    KafkaSourceConfig config;
    // Behind what was read.
    KafkaPosition position;
    // Where the input ends, by topic and partition; only if it does. One that
    // the position has not is begun behind the replays: they number topics in
    // their own order.
    std::map<std::pair<std::string, int32_t>, Bounds> ends;
    // Whether what appeared while nobody read is looked for at once, behind the
    // replays as well.
    bool was_away = false;
  };
  KafkaReader(const Environment& environment, InputConsumer& consumer,
              std::unique_ptr<TopicConsumer> client,
              std::unique_ptr<MessagePacker> packer, Options options);
  ~KafkaReader() override;

  void Request(InputReaderCommand command) override;
  bool IsClosed() const override;
  uint64_t MemoryBytes() const override;

 private:
  class Work;
  // Shared by: this, and the tasks and wake-ups under way.
  const std::shared_ptr<Work> work_;
};

// The partitions of `topics` that the configuration wants, in order of names.
std::vector<TopicConsumer::TopicPartition> WantedPartitions(
    const KafkaSourceConfig& config, std::vector<TopicConsumer::Topic> topics);

}  // namespace penstock::core
