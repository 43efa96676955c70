// How FakeControl makes steps, and makes them again.
#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "tests/support/fake_control.h"
#include "tests/support/fake_control_life.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

using fake_control::CallOf;
using fake_control::ParsePosition;
using fake_control::PositionAt;

// The result of a step of records [from, from + count).
std::shared_ptr<StepResult> FakeControl::Describe(Life& life, Step step,
                                                  size_t from, size_t count) {
  auto result = std::make_shared<StepResult>();
  result->step = step;
  std::string content = absl::StrCat(life.spec, "\n");
  for (size_t i = from; i < from + count; ++i) {
    const std::string& record = life.outside->records[i];
    absl::StrAppend(&content, record, "\n");
    result->amount += {.records = 1, .bytes = record.size()};
  }
  const uint64_t hash = Checksum64(content);
  const std::string seek = PositionAt(from + count);
  if (life.outside->level == FtModel::kExactlyOnce) {
    result->hash = StepHash{.value = hash, .count = count};
    result->resume = Resume(Resume::Replay{
        .seek = seek,
        .replay = life.outside->replay.empty() ? std::string(kMsgpackNil)
                                               : life.outside->replay,
        .hash = hash});
  } else if (life.outside->level.has_value()) {
    result->resume = Resume(Resume::Seek{.seek = seek});
  }
  return result;
}

void FakeControl::MakeStep(Life& life) {
  const FakeOutside::Connector& outside = *life.outside;
  const QueueRequest request = *life.running;
  const size_t count =
      std::min(outside.records_per_step, outside.records.size() - life.at);
  auto result = Describe(life, request.step, life.at, count);
  result->position_complete =
      outside.positions_complete || request.checkpoint_requested;
  result->end_of_input =
      outside.ends && life.at + count == outside.records.size();
  result->stopped_because =
      result->end_of_input ? StopReason::kEndOfInput : StopReason::kMinMet;
  const auto begin = outside.records.begin() + static_cast<ptrdiff_t>(life.at);
  life.staged[request.step] = {begin, begin + static_cast<ptrdiff_t>(count)};
  life.at += count;
  life.made_steps = request.step + 1;
  life.end_made = result->end_of_input;
  life.retained[request.step] = result;
  Commit(life);
}

// Makes the running Queue's step, if there is something to make it of.
void FakeControl::AnswerQueue(Life& life) {
  if (!life.running.has_value()) return;
  const FakeOutside::Connector& outside = *life.outside;
  const Step step = life.running->step;
  const bool has_data = life.at < outside.records.size();
  if (has_data || (outside.ends && !life.end_made) ||
      life.running->checkpoint_requested) {
    MakeStep(life);
    life.running.reset();
    life.queue_reply(
        QueueReply{.result = life.retained[step], .no_step = std::nullopt});
  } else if (outside.ends) {
    life.running.reset();
    life.queue_reply(QueueReply{
        .result = nullptr,
        .no_step =
            NoStep{.reason = NoStepReason::kEndOfInput, .end_of_input = true}});
  }
}

void FakeControl::DoQueue(const CommandHeader& header,
                          const QueueRequest& request,
                          Reply<QueueReply> reply) {
  absl::StatusOr<Life*> entered = Enter(header);
  if (!entered.ok()) return reply(entered.status());
  Life& life = **entered;
  if (life.state == ConnectorState::kFailed) {
    return reply(MakeError(Reason::CONNECTOR_FAILED, "it failed"));
  }
  if (life.running.has_value()) {
    if (life.running->step != request.step) {
      return reply(MakeError(Reason::QUEUE_RUNNING, "another runs"));
    }
    // Joins: whoever asked before has given up.
    life.queue_reply = std::move(reply);
    return;
  }
  if (request.step < life.made_steps) {
    const auto kept = life.retained.find(request.step);
    if (kept == life.retained.end()) {
      return reply(MakeError(Reason::STEP_RELEASED, "gone, or never was"));
    }
    return reply(QueueReply{.result = kept->second, .no_step = std::nullopt});
  }
  if (request.previous_steps != life.made_steps) {
    return reply(MakeError(Reason::STEP_GAP, "another step was the last"));
  }
  if (life.state != ConnectorState::kRunning &&
      life.state != ConnectorState::kPaused) {
    return reply(MakeError(Reason::ILLEGAL_TRANSITION, "not extended"));
  }
  life.running = request;
  life.queue_reply = std::move(reply);
  if (life.state == ConnectorState::kPaused) {
    return EndQueue(life, NoStepReason::kPaused);
  }
  if (no_steps_ > 0) {
    --no_steps_;
    return EndQueue(life, no_step_);
  }
  AnswerQueue(life);
  if (!life.running.has_value()) return;
  executor_.ScheduleAfter(
      request.wait,
      [this, alive = std::weak_ptr<bool>(alive_), name = life.name,
       instance = life.instance, queue = ++life.queues] {
        if (alive.expired()) return;
        const auto found = lives_.find(name);
        if (found == lives_.end() || found->second->instance != instance ||
            found->second->queues != queue) {
          return;
        }
        AnswerQueue(*found->second);
        EndQueue(*found->second, NoStepReason::kWaitOver);
      });
}

void FakeControl::EndQueue(Life& life, NoStepReason reason) {
  if (!life.running.has_value()) return;
  life.running.reset();
  life.queue_reply(
      QueueReply{.result = nullptr,
                 .no_step = NoStep{.reason = reason, .end_of_input = false}});
}

void FakeControl::Queue(CommandHeader header, QueueRequest request,
                        Reply<QueueReply> reply) {
  Call call = CallOf(ControlVerb::kQueue, header, request.step);
  call.checkpoint_requested = request.checkpoint_requested;
  Carry<QueueReply>(
      std::move(call), std::move(reply),
      [this, header = std::move(header), request](Reply<QueueReply> answer) {
        DoQueue(header, request, std::move(answer));
      });
}

absl::StatusOr<ReplayReply> FakeControl::DoReplay(
    const CommandHeader& header, const ReplayRequest& request) {
  absl::StatusOr<Life*> entered = Enter(header);
  if (!entered.ok()) return entered.status();
  Life& life = **entered;
  const StepResult& journaled = request.result;
  if (life.state == ConnectorState::kFailed) {
    return MakeError(Reason::CONNECTOR_FAILED, "it failed");
  }
  if (journaled.step + 1 == life.made_steps) {
    return ReplayReply{.amount = journaled.amount, .already_held = false};
  }
  if (life.state != ConnectorState::kOpened) {
    return MakeError(Reason::ILLEGAL_TRANSITION, "extended already");
  }
  if (request.previous_steps != life.made_steps) {
    return MakeError(Reason::STEP_GAP, "another step was the last");
  }
  const auto end = ParsePosition(*journaled.resume.seek());
  CHECK(end.has_value() && *end >= life.at);
  const bool already_held = life.outside->progress > journaled.step;
  if (!already_held) {
    if (*end > life.outside->records.size()) {
      return MakeError(Reason::POSITION_EXPIRED, "records are gone");
    }
    auto again = Describe(life, journaled.step, life.at, *end - life.at);
    if (again->hash != journaled.hash) {
      life.state = ConnectorState::kFailed;
      return MakeError(Reason::REPLAY_MISMATCH, "the records are others now");
    }
    const auto& records = life.outside->records;
    life.staged[journaled.step] = {
        records.begin() + static_cast<ptrdiff_t>(life.at),
        records.begin() + static_cast<ptrdiff_t>(*end)};
  }
  life.at = *end;
  life.made_steps = journaled.step + 1;
  absl::Status released = ReleaseSteps(life, life.made_steps);
  if (!released.ok()) return released;
  return ReplayReply{.amount = journaled.amount, .already_held = already_held};
}

void FakeControl::Replay(CommandHeader header, ReplayRequest request,
                         Reply<ReplayReply> reply) {
  Call call = CallOf(ControlVerb::kReplay, header, request.result.step);
  Carry<ReplayReply>(
      std::move(call), std::move(reply),
      [this, header = std::move(header), request = std::move(request)](
          Reply<ReplayReply> answer) { answer(DoReplay(header, request)); });
}

}  // namespace penstock::core
