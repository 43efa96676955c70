#include "core/handoff/shard_backlog.h"

#include <utility>

namespace penstock::core {

void ShardWrite::AddChunk(EncodedChunk chunk) {
  rows += chunk.rows;
  bytes += chunk.frame.size();
  chunks.push_back(std::move(chunk));
}

AckSet ShardWrite::TakeAcks() {
  AckSet acks = std::move(end_acks);
  for (EncodedChunk& chunk : chunks) acks.Absorb(std::move(chunk.acks));
  return acks;
}

}  // namespace penstock::core
