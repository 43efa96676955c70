// The reference controller: the shortest correct driver of the protocol.
// See client/controller/README.md and `protocol.md`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include "client/controller/state_store.h"
#include "core/base/executor.h"
#include "core/connector/control.h"

namespace penstock::client {

struct PipelineConnector {
  std::string name;
  // Serialised specification, opaque to the controller.
  std::string spec_bytes;
  std::optional<core::FtModel> level;
  // Index into ControllerOptions::workers.
  size_t worker = 0;
};

struct ControllerOptions {
  std::string pipeline;
  std::string controller_id;
  // Distinguishes two controllers that took the same epoch by mistake.
  std::string nonce;
  std::vector<PipelineConnector> connectors;
  absl::Duration checkpoint_interval = absl::Seconds(10);
  absl::Duration prepare_deadline = absl::Seconds(10);
  // How long one Queue waits for data.
  absl::Duration queue_wait = absl::Seconds(5);
  // Step numbers reserved at once.
  uint64_t step_block = 1024;
  // End (with a last checkpoint and a disconnect) when every connector has
  // reached end of input and everything is checkpointed.
  bool stop_at_end_of_input = false;
  uint64_t random_seed = 0;
};

enum class ControllerPhase { kStarting, kRunning, kFinishing, kEnded };

struct ConnectorProgress {
  std::string name;
  std::string state;
  core::Step made_steps = 0;
  core::Step journaled_steps = 0;
  core::Step released_steps = 0;
  core::Step completed_steps = 0;
  core::Step checkpointed_steps = 0;
  core::BufferSize amount;
  uint64_t recoveries = 0;
  uint64_t replayed_steps = 0;
  bool end_of_input = false;
  std::string health;
  std::string last_error;
};

struct ControllerSnapshot {
  ControllerPhase phase = ControllerPhase::kStarting;
  std::string incarnation;
  uint64_t epoch = 0;
  std::vector<ConnectorProgress> connectors;
};

// Named points at which a test or a fault script may stop the process.
enum class FaultPoint {
  kResultReceived,
  kBeforeJournal,
  kAfterJournal,
  kBeforeRelease,
  kAfterRelease,
  kBeforePrepare,
  kAfterPrepare,
  kAfterCheckpointStored,
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
//            Destruction drops it as a crash would.
// Bound:     per connector one Queue outstanding and at most
//            steps_outstanding_max results between arrival and journal.
class Controller {
 public:
  // `workers` and `store` outlive it. `on_end`: OK after Stop or at the end
  // of input; STALE_EPOCH when another controller leads; REPLAY_MISMATCH,
  // POSITION_EXPIRED, PROGRESS_* and other errors a person must decide on.
  static std::shared_ptr<Controller> Create(
      ControllerOptions options, core::Executor& executor, StateStore& store,
      std::vector<core::Control*> workers,
      absl::AnyInvocable<void(absl::Status)> on_end);
  virtual ~Controller() = default;

  virtual void Start() = 0;
  // Checkpoints, disconnects, ends.
  virtual void Stop() = 0;
  virtual ControllerSnapshot Snapshot() const = 0;
  // Called at each fault point with the connector's name. Set before Start.
  virtual void SetFaultHook(
      absl::AnyInvocable<void(FaultPoint, const std::string&)> hook) = 0;
};

}  // namespace penstock::client
