// How a KafkaReader replays steps, and what it does beside reading.
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sources/kafka/kafka_reader_work.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kReplayTag = "kafka_replay";
constexpr absl::string_view kDiscoverTag = "kafka_discover";
constexpr absl::Duration kHouseInterval = absl::Seconds(1);
constexpr absl::Duration kDiscoverMax = absl::Seconds(2);
// So long the cluster must say that a topic is not there: a broker may be out
// of date.
constexpr absl::Duration kMissingTime = absl::Minutes(1);

}  // namespace

void KafkaReader::Work::Replay(const ReplayCommand& command) {
  CHECK(!replaying_.has_value()) << "a Replay before the last was reported";
  absl::StatusOr<KafkaPosition> step = CheckStep(command.metadata);
  if (!step.ok()) return Fail(step.status(), kReplayTag);
  replaying_.emplace(
      Replaying{.step = *std::move(step), .hasher = consumer_.Hasher()});
  readings_.clear();
  is_assigned_ = false;
  for (size_t i = 0; i < replaying_->step.topics.size(); ++i) {
    const KafkaTopicRanges& topic = replaying_->step.topics[i];
    for (const KafkaRange& range : topic.ranges) {
      if (range.start == range.end) continue;
      readings_.emplace(
          KafkaPosition::IdOf(i, range.partition),
          Reading{.topic = topic.topic, .next = range.start, .end = range.end});
    }
  }
  ReadSome();
}

void KafkaReader::Work::Skip(const SkipCommand& command) {
  CHECK(!replaying_.has_value()) << "a Skip before the Replay was reported";
  const absl::StatusOr<KafkaPosition> step = CheckStep(command.metadata);
  if (!step.ok()) return Fail(step.status(), kReplayTag);
  FinishStep(*step);
  consumer_.Skipped();
}

absl::StatusOr<KafkaPosition> KafkaReader::Work::CheckStep(
    absl::string_view metadata) {
  ASSIGN_OR_RETURN(KafkaPosition step, KafkaPosition::Parse(metadata));
  MutexLock lock(mu_);
  for (size_t i = 0; i < step.topics.size(); ++i) {
    const KafkaTopicRanges& topic = step.topics[i];
    // Partitions keep their ids.
    if (i < flushed_.topics.size() && flushed_.topics[i].topic != topic.topic) {
      return MakeError(
          Reason::POSITION_MISMATCH,
          absl::StrCat("replay or skip a step: its topic ", i, " is ",
                       topic.topic, ", the reader's is ",
                       flushed_.topics[i].topic),
          {{"expected", topic.topic}, {"found", flushed_.topics[i].topic}});
    }
    for (const KafkaRange& range : topic.ranges) {
      const KafkaRange* const known =
          std::as_const(flushed_).Find(topic.topic, range.partition);
      // One that appeared in the step is begun wherever it began then.
      if (known == nullptr || known->end == range.start) continue;
      return MakeError(
          Reason::POSITION_MISMATCH,
          absl::StrCat("replay or skip a step of ",
                       KafkaPartitionName(topic.topic, range.partition),
                       ": it begins at offset ", range.start,
                       ", but the reader is at ", known->end,
                       "; send every journaled step, in order"),
          {{"expected", absl::StrCat(range.start)},
           {"found", absl::StrCat(known->end)}});
    }
  }
  return step;
}

absl::Status KafkaReader::Work::EndReplay() {
  const Replaying done = *std::exchange(replaying_, std::nullopt);
  RETURN_IF_ERROR(client_->Assign({}));
  FinishStep(done.step);
  consumer_.Replayed(done.total, done.hasher.has_value()
                                     ? done.hasher->Finish().value
                                     : uint64_t{0});
  return absl::OkStatus();
}

// Moves behind a step that was replayed or skipped.
void KafkaReader::Work::FinishStep(const KafkaPosition& step) {
  {
    MutexLock lock(mu_);
    for (const KafkaTopicRanges& topic : step.topics) {
      for (const KafkaRange& range : topic.ranges) {
        KafkaRange* known = flushed_.Find(topic.topic, range.partition);
        if (known == nullptr) {
          flushed_.Add(topic.topic, range.partition, range.end);
          known = flushed_.Find(topic.topic, range.partition);
        }
        known->start = known->end = range.end;
        known->last = range.last;
      }
    }
  }
  ResetReadings();
}

void KafkaReader::Work::KeepHouse() {
  StartReading();
  ShowNumbers();
  Acknowledge();
  const absl::Time now = environment_.clock.SteadyNow();
  const bool adds = is_extended_.load() && !config_.stop_at_end;
  const bool reads = is_extended_.load() || replaying_.has_value();
  absl::Time& last = adds ? discovered_ : looked_;
  if (reads && now - last >= config_.discovery_interval) {
    const absl::Status status = Discover(adds);
    last = environment_.clock.SteadyNow();
    if (HasReason(status, Reason::POSITION_EXPIRED)) {
      return Fail(status, kDiscoverTag);
    }
    if (!status.ok()) consumer_.Error(false, status, kDiscoverTag);
  }
  PostAfter(kHouseInterval, &Work::KeepHouse);
}

void KafkaReader::Work::ShowNumbers() {
  const KafkaStatistics& statistics = client_->Statistics();
  metrics_->client_bytes.store(statistics.memory_bytes);
  uint64_t lag = 0;
  {
    MutexLock lock(mu_);
    for (const KafkaStatistics::Partition& one : statistics.partitions) {
      const std::optional<size_t> topic = flushed_.FindTopic(one.topic);
      if (!topic.has_value()) continue;
      const auto reading =
          readings_.find(KafkaPosition::IdOf(*topic, one.partition));
      if (reading == readings_.end()) continue;
      lag += static_cast<uint64_t>(
          std::max<int64_t>(one.end_offset - reading->second.next, 0));
    }
  }
  metrics_->lag.store(lag);
}

void KafkaReader::Work::ShowHealth() {
  ConnectorHealth health = client_->Health();
  const MessageGate* const gate = packer_->gate();
  if (health.reason.empty() && gate != nullptr) {
    health = gate->Health();
    // What waits is the first: nothing overtakes it.
    if (!health.reason.empty() && !pending_.empty()) {
      const KafkaEvent& event = pending_.front();
      const auto reading = readings_.find(event.id);
      if (reading != readings_.end()) {
        absl::StrAppend(
            &health.reason, "; the message is ",
            KafkaPartitionName(reading->second.topic,
                               KafkaPosition::PartitionOf(event.id)),
            " offset ", event.offset);
      }
    }
  }
  if (health.reason == shown_reason_) return;
  shown_reason_ = health.reason;
  consumer_.UpdateConnectorHealth(std::move(health));
}

absl::Status KafkaReader::Work::Discover(bool adds) {
  const absl::Time deadline = environment_.clock.SteadyNow() + kDiscoverMax;
  std::optional<std::span<const std::string>> names;
  if (config_.topic_pattern.empty()) names = config_.topics;
  ASSIGN_OR_RETURN(std::vector<TopicConsumer::Topic> topics,
                   client_->ListTopics(names, deadline));
  RETURN_IF_ERROR(CheckMissing(topics, deadline));
  if (!adds) return absl::OkStatus();
  return AddNew(WantedPartitions(config_, std::move(topics)), deadline);
}

std::optional<std::string> KafkaReader::Work::MissingTopic(
    const std::vector<TopicConsumer::Topic>& topics) {
  absl::flat_hash_map<absl::string_view, int32_t> counts;
  for (const TopicConsumer::Topic& one : topics) {
    counts[one.name] = one.partitions;
  }
  MutexLock lock(mu_);
  for (const KafkaTopicRanges& topic : flushed_.topics) {
    const auto count = counts.find(topic.topic);
    for (const KafkaRange& range : topic.ranges) {
      if (count == counts.end() || range.partition >= count->second) {
        return topic.topic;
      }
    }
  }
  return std::nullopt;
}

absl::Status KafkaReader::Work::CheckMissing(
    const std::vector<TopicConsumer::Topic>& topics, absl::Time deadline) {
  std::optional<std::string> missing = MissingTopic(topics);
  if (missing.has_value() && !config_.topic_pattern.empty()) {
    // A list may lack it for want of a leader: asked for by its name the
    // cluster says whether it knows it.
    ASSIGN_OR_RETURN(std::vector<TopicConsumer::Topic> again,
                     client_->ListTopics(
                         std::span<const std::string>(&*missing, 1), deadline));
    again.insert(again.end(), topics.begin(), topics.end());
    missing = MissingTopic(again);
  }
  const absl::Time now = environment_.clock.SteadyNow();
  if (!missing.has_value()) {
    missing_since_.reset();
    return absl::OkStatus();
  }
  if (!missing_since_.has_value()) missing_since_ = now;
  if (now - *missing_since_ < kMissingTime) return absl::OkStatus();
  return MakeError(Reason::POSITION_EXPIRED,
                   absl::StrCat("read topic ", *missing,
                                ": it, or a partition of it, was deleted; "
                                "start anew: another connector name"),
                   {{"topic", *missing}});
}

absl::Status KafkaReader::Work::AddNew(
    const std::vector<TopicConsumer::TopicPartition>& wanted,
    absl::Time deadline) {
  std::vector<TopicConsumer::TopicPartition> added;
  {
    MutexLock lock(mu_);
    for (const TopicConsumer::TopicPartition& place : wanted) {
      if (std::as_const(flushed_).Find(place.topic, place.partition) ==
          nullptr) {
        added.push_back(place);
      }
    }
    if (flushed_.partition_count() + added.size() >
        KafkaPosition::kPartitionsMax) {
      return MakeError(Reason::INVALID_CONFIG,
                       absl::StrCat("source kafka: there are more than ",
                                    KafkaPosition::kPartitionsMax,
                                    " partitions; give this connector a share "
                                    "of them"));
    }
  }
  if (added.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::vector<int64_t> offsets,
      client_->FindOffsets(added, TopicConsumer::kEarliest, deadline));
  for (size_t i = 0; i < added.size(); ++i) {
    const TopicConsumer::TopicPartition& place = added[i];
    MutexLock lock(mu_);
    flushed_.Add(place.topic, place.partition, offsets[i]);
    readings_.emplace(
        KafkaPosition::IdOf(*flushed_.FindTopic(place.topic), place.partition),
        Reading{.topic = place.topic, .next = offsets[i]});
  }
  is_assigned_ = false;
  StartReading();
  return absl::OkStatus();
}

}  // namespace penstock::core
