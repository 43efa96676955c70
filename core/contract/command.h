// Commands that a driver gives an InputReader.
#pragma once

#include "core/record/step.h"

#include <optional>
#include <string>
#include <variant>

namespace penstock::core {

// Seed: `InputReaderCommand::Replay`. Re-produce exactly the step described by
// `metadata` (seek JSON, byte for byte as `Extended` reported it) and `data`
// (MessagePack, nil if the source re-reads), then report `Replayed`.
struct ReplayCommand {
  std::string metadata = {};
  std::string data = {};
};

// Ours: move to the end of the step described by `metadata` without reading
// it, then report `Skipped`. Where Replay is legal.
struct SkipCommand {
  std::string metadata;
};

// Seed: `InputReaderCommand::Extend`: start, or go on, reading.
struct ExtendCommand {};
// Seed: `InputReaderCommand::Pause`: stop reading; what is staged stays.
struct PauseCommand {};

// Seed: `InputReaderCommand::Queue`. Flush staged buffers through the consumer
// and report `Extended` exactly once, also when there are none.
struct QueueCommand {
  // A hint: end at a position that a checkpoint can use, if possible.
  bool checkpoint_requested = false;
  // Ours: the step's number, for sources that acknowledge upstream later.
  Step step = 0;
};

// Seed: `InputReaderCommand::Disconnect`: clean up; nothing follows.
struct DisconnectCommand {};

// Seed type: `InputReaderCommand`.
using InputReaderCommand =
    std::variant<ReplayCommand, SkipCommand, ExtendCommand, PauseCommand,
                 QueueCommand, DisconnectCommand>;

// Seed type: `PipelineState`.
enum class PipelineState { kPaused, kRunning, kTerminated };

// Seed type: `NonFtInputReaderCommand`: what is left of the commands for a
// reader without fault tolerance: Queue, or a transition.
struct NonFtQueue {};
struct NonFtTransition {
  PipelineState state = PipelineState::kPaused;
};
using NonFtInputReaderCommand = std::variant<NonFtQueue, NonFtTransition>;

// Seed: `InputReaderCommand::as_nonft`. nullopt for Replay and Skip.
std::optional<NonFtInputReaderCommand> AsNonFt(
    const InputReaderCommand& command);

}  // namespace penstock::core
