// A controller's hand on one connector, for tests: each command returns with
// its answer.
#pragma once

#include "core/base/notification.h"
#include "core/connector/control.h"
#include "core/connector/requests.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock {

// Lines of the file `source`, read in blocks of 4 KiB, into the directory
// `sink` (empty: nowhere).
// Aborts if it is no valid specification.
core::ConnectorSpec LinesSpec(absl::string_view name, absl::string_view source,
                              absl::string_view sink, uint32_t shards = 2);
// The same nowhere, of a file that grows.
core::ConnectorSpec FollowedLinesSpec(absl::string_view name,
                                      absl::string_view source);
// JSON of the file `source`, nowhere.
core::ConnectorSpec NdjsonSpec(absl::string_view name,
                               absl::string_view source);

// An answer that has yet to come.
// Threads: thread-safe. Blocks: Get, until it came; the call's own deadline
// bounds that.
template <typename T>
class Pending {
 public:
  auto Callback() {
    return [slot = slot_](absl::StatusOr<T> value) {
      slot->value.emplace(std::move(value));
      slot->done.Notify();
    };
  }
  bool came() const { return slot_->done.HasBeenNotified(); }
  absl::StatusOr<T> Get() const {
    slot_->done.WaitForNotification();
    return *slot_->value;
  }

 private:
  struct Slot {
    core::Notification done;
    std::optional<absl::StatusOr<T>> value;
  };
  // Shared by: this and the callback.
  const std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

// Owner:   a test; `control` outlives it. Threads: confined to the test's.
class Caller {
 public:
  Caller(core::Control& control, std::string pipeline, uint64_t epoch,
         std::string nonce = "nonce-of-a-test");

  core::Fence fence;
  core::ConnectorRef ref;
  // What the next Open sends beside the fence; the writer's open number rises
  // by itself.
  core::OpenRequest open;

  absl::StatusOr<core::OpenReply> Open(core::ConnectorSpec spec);
  absl::Status Extend();
  absl::Status Pause();
  absl::Status Release(core::Step released_steps);
  absl::StatusOr<core::QueueReply> Queue(
      core::Step step, core::Step previous_steps,
      absl::Duration wait = absl::Seconds(10));
  absl::StatusOr<core::ReplayReply> Replay(core::StepResult result,
                                           core::Step previous_steps);
  absl::StatusOr<core::PrepareCheckpointReply> Prepare(core::Step steps);
  absl::Status Commit(core::Step steps);
  absl::StatusOr<core::DisconnectReply> Disconnect();
  absl::StatusOr<core::DisconnectReply> Delete();
  absl::StatusOr<core::ConnectorStatus> Get();
  // The state, or CLOSED if there is no such connector.
  core::ConnectorState State();

  Pending<core::ReplayReply> StartReplay(core::StepResult result,
                                         core::Step previous_steps);
  Pending<core::QueueReply> StartQueue(core::QueueRequest request);

  // A header with a request id of its own.
  core::CommandHeader Header();

 private:
  core::Control& control_;
  uint64_t requests_ = 0;
};

}  // namespace penstock
