// The reference controller: the shortest correct driver of the protocol.
// See client/controller/README.md and `protocol.md`.
#pragma once

#include "client/controller/state_store.h"
#include "client/controller/sweep_place.h"
#include "core/base/executor.h"
#include "core/connector/control.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

struct PipelineConnector {
  std::string name;
  // Serialised specification, opaque to the controller. Of `OpenRequest::spec`
  // the controller fills name and level only: whoever implements core::Control
  // makes the rest of it out of `spec_bytes`, which may be those of the
  // checkpoint rather than these.
  std::string spec_bytes;
  std::optional<core::FtModel> level;
  // Index into the controller's workers.
  size_t worker = 0;
};

// When a changed specification takes effect.
enum class TakesEffect {
  // At the next open: journaled steps come out the same under both.
  kAtOnce,
  // When all that was journaled under the old one was replayed and
  // checkpointed.
  kAtCleanCheckpoint,
};

struct ControllerOptions {
  std::string pipeline;
  std::string controller_id;
  // Distinguishes two controllers that took the same epoch by mistake.
  std::string nonce;
  std::vector<PipelineConnector> connectors;
  // Another incarnation in the store is a clear stop (INVALID_CONFIG).
  std::optional<std::string> incarnation;
  // Zero or infinite: only at the end.
  absl::Duration checkpoint_interval = absl::Seconds(10);
  absl::Duration prepare_deadline = absl::Seconds(10);
  // How long one Queue waits for data.
  absl::Duration queue_wait = absl::Seconds(5);
  // Given to Delete: how long released steps may go on to commit.
  absl::Duration disconnect_deadline = absl::Seconds(5);
  // After Stop or an error the last checkpoints are waited for no longer.
  absl::Duration stop_deadline = absl::Seconds(30);
  // How long the next epoch is tried for, while the store is locked or full.
  absl::Duration lead_deadline = absl::Minutes(1);
  // How often completion and health are looked up for Snapshot, up to eight
  // times as seldom while nothing happens; zero: never.
  absl::Duration status_interval = absl::Seconds(1);
  // Step numbers reserved at once.
  uint64_t step_block = 1024;
  // Results of one connector between arrival and journal.
  size_t unjournaled_max = 64;
  // Design §6: a connector whose journal is this large is STALLED: its next
  // Queue asks for a place to checkpoint, or waits for the checkpoint.
  size_t journal_rows_max = 100'000;
  uint64_t journal_bytes_max = uint64_t{4} << 30;
  // A connector that fails more often than this without one new step in
  // between ends the controller with the last error. A worker that is away or
  // was restarted does not count.
  uint32_t recoveries_max = 20;
  // Goes on with connectors that live when it starts, where what they say
  // agrees with the journal; else, as with all others, deletes, reopens and
  // replays.
  bool adopt_living = true;
  // Where something of the pipeline may stand beside its workers: it is deleted
  // there as soon as somebody answers, and no longer than WorkerSweep asks.
  std::vector<SweepPlace> elsewhere;
  // End (with a last checkpoint and a disconnect) when every connector has
  // reached end of input and everything is checkpointed.
  bool stop_at_end_of_input = false;
  // When the specification of a connector that has been opened may change from
  // the first to the second; an error, which names the fields, if it may not.
  // Null: it may not.
  std::function<absl::StatusOr<TakesEffect>(const std::string&,
                                            const std::string&)>
      check_spec_change;
  uint64_t random_seed = 0;
};

enum class ControllerPhase { kStarting, kRunning, kFinishing, kEnded };

// Records that were left out because they were bad.
struct BadRecords {
  // By the parser, the encoder, the target.
  uint64_t not_parsed = 0;
  uint64_t not_encoded = 0;
  uint64_t refused = 0;
  // Of the last two: kept as dead letters.
  uint64_t dead_letters = 0;

  uint64_t total() const { return not_parsed + not_encoded + refused; }
  BadRecords& operator+=(const BadRecords& other) {
    not_parsed += other.not_parsed;
    not_encoded += other.not_encoded;
    refused += other.refused;
    dead_letters += other.dead_letters;
    return *this;
  }
};

struct ConnectorProgress {
  std::string name;
  std::string state;
  // None of the other counts is above made_steps, and checkpointed_steps is
  // above none. Below exactly-once all but that one go back when the connector
  // is reopened, to the checkpoint.
  core::Step made_steps = 0;
  core::Step journaled_steps = 0;
  core::Step released_steps = 0;
  core::Step completed_steps = 0;
  core::Step checkpointed_steps = 0;
  // Of the results received by this controller.
  core::BufferSize amount;
  // As the worker counted them; those that are read again after a recovery
  // count again, and what a life that died had counted last is missing.
  BadRecords bad_records;
  uint64_t recoveries = 0;
  uint64_t replayed_steps = 0;
  // It was alive when this controller started, and was neither reopened nor
  // replayed then.
  bool adopted = false;
  // Why it was not, in one word (`no_such_connector`, `other_specification`):
  // an error's reason, or what differed. Empty: it was, or that was not tried.
  std::string not_adopted;
  bool end_of_input = false;
  std::string health;
  std::string last_error;
};

struct ControllerSnapshot {
  ControllerPhase phase = ControllerPhase::kStarting;
  std::string incarnation;
  uint64_t epoch = 0;
  std::vector<ConnectorProgress> connectors;
  // At the end: its error is that of connectors that failed, while others did
  // not.
  bool some_failed = false;
};

// Named points at which a test or a fault script may stop the process.
enum class FaultPoint {
  kResultReceived,
  kBeforeJournal,
  // The transaction that journals the step is known to be committed.
  kAfterJournal,
  kBeforeRelease,
  // Release was answered.
  kAfterRelease,
  kBeforePrepare,
  // PrepareCheckpoint answered "ready".
  kAfterPrepare,
  kAfterCheckpointStored,
  // CommitCheckpoint was answered.
  kAfterCommitCheckpoint,
};

// One pipeline's controller: takes the next epoch, opens, replays, extends,
// keeps a Queue outstanding on every connector, journals and releases each
// result, checkpoints. One recovery path for every crash: delete, reopen,
// replay.
//
// Owner:     the `penstock run` command, a test, the simulation.
// Threads:   thread-safe; all work is confined to a strand on `executor`.
// Lifecycle: Start, then `on_end` exactly once; Stop asks for an orderly end.
//            Destruction drops it as a crash would: on the strand's own thread
//            nothing is done after it; elsewhere a task that is running ends
//            by itself and may still call workers and store.
// Bound:     per connector one Queue outstanding, at most unjournaled_max
//            results between arrival and journal, and its journal in memory.
class Controller {
 public:
  // `executor`, `workers` and `store` outlive it and its running task.
  // `on_end`, on the strand: OK after Stop or at the end of input;
  // NOT_COMPLETED after a Stop that left steps without a checkpoint, naming the
  // connectors; STALE_EPOCH when another controller leads; UNAVAILABLE or
  // STORAGE_FULL when the store let no epoch be taken; REPLAY_MISMATCH,
  // POSITION_EXPIRED, PROGRESS_* and other errors a person must decide on. It
  // may destroy the controller.
  static std::shared_ptr<Controller> Create(
      ControllerOptions options, core::Executor& executor, StateStore& store,
      std::vector<core::Control*> workers,
      absl::AnyInvocable<void(absl::Status)> on_end);
  virtual ~Controller() = default;

  virtual void Start() = 0;
  // Checkpoints, disconnects, ends: at the latest a little after stop_deadline,
  // even if not everything could be checkpointed (NOT_COMPLETED); what is
  // journaled is replayed by the next run.
  virtual void Stop() = 0;
  // Ends it at once, as its destruction does: no on_end comes.
  virtual void Drop() = 0;
  // The user's pause: made durable, then Pause or Extend is sent. It outlives
  // the controller. `done`, on the strand and never after `on_end`: OK once it
  // is durable; NO_SUCH_CONNECTOR; CANCELLED when it is not running.
  virtual void SetUserPaused(std::string connector, bool paused,
                             absl::AnyInvocable<void(absl::Status)> done) = 0;
  virtual ControllerSnapshot Snapshot() const = 0;
  // Called, on the strand, at each fault point with the connector's name. Set
  // before Start. It may destroy the controller: nothing is done after that.
  virtual void SetFaultHook(
      absl::AnyInvocable<void(FaultPoint, const std::string&)> hook) = 0;
};

}  // namespace penstock::client
