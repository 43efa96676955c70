#include "core/base/timer_queue.h"

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// Below this many dead entries a rebuild of the heap does not pay.
constexpr size_t kDeadEntriesMin = 64;

}  // namespace

bool TimerQueue::Later(const Entry& a, const Entry& b) {
  if (a.deadline != b.deadline) return a.deadline > b.deadline;
  return a.id > b.id;
}

Executor::TimerId TimerQueue::Add(absl::Time deadline, Executor::Task task) {
  const uint64_t id = next_id_++;
  tasks_.emplace(id, std::move(task));
  heap_.push_back(Entry{deadline, id});
  std::push_heap(heap_.begin(), heap_.end(), Later);
  return Executor::TimerId{id};
}

std::optional<Executor::Task> TimerQueue::Cancel(Executor::TimerId id) {
  const auto found = tasks_.find(static_cast<uint64_t>(id));
  if (found == tasks_.end()) return std::nullopt;
  Executor::Task task = std::move(found->second);
  tasks_.erase(found);
  if (heap_.size() > 2 * tasks_.size() + kDeadEntriesMin) {
    std::erase_if(heap_,
                  [this](const Entry& e) { return !tasks_.contains(e.id); });
    std::make_heap(heap_.begin(), heap_.end(), Later);
  }
  return task;
}

void TimerQueue::DropDeadTop() {
  while (!heap_.empty() && !tasks_.contains(heap_.front().id)) {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    heap_.pop_back();
  }
}

absl::Time TimerQueue::NextDeadline() {
  DropDeadTop();
  return heap_.empty() ? absl::InfiniteFuture() : heap_.front().deadline;
}

std::optional<Executor::Task> TimerQueue::PopDue(absl::Time now) {
  DropDeadTop();
  if (heap_.empty() || heap_.front().deadline > now) return std::nullopt;
  const auto found = tasks_.find(heap_.front().id);
  Executor::Task task = std::move(found->second);
  tasks_.erase(found);
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  heap_.pop_back();
  return task;
}

std::vector<Executor::Task> TimerQueue::Clear() {
  std::vector<Executor::Task> tasks;
  tasks.reserve(tasks_.size());
  for (auto& [id, task] : tasks_) tasks.push_back(std::move(task));
  tasks_.clear();
  heap_.clear();
  return tasks;
}

}  // namespace penstock::core
