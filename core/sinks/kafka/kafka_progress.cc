#include "core/sinks/kafka/kafka_progress.h"

#include "core/base/error.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <limits>
#include <vector>

namespace penstock::core {
namespace {

// The first word of what is stored: another one belongs to another program, or
// to a later version of this one.
constexpr absl::string_view kProgress = "penstock-progress-1";
constexpr absl::string_view kOwner = "penstock-owner-1";

absl::Status Damaged(absl::string_view what, const KafkaGroupOffset& offset) {
  return MakeError(
      Reason::STATE_DAMAGED,
      absl::StrCat("kafka sink: what a group has stored is no ", what,
                   " of this version: offset ", offset.offset, ", metadata \"",
                   offset.metadata.substr(0, 100),
                   "\"; has another program committed to it?"));
}

std::string Text(const Writer& writer) {
  return absl::StrCat("(", writer.epoch, ", ", writer.open_number, ")");
}

}  // namespace

std::string ProgressGroup(const OutputOpen& open, ShardIndex shard) {
  return absl::StrCat("penstock.", open.incarnation, ".", open.connector, ".",
                      shard);
}

std::string OwnerGroup(const OutputOpen& open) {
  // Neither name has a slash.
  return absl::StrCat("penstock/", open.pipeline, "/", open.connector);
}

std::string ProgressMetadata(const Writer& writer) {
  return absl::StrCat(kProgress, " ", writer.epoch, " ", writer.open_number);
}

std::string OwnerMetadata(const std::string& incarnation) {
  return absl::StrCat(kOwner, " ", incarnation);
}

absl::StatusOr<KafkaProgress> ParseStoredProgress(
    const KafkaGroupOffset& offset) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(offset.metadata, ' ');
  KafkaProgress progress{.steps = static_cast<Step>(offset.offset)};
  if (words.size() != 3 || words[0] != kProgress ||
      !absl::SimpleAtoi(words[1], &progress.writer.epoch) ||
      !absl::SimpleAtoi(words[2], &progress.writer.open_number)) {
    return Damaged("progress of a shard", offset);
  }
  return progress;
}

absl::StatusOr<KafkaShards> ParseStoredOwner(const KafkaGroupOffset& offset) {
  const std::vector<std::string> words = absl::StrSplit(offset.metadata, ' ');
  if (words.size() != 2 || words[0] != kOwner || offset.offset < 1 ||
      offset.offset > std::numeric_limits<uint32_t>::max()) {
    return Damaged("owner of a connector", offset);
  }
  return KafkaShards{.incarnation = words[1],
                     .shards = static_cast<uint32_t>(offset.offset)};
}

absl::Status ProgressLost(const OutputOpen& open) {
  return MakeError(
      Reason::PROGRESS_LOST,
      absl::StrCat(
          "kafka sink: the progress of ", open.pipeline, "/", open.connector,
          " is not in the cluster, where it was. The topic was made anew, the "
          "cluster was replaced, offsets.retention.minutes has passed while "
          "nothing ran, or the connector last ran below exactly-once. Start "
          "anew with another connector name and an empty topic"),
      {{"connector", open.connector}});
}

absl::Status CheckCanTake(const OutputOpen& open, ShardIndex shard,
                          const KafkaProgress& found) {
  if (found.writer < open.writer) return absl::OkStatus();
  return MakeError(
      Reason::WRITER_FENCED,
      absl::StrCat("kafka sink: shard ", shard, " of ", open.pipeline, "/",
                   open.connector, " is written by ", Text(found.writer),
                   " (epoch, open), and this is ", Text(open.writer)),
      {{"shard", absl::StrCat(shard)}});
}

absl::Status CheckIsMine(const OutputOpen& open, ShardIndex shard,
                         const std::optional<KafkaProgress>& found) {
  if (!found.has_value()) return ProgressLost(open);
  if (found->writer == open.writer) return absl::OkStatus();
  if (found->writer > open.writer) return CheckCanTake(open, shard, *found);
  // Lower than ours, which had taken it: somebody has set it back.
  return ProgressLost(open);
}

absl::Status CheckOwner(const OutputOpen& open, const KafkaShards& owner) {
  if (owner.incarnation == open.incarnation) return absl::OkStatus();
  return MakeError(
      Reason::FOREIGN_PROGRESS,
      absl::StrCat("kafka sink: the cluster has the progress of ",
                   open.pipeline, "/", open.connector,
                   " of another controller's state (incarnation ",
                   owner.incarnation, ", and this is ", open.incarnation,
                   "). Use that state; or start anew with another connector "
                   "name and another topic"),
      {{"connector", open.connector}, {"incarnation", owner.incarnation}});
}

}  // namespace penstock::core
