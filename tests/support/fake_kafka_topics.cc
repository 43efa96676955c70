#include "tests/support/fake_kafka_topics.h"

#include "core/base/check.h"
#include "core/kafka/kafka_error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace penstock::core {

class FakeTopicConsumer final : public TopicConsumer {
 public:
  explicit FakeTopicConsumer(FakeKafkaTopics& topics) : topics_(topics) {
    topics_.consumers_.push_back(this);
  }
  ~FakeTopicConsumer() override { std::erase(topics_.consumers_, this); }

  absl::StatusOr<std::vector<Topic>> ListTopics(
      std::optional<std::span<const std::string>> names,
      absl::Time /*deadline*/) override {
    std::vector<Topic> found;
    for (const auto& [name, partitions] : topics_.topics_) {
      const bool is_wanted =
          !names.has_value() ||
          std::find(names->begin(), names->end(), name) != names->end();
      if (!is_wanted) continue;
      found.push_back({.name = name,
                       .partitions = static_cast<int32_t>(partitions.size())});
    }
    return found;
  }

  absl::StatusOr<std::vector<int64_t>> FindOffsets(
      std::span<const TopicPartition> places, int64_t time_ms,
      absl::Time /*deadline*/) override {
    std::vector<int64_t> offsets;
    for (const TopicPartition& place : places) {
      const FakeKafkaTopics::Partition& from = PartitionOf(place);
      int64_t offset = from.end;
      if (time_ms == kEarliest) offset = from.low;
      for (const FakeKafkaTopics::Message& message : from.messages) {
        if (time_ms < 0 || message.timestamp_ms < time_ms) continue;
        offset = message.offset;
        break;
      }
      offsets.push_back(offset);
    }
    return offsets;
  }

  absl::Status Assign(std::span<const Assignment> partitions) override {
    assigned_.clear();
    events_.clear();
    for (const Assignment& one : partitions) {
      assigned_.push_back({.assignment = one, .next = one.offset});
    }
    return absl::OkStatus();
  }
  void Finish(const TopicPartition& place) override {
    for (Assigned& one : assigned_) {
      if (one.assignment.place.topic == place.topic &&
          one.assignment.place.partition == place.partition) {
        one.is_finished = true;
      }
    }
  }

  std::span<const KafkaEvent> Receive(size_t events_max) override {
    events_.clear();
    if (!topics_.broken_.ok()) {
      events_.push_back({.kind = KafkaEvent::Kind::kError,
                         .has_partition = false,
                         .error = topics_.broken_});
      return events_;
    }
    bool moved = true;
    while (moved && events_.size() < events_max) {
      moved = false;
      for (Assigned& one : assigned_) {
        for (size_t i = 0; i < topics_.run_ && events_.size() < events_max;
             ++i) {
          if (!Next(one)) break;
          moved = true;
        }
      }
    }
    return events_;
  }

  std::vector<KafkaHeader> HeadersOf(const KafkaEvent& event) const override {
    std::vector<KafkaHeader> headers;
    const auto& message =
        *static_cast<const FakeKafkaTopics::Message*>(event.message);
    for (const auto& [name, value] : message.headers) {
      KafkaHeader header{.name = name, .value = std::nullopt};
      if (value.has_value()) header.value = *value;
      headers.push_back(header);
    }
    return headers;
  }

  void Commit(std::span<const Assignment> partitions) override {
    for (const Assignment& one : partitions) {
      topics_
          .committed_[absl::StrCat(one.place.topic, "/", one.place.partition)] =
          one.offset;
    }
  }
  absl::Status Serve() override { return absl::OkStatus(); }
  ConnectorHealth Health() const override { return topics_.health_; }
  const KafkaStatistics& Statistics() const override {
    statistics_.partitions.clear();
    for (const auto& [name, partitions] : topics_.topics_) {
      for (size_t i = 0; i < partitions.size(); ++i) {
        statistics_.partitions.push_back({.topic = name,
                                          .partition = static_cast<int32_t>(i),
                                          .end_offset = partitions[i].end});
      }
    }
    return statistics_;
  }
  void SetWake(absl::AnyInvocable<void()> wake) override {
    wake_ = std::move(wake);
  }
  void Wake() {
    if (wake_) wake_();
  }

 private:
  struct Assigned {
    Assignment assignment;
    int64_t next = 0;
    // Where its end was told.
    int64_t told = -1;
    bool is_finished = false;
  };

  FakeKafkaTopics::Partition& PartitionOf(const TopicPartition& place) {
    return topics_.At(place.topic, static_cast<size_t>(place.partition));
  }

  // Appends the next event of a partition, if there is one.
  bool Next(Assigned& one) {
    const TopicPartition& place = one.assignment.place;
    const auto topic = topics_.topics_.find(place.topic);
    if (one.is_finished || topic == topics_.topics_.end() ||
        static_cast<size_t>(place.partition) >= topic->second.size()) {
      return false;
    }
    FakeKafkaTopics::Partition& from = PartitionOf(one.assignment.place);
    KafkaEvent event{.id = one.assignment.id};
    if (one.next < from.low || one.next > from.end) {
      one.is_finished = true;
      event.kind = KafkaEvent::Kind::kError;
      event.error =
          MakeKafkaError(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, "read");
      events_.push_back(event);
      return true;
    }
    const auto message = std::find_if(
        from.messages.begin(), from.messages.end(),
        [&](const auto& candidate) { return candidate.offset >= one.next; });
    if (message == from.messages.end()) {
      if (one.told == from.end) return false;
      one.next = one.told = from.end;
      event.kind = KafkaEvent::Kind::kEnd;
      event.offset = from.end;
      events_.push_back(event);
      return true;
    }
    event.offset = message->offset;
    event.timestamp_ms = message->timestamp_ms;
    if (message->key.has_value()) event.key = *message->key;
    if (message->value.has_value()) event.value = *message->value;
    event.message = &*message;
    one.next = message->offset + 1;
    events_.push_back(event);
    return true;
  }

  FakeKafkaTopics& topics_;
  absl::AnyInvocable<void()> wake_;
  std::vector<Assigned> assigned_;
  std::vector<KafkaEvent> events_;
  mutable KafkaStatistics statistics_;
};

void FakeKafkaTopics::Create(const std::string& topic, size_t partitions) {
  topics_[topic].resize(topics_[topic].size() + partitions);
}

int64_t FakeKafkaTopics::Write(const std::string& topic, size_t partition,
                               Message message) {
  Partition& to = At(topic, partition);
  message.offset = to.end++;
  to.messages.push_back(std::move(message));
  WakeAll();
  return to.end - 1;
}

void FakeKafkaTopics::WriteHidden(const std::string& topic, size_t partition,
                                  int64_t count) {
  At(topic, partition).end += count;
  WakeAll();
}

void FakeKafkaTopics::Expire(const std::string& topic, size_t partition,
                             int64_t low) {
  Partition& of = At(topic, partition);
  CHECK_LE(low, of.end);
  of.low = low;
  std::erase_if(of.messages,
                [low](const Message& one) { return one.offset < low; });
}

void FakeKafkaTopics::Break(absl::Status error) {
  broken_ = std::move(error);
  WakeAll();
}

void FakeKafkaTopics::SetHealth(ConnectorHealth health) {
  health_ = std::move(health);
  WakeAll();
}

void FakeKafkaTopics::WakeAll() {
  for (FakeTopicConsumer* const consumer : consumers_) consumer->Wake();
}

std::unique_ptr<TopicConsumer> FakeKafkaTopics::MakeConsumer() {
  return std::make_unique<FakeTopicConsumer>(*this);
}

}  // namespace penstock::core
