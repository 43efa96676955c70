// Replies whose long parts are still to be read. Internal to client/.
#pragma once

#include "client/internal/calls.h"
#include "core/connector/control.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/step.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>

namespace penstock::client::internal {

// Decodes the answers to Open and Queue, reads with ReadStepPart what they name
// by length and hash, and hands the whole to the caller where callbacks run.
//
// Owner:   a control, which waits for the group. Threads: thread-safe.
class ReplyParts {
 public:
  template <typename T>
  using Reply = core::Control::Reply<T>;

  // How long a part may take, beside what its length takes.
  struct Deadlines {
    absl::Duration prompt;
    absl::Duration open;
    uint64_t slowest_bytes_per_second = 1;
  };

  ReplyParts(std::shared_ptr<CallGroup> group,
             v1::ControlService::Stub& control, const Deadlines& deadlines)
      : group_(std::move(group)), control_(control), deadlines_(deadlines) {}

  void FinishQueue(const core::ConnectorRef& ref,
                   absl::StatusOr<v1::QueueResponse> response,
                   Reply<core::QueueReply> reply);
  void FinishOpen(const std::string& connector,
                  absl::StatusOr<v1::OpenConnectorResponse> response,
                  Reply<core::OpenReply> reply);

  // Hands `value` to `reply` where callbacks run.
  template <typename T>
  void Deliver(Reply<T> reply, absl::StatusOr<T> value) {
    group_->Deliver(
        [reply = std::move(reply), value = std::move(value)]() mutable {
          reply(std::move(value));
        });
  }
  // What `bytes` in fragments may take. More than the longest whole is refused
  // where it arrives, however long it claims to be.
  absl::Duration TransferTime(uint64_t bytes) const;

 private:
  // Reads what the step lacks, then replies.
  void CompleteStep(const core::ConnectorRef& ref, wire::DecodedStep step,
                    Reply<core::QueueReply> reply);

  const std::shared_ptr<CallGroup> group_;
  v1::ControlService::Stub& control_;
  const Deadlines deadlines_;
};

// The replay data of a journaled step that travels in fragments.
std::string ReplayDataOf(const core::StepResult& result);

}  // namespace penstock::client::internal
