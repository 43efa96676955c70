// One connector at run time: the door through which all its commands come.
// See core/connector/README.md; upholds INV-1..INV-9, INV-11..INV-13.
#pragma once

#include "core/base/executor.h"
#include "core/connector/drain_scope.h"
#include "core/connector/parse_error_counts.h"
#include "core/connector/registry.h"
#include "core/connector/requests.h"
#include "core/connector/timings.h"
#include "core/contract/count_watch.h"
#include "core/contract/health.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Something an observer may watch (rule 11); emitted in order per connector.
class ConnectorObserver {
 public:
  virtual ~ConnectorObserver() = default;
  // Counters or state changed: `connector.Status()` has news. Coalesced by the
  // receiver. Thread-safe; must not block or call back.
  virtual void OnChanged() = 0;
  // Each change of state of that instance, as it happens: none is left out.
  virtual void OnState(const std::string& instance, ConnectorState previous,
                       ConnectorState state) = 0;
  virtual void OnError(const ErrorEntry& error) = 0;
  virtual void OnParseErrors(const std::vector<ParseError>& errors) = 0;
  virtual void OnTransaction(bool started,
                             std::optional<std::string> label) = 0;
};

// What a connector runs on.
struct ConnectorRuntime {
  // Driver tasks: never block.
  Executor& executor;
  // Blocking work: open, sink writes. May be the same object as `executor` in
  // a simulation.
  Executor& io;
  Environment environment;
  const Registry& registry;
  // Draws instance ids and jitter. Thread-safe use is the caller's concern:
  // copied at construction.
  uint64_t random_seed = 0;
  // Shared by: all connectors. Null: nothing is measured.
  std::shared_ptr<Timings> timings = nullptr;
};

// Owner:     server/dispatch, one per open connector.
// Threads:   thread-safe: every method only hands over to the driver's
//            strand; callbacks run there and must not block.
// Lifecycle: Open once; commands; Disconnect; destruction after its callback
//            (destroying earlier drops everything uncommitted).
// Bound:     `ConnectorLimits::memory_max` plus one buffer (INV-6).
class Connector {
 public:
  template <typename T>
  using Reply = absl::AnyInvocable<void(absl::StatusOr<T>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  static std::shared_ptr<Connector> Create(
      ConnectorRuntime runtime, OpenRequest request,
      std::unique_ptr<ConnectorObserver> observer);
  virtual ~Connector() = default;

  // Checks the spec (limits, levels, names), opens target then source, checks
  // shard progress against base_steps and journaled_steps, builds handoff and
  // shard workers. Errors: INVALID_CONFIG, LEVEL_REFUSED, PROGRESS_*,
  // FOREIGN_PROGRESS, WRITER_FENCED, POSITION_EXPIRED, …; after one the
  // connector is CLOSED and may be destroyed.
  virtual void Open(Reply<OpenReply> reply) = 0;

  // Ordered lane.
  virtual void Replay(ReplayRequest request, Reply<ReplayReply> reply) = 0;
  virtual void Extend(Done done) = 0;
  virtual void Pause(Done done) = 0;
  virtual void Queue(QueueRequest request, Reply<QueueReply> reply) = 0;

  // Immediate lane: served between any two buffers and while blocked.
  virtual void Release(Step released_steps, Done done) = 0;
  virtual void PrepareCheckpoint(PrepareCheckpointRequest request,
                                 Reply<PrepareCheckpointReply> reply) = 0;
  virtual void CommitCheckpoint(CommitCheckpointRequest request, Done done) = 0;
  virtual void Disconnect(DisconnectRequest request,
                          Reply<DisconnectReply> reply) = 0;
  // An Open that was not answered yet is answered CANCELLED; what it has got
  // hold of, or still gets, is closed again. Of one that was answered nothing
  // is given up.
  virtual void GiveUpOpen() = 0;
  // A higher epoch took over: a Queue that has begun no step answers
  // SUPERSEDED at once, and a drain of this connector is over; nothing else
  // changes.
  virtual void Supersede() = 0;
  // Readers stop; what is staged can still be queued (rule 13). Extend is
  // refused: SHUTTING_DOWN where the worker drains, ILLEGAL_TRANSITION where
  // only this connector does. A drain of the worker stays one.
  virtual void Drain(DrainScope scope, Done done) = 0;

  // Nothing was heard of a controller since then (wall-clock time): if it runs
  // it pauses, until the next command, with which it goes on as if nothing had
  // been (rule 13). `still` is asked, on any thread, when its turn comes: one
  // may have been heard meanwhile.
  virtual void Orphan(absl::Time unheard_since,
                      std::function<bool()> still) = 0;
  // After how long that is to be; nullopt: the specification does not say.
  virtual std::optional<absl::Duration> orphan_timeout() const = 0;
  // Takes over another specification as far as `request.check` allows. The
  // attempt is shown beside what runs. Errors: those of `check`,
  // INVALID_CONFIG (limits that do not fit together), ILLEGAL_TRANSITION (it is
  // FAILED or CLOSED).
  virtual void Update(UpdateRequest request, Reply<UpdateReply> reply) = 0;

  // The retained result of a step, for reading by parts (rule 9).
  virtual std::shared_ptr<const StepResult> Retained(Step step) const = 0;
  // A snapshot, without `errors`. Blocks: never longer than one short lock.
  virtual ConnectorStatus Status() const = 0;
  // The newest `count` that are kept, oldest first.
  virtual std::vector<ErrorEntry> Errors(size_t count) const = 0;
  virtual const std::string& instance() const = 0;
  // Whose it is.
  virtual const std::string& pipeline() const = 0;
  // Shared with watchers.
  virtual std::shared_ptr<CountWatch> completed() const = 0;
  virtual std::shared_ptr<CountWatch> checkpointed() const = 0;
  // The bad records of this instance.
  virtual ParseErrorCounts ParseErrors() const = 0;
  // What the source measures of itself; null if it measures nothing. Shared
  // by: the source and whoever scrapes.
  virtual std::shared_ptr<const ConnectorMetrics> CustomMetrics() const {
    return nullptr;
  }
};

}  // namespace penstock::core
