// How the `penstock` command ends. Documented in --help and the README.
#pragma once

#include <absl/status/status.h>

namespace penstock::client {

enum class CliExit {
  kOk = 0,
  // Something that no other code says.
  kFailed = 1,
  // Wrong options or a wrong pipeline file.
  kUsage = 2,
  // The controller's store or a sink's state is damaged.
  kStateDamaged = 3,
  // A worker or the store cannot be reached, a worker cannot be started, or the
  // store stays locked.
  kUnreachable = 4,
  // Another controller took over the pipeline.
  kSuperseded = 5,
  // Source or target contradict what is stored: a person must decide.
  kNeedsDecision = 6,
  // `verify` found records lost, doubled or out of order.
  kVerifyFailed = 7,
  // Stopped, but steps were made that could not be checkpointed in time: the
  // next run goes on from the last checkpoint.
  kNotCheckpointed = 8,
  // Some connectors failed, as the message says; the others did their work, and
  // it is checkpointed as far as it can be.
  kSomeFailed = 9,
  kInterrupted = 130,
};

CliExit CliExitOf(const absl::Status& status);

}  // namespace penstock::client
