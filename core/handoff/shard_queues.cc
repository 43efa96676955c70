#include "core/handoff/shard_queues.h"

#include "core/base/check.h"

#include <utility>

namespace penstock::core {

ShardQueue::ShardQueue(size_t items_max)
    : items_max_(items_max), ring_(items_max) {
  CHECK_GT(items_max, 0u);
}

SendResult ShardQueue::TrySend(ShardItem&& item) {
  {
    MutexLock lock(mu_);
    if (closed_) return SendResult::kClosed;
    if (count_ == items_max_) {
      refused_ = true;
      ++full_events_;
      return SendResult::kFull;
    }
    ring_[Wrapped(head_ + count_)] = std::move(item);
    if (++count_ > 1) return SendResult::kSent;
  }
  if (on_items_ != nullptr) on_items_();
  return SendResult::kSent;
}

std::optional<ShardItem> ShardQueue::TryReceive() {
  std::optional<ShardItem> item;
  bool room = false;
  {
    MutexLock lock(mu_);
    if (count_ == 0) return std::nullopt;
    item = std::move(ring_[head_]);
    head_ = Wrapped(head_ + 1);
    --count_;
    room = std::exchange(refused_, false);
  }
  if (room && on_room_ != nullptr) on_room_();
  return item;
}

std::vector<ShardItem> ShardQueue::ReceiveAll() {
  std::vector<ShardItem> items;
  items.reserve(items_max_);
  bool room = false;
  {
    MutexLock lock(mu_);
    for (; count_ > 0; --count_) {
      items.push_back(std::move(ring_[head_]));
      head_ = Wrapped(head_ + 1);
    }
    room = !items.empty() && std::exchange(refused_, false);
  }
  if (room && on_room_ != nullptr) on_room_();
  return items;
}

void ShardQueue::Close() {
  MutexLock lock(mu_);
  closed_ = true;
}

size_t ShardQueue::size() const {
  MutexLock lock(mu_);
  return count_;
}

uint64_t ShardQueue::full_events() const {
  MutexLock lock(mu_);
  return full_events_;
}

bool ShardQueue::is_closed() const {
  MutexLock lock(mu_);
  return closed_;
}

void ShardQueue::SetOnItems(Callback on_items) {
  on_items_ = std::move(on_items);
}

void ShardQueue::SetOnRoom(Callback on_room) { on_room_ = std::move(on_room); }

ShardQueues::ShardQueues(uint32_t shards, size_t items_max) {
  CHECK_GT(shards, 0u);
  queues_.reserve(shards);
  for (uint32_t i = 0; i < shards; ++i) {
    queues_.push_back(std::make_unique<ShardQueue>(items_max));
  }
}

void ShardQueues::CloseAll() {
  for (const auto& queue : queues_) queue->Close();
}

}  // namespace penstock::core
