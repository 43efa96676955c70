// A TopicConsumer over librdkafka.
#pragma once

#include "core/base/clock.h"
#include "core/kafka/kafka_client.h"
#include "core/sources/kafka/config.h"
#include "core/sources/kafka/login_watch.h"
#include "core/sources/kafka/topic_consumer.h"

#include <absl/container/flat_hash_map.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Options that the source sets itself.
std::span<const absl::string_view> KafkaSourceReserved();

// Partitions are assigned by hand, so that no group moves them; the group is
// named for what is committed to be seen.
//
// Bound: librdkafka's: 16 MiB of keys and values over all partitions, and one
//        fetch of 8 MiB of each broker, unpacked, beyond, unless its options
//        say otherwise; headers come on top (core/kafka/README.md).
class RdKafkaConsumer final : public TopicConsumer, private KafkaObserver {
 public:
  // `clock` outlives it. Errors: as ResolveKafkaOptions and KafkaClient.
  static absl::StatusOr<std::unique_ptr<TopicConsumer>> Create(
      const KafkaSourceConfig& config, const Environment& environment);
  ~RdKafkaConsumer() override;

  absl::StatusOr<std::vector<Topic>> ListTopics(
      std::optional<std::span<const std::string>> names,
      absl::Time deadline) override;
  absl::StatusOr<std::vector<int64_t>> FindOffsets(
      std::span<const TopicPartition> places, int64_t time_ms,
      absl::Time deadline) override;
  absl::Status Assign(std::span<const Assignment> partitions) override;
  void Finish(const TopicPartition& place) override;
  std::span<const KafkaEvent> Receive(size_t events_max) override;
  std::vector<KafkaHeader> HeadersOf(const KafkaEvent& event) const override;
  void Commit(std::span<const Assignment> partitions) override;
  absl::Status Serve() override;
  ConnectorHealth Health() const override { return health_; }
  const KafkaStatistics& Statistics() const override { return statistics_; }
  void SetWake(absl::AnyInvocable<void()> wake) override;

 private:
  explicit RdKafkaConsumer(const Clock& clock) : clock_(clock) {}
  absl::Status Start(const KafkaSourceConfig& config,
                     const Environment& environment);

  void OnError(rd_kafka_resp_err_t code, absl::string_view text) override;
  void OnStatistics(const KafkaStatistics& statistics) override;

  absl::StatusOr<KafkaMetadataHandle> Metadata(const std::string* topic,
                                               absl::Time deadline);
  int MillisecondsLeft(absl::Time deadline) const;
  KafkaEvent EventOf(const rd_kafka_message_t& message);
  // Of a message; nullopt: of no partition that is assigned.
  std::optional<uint32_t> IdOf(const rd_kafka_message_t& message);
  void FreeReceived();
  // A partition that is left has something in its queue that refers to itself
  // (librdkafka 2.0.2; its issue 4724), and a broker's thread lives as long as
  // its partitions. Of those whose topic is gone by then nobody empties it. So
  // whoever leaves partitions takes their queues first, and empties them behind
  // it.
  void Leave(const std::string& topic, int32_t partition);
  // All that is assigned; librdkafka has yet to be told.
  void LeaveAll();
  // Empties queues whose partitions are no longer assigned. Blocks: for
  // librdkafka's main thread.
  static void Empty(rd_kafka_t* client, std::vector<KafkaQueueHandle> left);

  const Clock& clock_;
  std::unique_ptr<KafkaClient> client_;
  KafkaQueueHandle messages_;
  KafkaQueueHandle callbacks_;
  absl::AnyInvocable<void()> wake_;

  struct Assigned {
    uint32_t id = 0;
    // Nothing more is wanted of it.
    bool is_finished = false;
  };
  absl::flat_hash_map<std::pair<std::string, int32_t>, Assigned> assigned_;
  // Of partitions that were left and are to be emptied.
  std::vector<KafkaQueueHandle> left_;
  // The partition of the message before: runs of one are the rule.
  const void* last_topic_ = nullptr;
  int32_t last_partition_ = -1;
  uint32_t last_id_ = 0;

  std::vector<rd_kafka_message_t*> received_;
  std::vector<KafkaEvent> events_;

  absl::Status fatal_;
  LoginWatch login_;
  ConnectorHealth health_;
  // What a broker's last error was.
  std::string problem_;
  KafkaStatistics statistics_;
};

}  // namespace penstock::core
