// Waits for what a callback brings.
#pragma once

#include "core/base/notification.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <utility>

namespace penstock::client {

// Holds what one callback was given. The callback may outlive the test's wait,
// so the two share it.
//
//   Awaited<core::QueueReply> reply;
//   control.Queue(header, request, reply.callback());
//   EXPECT_OK(reply.Get());
//
// Blocks: Get, until the callback has run.
template <typename T>
class Awaited {
 public:
  auto callback() {
    return [state = state_](absl::StatusOr<T> value) {
      state->value.emplace(std::move(value));
      state->done.Notify();  // Aborts if it runs twice.
    };
  }
  absl::StatusOr<T>& Get() {
    state_->done.WaitForNotification();
    return *state_->value;
  }
  bool HasRun() const { return state_->done.HasBeenNotified(); }

 private:
  struct State {
    core::Notification done;
    std::optional<absl::StatusOr<T>> value;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class AwaitedStatus {
 public:
  auto callback() {
    return [state = state_](absl::Status status) {
      state->status = std::move(status);
      state->done.Notify();
    };
  }
  const absl::Status& Get() {
    state_->done.WaitForNotification();
    return state_->status;
  }
  bool HasRun() const { return state_->done.HasBeenNotified(); }

 private:
  struct State {
    core::Notification done;
    absl::Status status;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace penstock::client
