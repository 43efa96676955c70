#include "server/memory_tidy.h"

#include <malloc.h>

#include <utility>

namespace penstock::server {

struct MemoryTidy::State : std::enable_shared_from_this<State> {
  State(core::Executor& on, std::function<uint64_t()> the_removals)
      : executor(on), removals(std::move(the_removals)) {}

  void LookLater() {
    executor.ScheduleAfter(kLook, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Look();
    });
  }
  void Look() {
    core::MutexLock lock(mu);
    if (closed) return;
    const uint64_t now = removals();
    if (std::exchange(before, now) != now) malloc_trim(0);
    LookLater();
  }

  core::Executor& executor;
  const std::function<uint64_t()> removals;
  core::Mutex mu;
  bool closed ABSL_GUARDED_BY(mu) = false;
  uint64_t before ABSL_GUARDED_BY(mu) = 0;
};

MemoryTidy::MemoryTidy(core::Executor& executor,
                       std::function<uint64_t()> removals)
    : state_(std::make_shared<State>(executor, std::move(removals))) {
  state_->LookLater();
}

MemoryTidy::~MemoryTidy() {
  core::MutexLock lock(state_->mu);
  state_->closed = true;
}

}  // namespace penstock::server
