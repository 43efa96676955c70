// What the source needs of a Kafka client: an interface, for tests.
#pragma once

#include "core/contract/health.h"
#include "core/kafka/kafka_statistics.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

struct KafkaHeader {
  absl::string_view name;
  // nullopt: null.
  std::optional<absl::string_view> value;
};

// What a partition gives. Lifetime: until the next Receive or Assign.
struct KafkaEvent {
  enum class Kind {
    kMessage,
    // Nothing more to read, for now, from `offset` on.
    kEnd,
    // `error`. Of a partition, unless `has_partition` is false.
    kError,
  };
  Kind kind = Kind::kMessage;
  bool has_partition = true;
  // As assigned.
  uint32_t id = 0;
  int64_t offset = 0;
  // kNoEventTime (RecordMeta): it has none.
  int64_t timestamp_ms = INT64_MIN;
  std::optional<absl::string_view> key = std::nullopt;
  std::optional<absl::string_view> value = std::nullopt;
  absl::Status error = absl::OkStatus();
  // The consumer's own.
  const void* message = nullptr;
};

// Threads:   confined to one thread at a time; the wake-up comes from any.
// Lifecycle: nothing is assigned at birth. The destructor ends all threads.
class TopicConsumer {
 public:
  struct Topic {
    std::string name;
    int32_t partitions = 0;
  };
  struct TopicPartition {
    std::string topic;
    int32_t partition = 0;
  };
  struct Assignment {
    TopicPartition place;
    uint32_t id = 0;
    // Of the first message that is wanted.
    int64_t offset = 0;
  };
  // Instead of a time, in milliseconds since the epoch.
  static constexpr int64_t kLatest = -1;
  static constexpr int64_t kEarliest = -2;

  virtual ~TopicConsumer() = default;

  // Those of `names` that exist, or all. Blocks: until `deadline`.
  // Errors: as MakeKafkaError.
  virtual absl::StatusOr<std::vector<Topic>> ListTopics(
      std::optional<std::span<const std::string>> names,
      absl::Time deadline) = 0;
  // For each the offset of its first message of that time or later, its end if
  // there is none. Blocks: until `deadline`.
  virtual absl::StatusOr<std::vector<int64_t>> FindOffsets(
      std::span<const TopicPartition> places, int64_t time_ms,
      absl::Time deadline) = 0;

  // From now on gives these partitions, from their offsets on, and no others:
  // what was fetched before is dropped.
  virtual absl::Status Assign(std::span<const Assignment> partitions) = 0;
  // Nothing more is wanted of an assigned partition.
  virtual void Finish(const TopicPartition& place) = 0;
  // What is there now, at most `events_max`; fewer: there is no more, and the
  // wake-up will tell. Blocks: never.
  virtual std::span<const KafkaEvent> Receive(size_t events_max) = 0;
  // Of a message of the last Receive.
  virtual std::vector<KafkaHeader> HeadersOf(const KafkaEvent& event) const = 0;
  // Shows in the group that all before these offsets is done. Blocks: never;
  // one that fails is forgotten.
  virtual void Commit(std::span<const Assignment> partitions) = 0;

  // Obeys what came from the client's threads, also while nothing is received.
  // Returns: a fatal error of the client. Blocks: never.
  virtual absl::Status Serve() = 0;
  // As of the last Serve.
  virtual ConnectorHealth Health() const = 0;
  virtual const KafkaStatistics& Statistics() const = 0;

  // `wake` is called, on any thread, when there is something to Serve or to
  // Receive. It must not call back. Once, before anything is assigned.
  virtual void SetWake(absl::AnyInvocable<void()> wake) = 0;
};

}  // namespace penstock::core
