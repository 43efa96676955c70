// Topics in memory, and a TopicConsumer of them.
#pragma once

#include "core/sources/kafka/topic_consumer.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// What brokers hold, with what only real ones make: offsets without a message,
// and messages that expire.
//
// Threads:   confined to the test's thread, as its consumers are.
// Lifecycle: outlives its consumers.
class FakeKafkaTopics {
 public:
  struct Message {
    int64_t offset = 0;
    std::optional<std::string> key = std::nullopt;
    std::optional<std::string> value = std::nullopt;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers =
        {};
    int64_t timestamp_ms = 1'000;
  };
  struct Partition {
    int64_t low = 0;
    // Behind the last offset, whatever is there.
    int64_t end = 0;
    std::vector<Message> messages;
  };

  // Makes the topic, or adds to its partitions.
  void Create(const std::string& topic, size_t partitions);
  void Delete(const std::string& topic) { topics_.erase(topic); }
  Partition& At(const std::string& topic, size_t partition) {
    return topics_.at(topic).at(partition);
  }
  // At its end; the offset is given. Wakes consumers. Returns: the offset.
  int64_t Write(const std::string& topic, size_t partition, Message message);
  // Offsets at its end that no consumer is given: transaction marks, aborted
  // messages.
  void WriteHidden(const std::string& topic, size_t partition, int64_t count);
  // Messages below `low` are gone.
  void Expire(const std::string& topic, size_t partition, int64_t low);

  // Knobs. Every Receive gives this error, of no partition.
  void Break(absl::Status error);
  // What a consumer's Health says.
  void SetHealth(ConnectorHealth health);
  // Messages of one partition that come in a row.
  void SetRun(size_t messages) { run_ = messages; }

  // What was committed to be seen, by "topic/partition".
  const std::map<std::string, int64_t>& committed() const { return committed_; }

  std::unique_ptr<TopicConsumer> MakeConsumer();

 private:
  friend class FakeTopicConsumer;
  void WakeAll();

  std::map<std::string, std::vector<Partition>> topics_;
  std::map<std::string, int64_t> committed_;
  std::vector<class FakeTopicConsumer*> consumers_;
  absl::Status broken_;
  ConnectorHealth health_;
  size_t run_ = 3;
};

}  // namespace penstock::core
