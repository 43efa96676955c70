// The one door of a worker: checks who asks, then hands over.
// See server/dispatch/README.md; upholds INV-7 and INV-13.
#pragma once

#include "core/base/executor.h"
#include "core/connector/connector.h"
#include "core/connector/control.h"
#include "core/contract/component.h"
#include "server/dispatch/failures.h"
#include "server/dispatch/fence_store.h"

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {

struct DispatcherOptions {
  // Σ of connectors' memory_max above this is refused at Open.
  uint64_t memory_max = uint64_t{4} << 30;
  uint32_t connectors_max = 1024;
  // Rule 8: remembered successes per connector, and their size.
  uint32_t replies_max = 64;
  // A pipeline's fence is forgotten this long after its last connector.
  absl::Duration fence_grace = absl::Hours(24);
  // Rule 13, of connectors whose specification says nothing.
  absl::Duration orphan_timeout = absl::InfiniteDuration();
  uint64_t random_seed = 0;
};

// What an observer may ask in return.
class ConnectorStatuses {
 public:
  virtual ~ConnectorStatuses() = default;
  // Without `errors`. Block: never; for metrics, health and watches.
  virtual std::vector<core::ConnectorStatus> Statuses() const = 0;
  // nullopt: there is no such connector, or no longer.
  virtual std::optional<core::ConnectorStatus> StatusOf(
      const std::string& connector) const = 0;
};

// What a watcher is told; see WatchService for how it travels.
class DispatchObserver {
 public:
  virtual ~DispatchObserver() = default;
  virtual void OnOpened(const std::string& connector) = 0;
  // After StatusOf has stopped to know this instance; its name may be another's
  // already.
  virtual void OnRemoved(const std::string& connector,
                         const std::string& instance) = 0;
  virtual void OnChanged(const std::string& connector) = 0;
  // Each change of state of that life, in order.
  virtual void OnState(const std::string& connector,
                       const std::string& instance, const std::string& pipeline,
                       core::ConnectorState previous,
                       core::ConnectorState state) = 0;
  virtual void OnError(const std::string& connector,
                       const core::ErrorEntry& error) = 0;
  virtual void OnParseErrors(const std::string& connector,
                             const std::vector<core::ParseError>& errors) = 0;
  virtual void OnTransaction(const std::string& connector, bool started,
                             std::optional<std::string> label) = 0;
};

// Fence per pipeline (rule 1), instances (rule 2), ownership, idempotence
// (rule 8), the table of connectors. Every transport (unary RPCs, Session, the
// simulation) calls this and nothing else.
//
// Checks, in this order: fence (STALE_EPOCH, EPOCH_TAKEN), connector
// (NO_SUCH_CONNECTOR), owner (NOT_OWNER), instance (INSTANCE_MISMATCH), then
// the connector's own. A higher epoch is made durable before anything is done
// in its name, and from then on nothing of the old epoch acts. Commands to one
// connector reach their lane in the order in which they were given.
//
// Owner:     the worker process. Threads: thread-safe; fence writes run on
//            `runtime.io`, everything else inline or on a connector's strand.
// Lifecycle: Drain, for an orderly end; Shutdown; destruction. Commands that
//            wait for a takeover may outlive it.
// Bound:     `connectors_max`, `memory_max`.
class Dispatcher : public core::Control, public ConnectorStatuses {
 public:
  // Loads the fence. Errors: STATE_DAMAGED.
  static absl::StatusOr<std::unique_ptr<Dispatcher>> Create(
      DispatcherOptions options, core::ConnectorRuntime runtime,
      std::unique_ptr<FenceStore> fences, DispatchObserver* observer);

  // Takes command of the fence's pipeline, as any command of it would, and says
  // that its controller is there as long as what `begun` gets is held. Once a
  // higher epoch took over, `over` runs, perhaps before `begun` does, unless
  // what `begun` gets was let go before. Neither may block.
  // Errors: as of a command.
  virtual void Lead(core::Fence fence, absl::AnyInvocable<void()> over,
                    Reply<std::shared_ptr<const void>> begun) = 0;
  // Only the checks: `done` says whether a command of that header would come to
  // its connector.
  virtual void Admit(core::CommandHeader header, Done done) = 0;
  // A command that is idempotent by its request id, but one that only asks.
  virtual void Update(core::CommandHeader header, core::UpdateRequest request,
                      Reply<core::UpdateReply> reply) = 0;
  // Rule 13: readers stop, new opens are refused, connectors are given until
  // `deadline` to be queued, released and committed; then `done` with how
  // each connector ended.
  virtual void Drain(
      absl::Duration deadline,
      absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done) = 0;
  // The same for one connector, by its controller: its reader stops; it is left
  // CLOSED, with its place in the worker, until it is deleted. A repeat gets
  // what Disconnect says of it. Once a higher epoch took over nothing is closed
  // any more, and the answer is SUPERSEDED. Errors: as any command's.
  virtual void DrainConnector(core::CommandHeader header,
                              absl::Duration deadline,
                              Reply<core::DrainedConnector> reply) = 0;
  virtual bool draining() const = 0;
  // Drops every connector and what it has not committed. Whoever waits for an
  // answer gets one: that of a connector that is gone, or SHUTTING_DOWN.
  // Idempotent; the destructor does it, too.
  virtual void Shutdown() = 0;
  virtual std::shared_ptr<const core::StepResult> Retained(
      const std::string& connector, core::Step step) const = 0;
  // Of all connectors there are and were.
  virtual const core::Timings& timings() const = 0;
  virtual FailureCounts failures() const = 0;
  virtual uint64_t memory_max() const = 0;
  // Σ memory_max of the connectors open now, in bytes.
  virtual uint64_t memory_committed() const = 0;
  virtual std::shared_ptr<core::Connector> Find(
      const std::string& connector) const = 0;
};

}  // namespace penstock::server
