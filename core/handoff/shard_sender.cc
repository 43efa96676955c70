#include "core/handoff/shard_sender.h"

#include <utility>

namespace penstock::core {
namespace {

Step StepOf(const ShardItem& item) {
  return std::visit([](const auto& value) { return value.step; }, item);
}

}  // namespace

ShardSender::ShardSender(ShardQueues& queues)
    : queues_(queues), parked_(queues.size()) {}

SendResult ShardSender::Send(ShardIndex shard, ShardItem&& item) {
  std::deque<ShardItem>& parked = parked_[shard];
  SendResult result = SendResult::kFull;
  if (parked.empty()) {
    result = queues_.at(shard).TrySend(std::move(item));
  }
  if (result == SendResult::kFull) {
    parked.push_back(std::move(item));
    ++parked_total_;
  }
  return result;
}

SendResult ShardSender::Relieve() {
  if (parked_total_ == 0) return SendResult::kSent;
  SendResult worst = SendResult::kSent;
  for (ShardIndex shard = 0; shard < parked_.size(); ++shard) {
    if (RelieveShard(shard) == SendResult::kClosed) {
      worst = SendResult::kClosed;
    }
  }
  if (worst == SendResult::kSent && parked_total_ > 0) {
    worst = SendResult::kFull;
  }
  return worst;
}

SendResult ShardSender::RelieveShard(ShardIndex shard) {
  std::deque<ShardItem>& parked = parked_[shard];
  while (!parked.empty()) {
    const SendResult result =
        queues_.at(shard).TrySend(std::move(parked.front()));
    if (result == SendResult::kFull) return result;
    if (result == SendResult::kClosed) {
      parked_total_ -= parked.size();
      parked.clear();
      return result;
    }
    parked.pop_front();
    --parked_total_;
  }
  return SendResult::kSent;
}

void ShardSender::DropLast(Step step) {
  for (std::deque<ShardItem>& parked : parked_) {
    while (!parked.empty() && StepOf(parked.back()) == step) {
      parked.pop_back();
      --parked_total_;
    }
  }
}

}  // namespace penstock::core
