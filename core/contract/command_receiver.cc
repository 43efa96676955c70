#include "core/contract/command_receiver.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <utility>

namespace penstock::core {

bool InputCommandReceiver::Send(InputReaderCommand command) {
  {
    MutexLock lock(mu_);
    if (closed_ || commands_.size() >= kCommandsMax) return false;
    commands_.push_back(std::move(command));
  }
  changed_.NotifyOne();
  return true;
}

void InputCommandReceiver::Close() {
  {
    MutexLock lock(mu_);
    closed_ = true;
  }
  changed_.NotifyAll();
}

absl::StatusOr<InputReaderCommand> InputCommandReceiver::Receive() {
  MutexLock lock(mu_);
  changed_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return put_back_.has_value() || !commands_.empty() || closed_;
  });
  std::optional<InputReaderCommand> command = Take();
  if (!command.has_value()) return Closed();
  return *std::move(command);
}

absl::StatusOr<std::optional<InputReaderCommand>>
InputCommandReceiver::TryReceive() {
  MutexLock lock(mu_);
  std::optional<InputReaderCommand> command = Take();
  if (!command.has_value() && closed_) return Closed();
  return command;
}

absl::StatusOr<std::optional<InputReaderCommand>>
InputCommandReceiver::ReceiveReplay() {
  absl::StatusOr<InputReaderCommand> command = Receive();
  if (!command.ok()) return command.status();
  if (std::holds_alternative<ReplayCommand>(*command) ||
      std::holds_alternative<SkipCommand>(*command)) {
    return std::optional<InputReaderCommand>(*std::move(command));
  }
  PutBack(*std::move(command));
  return std::optional<InputReaderCommand>();
}

void InputCommandReceiver::PutBack(InputReaderCommand command) {
  {
    MutexLock lock(mu_);
    CHECK(!put_back_.has_value()) << "one command is put back already";
    put_back_ = std::move(command);
  }
  changed_.NotifyOne();
}

std::optional<InputReaderCommand> InputCommandReceiver::Take() {
  if (put_back_.has_value()) return std::exchange(put_back_, std::nullopt);
  if (commands_.empty()) return std::nullopt;
  std::optional<InputReaderCommand> command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

absl::Status InputCommandReceiver::Closed() {
  return MakeError(Reason::CANCELLED, "receiving a command: sender is gone");
}

}  // namespace penstock::core
