// Who wants to be told when its epoch is over. See Dispatcher::Lead.
#pragma once

#include "core/base/mutex.h"

#include <absl/functional/any_invocable.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {

// Owner:   the dispatcher; shared with the fences. Threads: thread-safe.
// Bound:   one entry for each token that is held, and those let go since the
//          last Add of their pipeline.
class Reigns {
 public:
  using Token = std::shared_ptr<const void>;

  // `over` runs at the next End of the pipeline, unless the token was let go.
  Token Add(const std::string& pipeline, absl::AnyInvocable<void()> over) {
    auto entry = std::make_shared<Over>(std::move(over));
    core::MutexLock lock(mu_);
    std::vector<std::weak_ptr<Over>>& entries = entries_[pipeline];
    std::erase_if(entries, [](const auto& one) { return one.expired(); });
    entries.push_back(entry);
    return entry;
  }

  // A higher epoch took over.
  void End(const std::string& pipeline) {
    std::vector<std::weak_ptr<Over>> ended;
    {
      core::MutexLock lock(mu_);
      const auto found = entries_.find(pipeline);
      if (found == entries_.end()) return;
      std::swap(ended, found->second);
      entries_.erase(found);
    }
    for (const auto& one : ended) {
      if (const auto over = one.lock()) (*over)();
    }
  }

 private:
  using Over = absl::AnyInvocable<void()>;
  core::Mutex mu_;
  std::map<std::string, std::vector<std::weak_ptr<Over>>> entries_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::server
