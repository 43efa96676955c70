// One watch: what it chose, and what waits for it. See `protocol.md` rule 11.
#pragma once

#include "core/base/mutex.h"
#include "proto/penstock/v1/watch.pb.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {

// What a watch wants to hear of.
struct WatchFilter {
  // Empty: all.
  std::set<std::string> connectors;
  std::string pipeline;
  std::set<int> kinds;

  bool WantsConnector(const std::string& connector,
                      const std::string& pipeline_of) const;
  bool WantsKind(v1::WatchKind kind) const {
    return kinds.empty() || kinds.contains(kind);
  }
};

// The kind of an event; UNSPECIFIED for events about the stream itself.
v1::WatchKind KindOf(const v1::WatchEvent& event);
// Whether only the newest of its kind and connector matters.
bool Coalesces(v1::WatchKind kind);

// Owner:     shared by the hub, which offers, and the reactor, which takes.
// Threads:   thread-safe. `wake` runs outside the lock and must only record.
// Lifecycle: until Close, or until it overflows: then it lets go of everything
//            and has ended with SLOW_WATCHER.
// Bound:     `kEventsMax` events or `kBytesMax` bytes besides the snapshot;
//            one event per coalescing kind and connector, `kNewestMax` of them.
class Watcher {
 public:
  static constexpr size_t kEventsMax = 1024;
  static constexpr size_t kBytesMax = size_t{1} << 20;
  // All four kinds of twice the connectors that a worker has.
  static constexpr size_t kNewestMax = 8192;
  static constexpr size_t kBatchBytesMax = size_t{256} << 10;

  Watcher(WatchFilter filter, absl::AnyInvocable<void()> wake)
      : filter_(std::move(filter)), wake_(std::move(wake)) {}

  const WatchFilter& filter() const { return filter_; }

  // Adds an event of the snapshot: not counted against the bound.
  void AddSnapshot(v1::WatchEvent event);
  // From now on events with lower numbers are not taken.
  void StartAt(uint64_t sequence);
  // Adds an event if the filter wants it. One that was offered before, by its
  // number, is not taken again.
  void Offer(const v1::WatchEvent& event);
  // Ends the watch with `status` once what waits was taken.
  void Close(absl::Status status);

  // Events in order, perhaps none; below kBatchBytesMax unless it is one.
  std::vector<v1::WatchEvent> Take();
  // Whether it has ended and nothing is left to take; `status` is then set.
  bool Ended(absl::Status& status) const;
  // Whether it has ended, though something may be left to take.
  bool IsClosed(absl::Status& status) const;

 private:
  void Overflow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const WatchFilter filter_;
  absl::AnyInvocable<void()> wake_;
  mutable core::Mutex mu_;
  std::deque<v1::WatchEvent> snapshot_ ABSL_GUARDED_BY(mu_);
  std::deque<v1::WatchEvent> events_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_sequence_ ABSL_GUARDED_BY(mu_) = 0;
  // By connector and kind: the newest.
  std::map<std::pair<std::string, int>, v1::WatchEvent> newest_
      ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::server
