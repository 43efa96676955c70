// Base positions too long for the answer to an open.
#pragma once

#include "core/base/mutex.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace penstock::server {

// Kept from an open until its first CommitCheckpoint (rule 9).
//
// Owner:   the app. Threads: thread-safe.
// Bound:   one position per open connector; small ones are not kept.
class PositionCache {
 public:
  void Keep(const std::string& instance, std::string position) {
    core::MutexLock lock(mu_);
    positions_[instance] = std::move(position);
  }
  void Forget(const std::string& instance) {
    core::MutexLock lock(mu_);
    positions_.erase(instance);
  }
  std::optional<std::string> Get(const std::string& instance) const {
    core::MutexLock lock(mu_);
    const auto found = positions_.find(instance);
    if (found == positions_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable core::Mutex mu_;
  std::map<std::string, std::string> positions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::server
