// The offset that a group has committed.
#pragma once

#include "core/base/clock.h"
#include "core/kafka/kafka_options.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

struct KafkaGroupOffset {
  int64_t offset = 0;
  std::string metadata;
  friend bool operator==(const KafkaGroupOffset&,
                         const KafkaGroupOffset&) = default;
};

enum class KafkaOffsetRead {
  // Waits for transactions that are open or being ended, so that what it
  // returns stands. Where only the asker can end such a transaction, it waits
  // until the cluster ends it.
  kStable,
  // What was committed at some time: never waits, and may be out of date.
  kAny,
};

// Of partition 0 of `topic`; nullopt: there is none. By a consumer of that
// group, which `conf` is for, and which joins nothing. (The request of the same
// purpose for other groups, ListConsumerGroupOffsets, crashes librdkafka 2.0.2
// in a producer, when it meets a coordinator that is not ready.)
// Blocks: until the deadline. Errors: as MakeKafkaError, retryable ones only
// when the deadline has passed; INVALID_CONFIG.
absl::StatusOr<std::optional<KafkaGroupOffset>> ReadKafkaGroupOffset(
    KafkaConf conf, const std::string& group, const std::string& topic,
    KafkaOffsetRead read, const Clock& clock, absl::Time deadline);

}  // namespace penstock::core
