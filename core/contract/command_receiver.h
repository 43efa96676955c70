// Receives reader commands in the order that a fault-tolerant reader wants.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/command.h"

#include <absl/status/statusor.h>

#include <cstddef>
#include <deque>
#include <optional>

namespace penstock::core {

// Seed types: `InputCommandReceiver` and its error: a bounded channel with a
// one-command put-back, so that a reader thread can take Replays first and
// leave the first other command for its main loop. Decoding metadata and data
// is the source's: `InputCommandReceiverError`'s decode errors are the Status
// of its own decoder (ParseResumeInfo).
//
// Owner:     a reader; its driver-side Request sends, its thread receives.
// Threads:   thread-safe.
// Bound:     `kCommandsMax`; the driver has at most a few outstanding.
class InputCommandReceiver {
 public:
  static constexpr size_t kCommandsMax = 64;

  // Offers a command. False: the channel is closed or full.
  [[nodiscard]] bool Send(InputReaderCommand command);
  // Seed: dropping the sender. What was sent can still be received.
  void Close();

  // Seed: `blocking_recv`. Blocks until a command or Close.
  // Errors: CANCELLED when closed and empty (the seed's `Disconnected`).
  absl::StatusOr<InputReaderCommand> Receive();
  // Seed: `try_recv`. nullopt: nothing now.
  absl::StatusOr<std::optional<InputReaderCommand>> TryReceive();
  // Seed: `blocking_recv_replay`, `recv_replay`: the next command if it is a
  // Replay (or our Skip); otherwise it is put back and nullopt returned.
  absl::StatusOr<std::optional<InputReaderCommand>> ReceiveReplay();
  // Seed: `put_back`. Requires: nothing is put back already.
  void PutBack(InputReaderCommand command);

 private:
  // What is put back, else the oldest command, else nothing.
  std::optional<InputReaderCommand> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static absl::Status Closed();

  Mutex mu_;
  CondVar changed_;
  std::deque<InputReaderCommand> commands_ ABSL_GUARDED_BY(mu_);
  std::optional<InputReaderCommand> put_back_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::core
