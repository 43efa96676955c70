// A controller whose every step a person takes: one connector, one command.
#pragma once

#include "client/controller/connector_journal.h"
#include "client/controller/controller.h"
#include "client/controller/state_store.h"
#include "core/connector/control.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

// Works on the state that the reference controller works on, by the same rules:
// what a person began, `penstock run` goes on with, and the other way round.
// Each Hand takes the next epoch, so it ends a controller that runs meanwhile,
// which then changes nothing more. The connector itself lives on from command
// to command.
//
// Owner:     a command; outlived by store and control.
// Threads:   confined to one thread. Blocks: until worker and store answer.
// Lifecycle: Take, then commands.
// Errors:    those of StateStore and Control; INVALID_CONFIG for a connector
//            that the options do not have.
class Hand {
 public:
  // `options`: as for a Controller; of its connectors, this is about the one of
  // that name. Takes the next epoch and changes nothing else.
  static absl::StatusOr<Hand> Take(core::Control& control, StateStore& store,
                                   const ControllerOptions& options,
                                   const std::string& connector);

  struct Opened {
    core::OpenReply reply;
    // Journaled above the checkpoint: to be replayed before anything else.
    size_t steps_to_replay = 0;
  };
  // At the checkpoint. `reopen`: whatever life of the connector there is, is
  // deleted first; otherwise a living one is ALREADY_EXISTS. An edited
  // specification takes effect here, by the rules of the controller, and
  // nowhere else: a life goes on with the one that it was opened with.
  absl::StatusOr<Opened> Open(bool reopen);

  // The configured specification is another than the stored one.
  bool is_edited() const { return stored_.spec_bytes != configured_; }

  // The others need an open that was stored: what a target holds must be known
  // before a step is journaled.

  // Makes the next journaled step again. nullopt: all of them were.
  struct Replayed {
    core::Step step = 0;
    core::ReplayReply reply;
  };
  absl::StatusOr<std::optional<Replayed>> ReplayNext();

  // What a person paused, a controller does not extend.
  absl::Status Extend();
  absl::Status Pause();

  // Makes a step and journals it; its number and `previous_steps` are filled
  // in.
  absl::StatusOr<core::QueueReply> Queue(core::QueueRequest request);

  // Of all that is journaled. Returns the count.
  absl::StatusOr<core::Step> Release();

  struct Checkpointed {
    core::Step steps = 0;
    core::PrepareCheckpointReply reply;
  };
  // At the last step that is no barrier. If it is not ready within `deadline`
  // nothing is stored, and the reply has the blockers.
  absl::StatusOr<Checkpointed> Checkpoint(absl::Duration deadline);

  // And deletes it: nothing of it is left on the worker.
  absl::StatusOr<core::DisconnectReply> Disconnect(absl::Duration deadline);

 private:
  Hand(core::Control& control, StateStore& store, ControllerOptions options,
       const PipelineConnector& configured, StoredPipeline stored);

  core::CommandHeader Header() const;
  // With a request id.
  core::CommandHeader NewHeader();
  absl::Status Commit(StoreTransaction transaction);
  // No life of the connector is left; takes the configured specification.
  absl::Status MakeRoom(bool reopen);
  // Looks at the living connector; what it made and nobody journaled, because
  // a command died, is journaled now.
  absl::Status Look();
  absl::StatusOr<core::QueueReply> Ask(const core::QueueRequest& request);
  absl::Status Journal(std::shared_ptr<const core::StepResult> result);
  absl::Status SetPaused(bool paused);
  bool IsExactlyOnce() const;
  // Those of the journal.
  std::vector<core::StepResult> Rows() const;

  core::Control& control_;
  StateStore& store_;
  const ControllerOptions options_;
  core::Fence fence_;
  std::string incarnation_;
  const std::string name_;
  const std::optional<core::FtModel> level_asked_;
  const std::string configured_;
  StoredConnector stored_;
  ConnectorJournal journal_;
  // As of the last Look.
  core::ConnectorStatus status_;
  uint64_t requests_ = 0;
};

}  // namespace penstock::client
