// How far each shard is, as offsets of groups in the cluster that has its
// messages. A public format: see core/sinks/kafka/README.md.
#pragma once

#include "core/contract/output_target.h"
#include "core/kafka/kafka_group_offset.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

// Also the shard's transactional id.
std::string ProgressGroup(const OutputOpen& open, ShardIndex shard);
// Of the connector, whatever the incarnation. Also the transactional id of who
// makes it.
std::string OwnerGroup(const OutputOpen& open);

// One shard's.
struct KafkaProgress {
  Step steps = 0;
  Writer writer;
};
// Whose the connector's progress is, and how many shards there are.
struct KafkaShards {
  std::string incarnation;
  uint32_t shards = 0;
};

std::string ProgressMetadata(const Writer& writer);
std::string OwnerMetadata(const std::string& incarnation);

// Errors: STATE_DAMAGED: somebody else has written it.
absl::StatusOr<KafkaProgress> ParseStoredProgress(
    const KafkaGroupOffset& offset);
absl::StatusOr<KafkaShards> ParseStoredOwner(const KafkaGroupOffset& offset);

// PROGRESS_LOST of `open`.
absl::Status ProgressLost(const OutputOpen& open);
// OK if `open`'s writer may take over what `found` is of: WRITER_FENCED.
absl::Status CheckCanTake(const OutputOpen& open, ShardIndex shard,
                          const KafkaProgress& found);
// OK if it still is of `open`'s writer: WRITER_FENCED, PROGRESS_LOST.
absl::Status CheckIsMine(const OutputOpen& open, ShardIndex shard,
                         const std::optional<KafkaProgress>& found);
// FOREIGN_PROGRESS.
absl::Status CheckOwner(const OutputOpen& open, const KafkaShards& owner);

}  // namespace penstock::core
