#include "core/handoff/shard_backlog.h"

#include "core/handoff/held_chunks.h"
#include "core/handoff/held_steps.h"
#include "core/handoff/shard_worker.h"

#include <memory>
#include <utility>

namespace penstock::core {

void ShardWrite::AddChunk(EncodedChunk chunk) {
  rows += chunk.rows;
  bytes += chunk.frame.size();
  chunks.push_back(std::move(chunk));
}

std::vector<absl::string_view> ShardWrite::Frames() const {
  std::vector<absl::string_view> frames;
  frames.reserve(chunks.size());
  for (const EncodedChunk& chunk : chunks) {
    if (chunk.frame.size() > 0) frames.push_back(chunk.frame.view());
  }
  return frames;
}

std::vector<DeadLetter> ShardWrite::Letters() const {
  std::vector<DeadLetter> letters;
  for (const EncodedChunk& chunk : chunks) {
    for (const RefusedRecord& record : chunk.refused) {
      letters.push_back({.step = chunk.step,
                         .number = std::nullopt,
                         .partition = record.partition,
                         .offset = record.offset,
                         .error = record.error,
                         .row = record.value});
    }
  }
  return letters;
}

AckSet ShardWrite::TakeAcks() {
  AckSet acks = std::move(end_acks);
  for (EncodedChunk& chunk : chunks) acks.Absorb(std::move(chunk.acks));
  return acks;
}

std::unique_ptr<ShardBacklog> MakeBacklog(const ShardWorkerOptions& options) {
  if (options.level == FtModel::kExactlyOnce) {
    return std::make_unique<HeldSteps>(
        HeldSteps::Options{.progress = options.progress,
                           .released = options.released,
                           .bytes_max = options.commit_bytes_max});
  }
  return std::make_unique<HeldChunks>(
      HeldChunks::Options{.rows_max = options.delivery.batch_rows_max,
                          .bytes_max = options.delivery.batch_bytes_max,
                          .linger = options.delivery.batch_linger});
}

}  // namespace penstock::core
