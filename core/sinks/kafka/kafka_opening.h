// Takes over what a connector has in a cluster.
// See core/sinks/kafka/README.md; upholds INV-7.
#pragma once

#include "core/sinks/kafka/kafka_lane.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// One open in exactly-once, step by step. Shards are independent of one
// another, and each takes several round trips and clients of its own: they are
// looked at and taken over kLanesAtOnce at a time, as dozens of them one after
// the other would not fit an open's time.
//
// Owner:   the call that made it.
// Threads: confined to it, but for what it does of lanes, each by one thread.
// Bound:   kLanesAtOnce threads with a client of librdkafka each, for what they
//          read; and a producer for each shard, of the open or of the one
//          before.
class KafkaOpening {
 public:
  KafkaOpening(std::shared_ptr<const KafkaWriting> writing,
               absl::Time deadline);
  KafkaOpening(const KafkaOpening&) = delete;
  KafkaOpening& operator=(const KafkaOpening&) = delete;
  // Ends what it has not given out.
  ~KafkaOpening();

  // Makes the open's writer that of every shard. Looks at all of it first, and
  // leaves everybody undisturbed where it has no business.
  // Returns: the lanes, taken; their progress is the shards'.
  // Errors: as OutputTarget::Open.
  absl::StatusOr<std::vector<std::shared_ptr<KafkaLane>>> Run();

 private:
  static constexpr size_t kLanesAtOnce = 8;

  // Calls `act` with each shard from `first` on. Returns: the first error in
  // time; what was not begun by then is left.
  absl::Status ForLanes(ShardIndex first,
                        const std::function<absl::Status(ShardIndex)>& act);
  absl::Status Look();
  absl::Status LookAt(ShardIndex shard);
  absl::Status TakeLane(ShardIndex shard, bool renews_owner);
  absl::StatusOr<std::optional<KafkaShards>> ReadOwner(KafkaOffsetRead read);
  // Behind what fences all others: that the owner is what it was.
  absl::Status CheckOwnerStands();
  absl::Status CheckReshard(ShardIndex shard, Step steps) const;
  absl::StatusOr<Step> StepsOf(ShardIndex shard,
                               const std::optional<KafkaProgress>& found) const;
  absl::Status TakeLanes(bool renews_owner);

  const std::shared_ptr<const KafkaWriting> writing_;
  const OutputOpen& open_;
  const absl::Time deadline_;
  std::optional<KafkaShards> owner_;
  // Also of shards that the open no longer has: those are fenced, too.
  std::vector<std::shared_ptr<KafkaLane>> lanes_;
};

}  // namespace penstock::core
