// Base positions too long for the answer to an open.
#pragma once

#include "core/base/mutex.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace penstock::server {

// Kept from an open until its first CommitCheckpoint (rule 9), or its delete.
//
// Owner:   the app. Threads: thread-safe.
// Bound:   one position per open connector; small ones are not kept.
class PositionCache {
 public:
  // Replaces that of an earlier instance.
  void Keep(const std::string& connector, const std::string& instance,
            std::string position) {
    core::MutexLock lock(mu_);
    positions_[connector] = {.instance = instance,
                             .position = std::move(position)};
  }
  // `instance` empty: whichever there is.
  void Forget(const std::string& connector, const std::string& instance) {
    core::MutexLock lock(mu_);
    const auto found = positions_.find(connector);
    if (found == positions_.end()) return;
    if (!instance.empty() && found->second.instance != instance) return;
    positions_.erase(found);
  }
  std::optional<std::string> Get(const std::string& connector,
                                 const std::string& instance) const {
    core::MutexLock lock(mu_);
    const auto found = positions_.find(connector);
    if (found == positions_.end() || found->second.instance != instance) {
      return std::nullopt;
    }
    return found->second.position;
  }

 private:
  struct Kept {
    std::string instance;
    std::string position;
  };
  mutable core::Mutex mu_;
  std::map<std::string, Kept> positions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::server
