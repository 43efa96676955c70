// Waiting for the one answer of an asynchronous call.
#pragma once

#include "core/base/notification.h"

#include <absl/status/statusor.h>

#include <optional>
#include <utility>

namespace penstock::client {

// `start` gets the callback. Blocks: until it was called, which every call's
// own deadline bounds.
template <typename T, typename Start>
absl::StatusOr<T> Await(Start start) {
  core::Notification answered;
  std::optional<absl::StatusOr<T>> reply;
  start([&](absl::StatusOr<T> result) {
    reply = std::move(result);
    answered.Notify();
  });
  answered.WaitForNotification();
  return *std::move(reply);
}

// The same where the answer is a status.
template <typename Start>
absl::Status AwaitStatus(Start start) {
  core::Notification answered;
  absl::Status outcome;
  start([&](absl::Status status) {
    outcome = std::move(status);
    answered.Notify();
  });
  answered.WaitForNotification();
  return outcome;
}

}  // namespace penstock::client
