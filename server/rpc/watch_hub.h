// Turns what connectors report into events for watchers.
// See `protocol.md` rule 11; upholds INV-13 (a watcher slows nothing).
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/connector/requests.h"
#include "proto/penstock/v1/watch.pb.h"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/watcher.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace penstock::server {

// Changes are picked up from a connector's status at most every `kRefresh`, by
// a task on the executor: reporting a change costs a connector one lock.
//
// Owner:     the app. Threads: thread-safe.
// Lifecycle: SetConnectors before connectors are opened; Shutdown ends every
//            watch and waits for a look at the connectors that is under way.
// Bound:     keeps `Watcher::kEventsMax` events or `kBytesMax` bytes for
//            watchers that come back; `kWatchersMax` watchers.
class WatchHub final : public DispatchObserver {
 public:
  static constexpr absl::Duration kRefresh = absl::Milliseconds(10);
  static constexpr size_t kWatchersMax = 10'000;

  WatchHub(std::string run_id, core::Executor& executor);
  ~WatchHub() override;

  // They outlive it, or its Shutdown.
  void SetConnectors(const ConnectorStatuses* connectors);

  // Makes a watch: its created event, snapshot and end of snapshot wait in it.
  // Errors: SEQUENCE_EXPIRED (metadata "oldest"), MEMORY_REFUSED.
  absl::StatusOr<std::shared_ptr<Watcher>> Watch(
      WatchFilter filter, std::optional<uint64_t> from_sequence,
      const std::string& run_id, absl::AnyInvocable<void()> wake);
  void Forget(const std::shared_ptr<Watcher>& watcher);
  // How many connectors were removed so far.
  uint64_t removals() const;
  // The number that the next event gets, for progress notes.
  uint64_t next_sequence() const;
  void Shutdown();

  void OnOpened(const std::string& connector) override;
  void OnRemoved(const std::string& connector,
                 const std::string& instance) override;
  void OnChanged(const std::string& connector) override;
  void OnState(const std::string& connector, const std::string& instance,
               const std::string& pipeline, core::ConnectorState previous,
               core::ConnectorState state) override;
  void OnError(const std::string& connector,
               const core::ErrorEntry& error) override;
  void OnParseErrors(const std::string& connector,
                     const std::vector<core::ParseError>& errors) override;
  void OnTransaction(const std::string& connector, bool started,
                     std::optional<std::string> label) override;
  void OnDraining(absl::Time deadline);

 private:
  struct Known;
  struct State;

  // Shared by: the hub and its refreshing tasks.
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::server
