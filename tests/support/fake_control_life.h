// What FakeControl keeps of one connector, and how its calls travel.
#pragma once

#include "core/base/error.h"
#include "core/record/step.h"
#include "tests/support/fake_control.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace fake_control {

// {"at":N}: N records were read.
std::string PositionAt(size_t record);
std::optional<size_t> ParsePosition(absl::string_view json);
absl::Status Lost();
FakeControl::Call CallOf(ControlVerb verb, const CommandHeader& header,
                         Step step = 0);

}  // namespace fake_control

// One instance of a connector.
struct FakeControl::Life {
  struct Prepare {
    Step steps = 0;
    Reply<PrepareCheckpointReply> reply;
  };
  std::string name;
  std::string pipeline;
  std::string instance;
  std::string open_request_id;
  OpenReply open_reply;
  Writer writer;
  std::string spec;
  ConnectorState state = ConnectorState::kOpened;
  size_t at = 0;
  Step base_steps = 0;
  Step made_steps = 0;
  Step released_steps = 0;
  Step completed_steps = 0;
  Step checkpointed_steps = 0;
  bool end_made = false;
  std::map<Step, std::shared_ptr<const StepResult>> retained;
  // Made and not committed.
  std::map<Step, std::vector<std::string>> staged;
  std::set<std::string> request_ids;
  std::optional<QueueRequest> running;
  Reply<QueueReply> queue_reply;
  uint64_t queues = 0;
  std::vector<std::shared_ptr<Prepare>> prepares;
  FakeOutside::Connector* outside = nullptr;
};

struct FakeControl::Fault {
  std::string connector;
  int count = 0;
  bool carried_out = false;
  absl::Status status;
};

template <typename T>
void FakeControl::Carry(Call call, Reply<T> reply,
                        absl::AnyInvocable<void(Reply<T>)> act) {
  calls_.push_back(call);
  std::weak_ptr<bool> alive = alive_;
  executor_.Schedule([this, alive, generation = generation_,
                      call = std::move(call), reply = std::move(reply),
                      act = std::move(act)]() mutable {
    if (alive.expired()) return;
    Fault fault = TakeFault(call);
    if (generation != generation_) fault = {"", 1, false, fake_control::Lost()};
    Reply<T> answer = [this, alive, generation, fault,
                       reply =
                           std::move(reply)](absl::StatusOr<T> result) mutable {
      if (!fault.status.ok()) result = fault.status;
      if (generation != generation_) result = fake_control::Lost();
      const bool is_slow = HasReason(result.status(), Reason::UNAVAILABLE);
      executor_.ScheduleAfter(
          is_slow ? lost_answer_delay_ : absl::ZeroDuration(),
          [alive, reply = std::move(reply),
           result = std::move(result)]() mutable {
            if (!alive.expired()) reply(std::move(result));
          });
    };
    if (!fault.carried_out) return answer(fault.status);
    act(std::move(answer));
  });
}

}  // namespace penstock::core
