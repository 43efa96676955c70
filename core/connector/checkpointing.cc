#include "core/connector/checkpointing.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

Checkpointer::Checkpointer(DriverState& state)
    : state_(state),
      answers_(std::make_shared<Mailbox<LiftAnswer>>(state.waker)) {}

void Checkpointer::Prepare(PrepareCall call) {
  const Step steps = call.request.steps;
  if (state_.state == ConnectorState::kClosed) {
    PrepareCheckpointReply reply;
    reply.blockers.push_back({.kind = Blocker::Kind::kUnfinishedStep,
                              .step = state_.completed->value(),
                              .shard = std::nullopt,
                              .since = state_.clock.Now(),
                              .text = "the connector is closed"});
    return state_.Answer(std::move(call.reply), std::move(reply));
  }
  for (Pending& pending : pending_) {
    if (pending.steps != steps) continue;
    return state_.Join(pending.replies, std::move(call.reply));
  }
  if (pending_.size() >= kPendingMax) {
    return state_.Answer(
        std::move(call.reply),
        WithRetryDelay(
            MakeError(Reason::BUDGET_EXCEEDED,
                      absl::StrCat("preparing a checkpoint at ", steps, ": ",
                                   pending_.size(), " others are under way")),
            kRoomRetryDelay));
  }
  // In exactly-once every step was sealed at its end.
  if (state_.outlet != nullptr && state_.outlet->handoff() != nullptr &&
      !state_.is_exactly_once()) {
    (void)state_.outlet->handoff()->FlushTerminal();
  }
  Pending pending;
  pending.steps = steps;
  pending.deadline = state_.clock.SteadyNow() +
                     std::max(call.request.deadline, absl::ZeroDuration());
  pending.replies.push_back(std::move(call.reply));
  pending_.push_back(std::move(pending));
}

absl::Status Checkpointer::Commit(Step steps) {
  const Step completed = state_.completed->value();
  if (steps > completed) {
    return MakeError(
        Reason::NOT_COMPLETED,
        absl::StrCat("committing a checkpoint at ", steps,
                     ": only the steps below ", completed, " are completed"),
        {{"steps", absl::StrCat(steps)},
         {"completed_steps", absl::StrCat(completed)}});
  }
  const Step current = state_.checkpointed->value();
  if (steps < current) return absl::OkStatus();
  if (steps == current) {
    // The source may have lost what it acknowledged upstream.
    state_.checkpointed->Repeat();
    return absl::OkStatus();
  }
  state_.barriers.Forget(steps);
  state_.transactions.Forget(steps);
  state_.checkpointed->Advance(steps);
  state_.changed = true;
  return absl::OkStatus();
}

void Checkpointer::HearLifts() {
  for (LiftAnswer& answer : answers_->TakeAll()) {
    Lift* const lift = FindLift(answer.id);
    if (lift == nullptr || lift->answered[answer.shard]) continue;
    lift->answered[answer.shard] = true;
    --lift->shards_left;
    lift->status.Update(answer.status);
  }
}

Work Checkpointer::Advance() {
  HearLifts();
  bool replied = false;
  // A reply may not add to the list: commands come through the lanes.
  for (size_t i = 0; i < pending_.size();) {
    if (AdvanceOne(pending_[i])) {
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      replied = true;
    } else {
      ++i;
    }
  }
  // A lift is done when all who waited for it have seen it.
  std::erase_if(lifts_, [](const Lift& lift) { return lift.shards_left == 0; });
  return replied ? Work::kAgain : Work::kIdle;
}

bool Checkpointer::AdvanceOne(Pending& pending) {
  if (std::vector<Blocker> permanent = Permanent(pending.steps);
      !permanent.empty()) {
    Reply(pending, false, std::move(permanent));
    return true;
  }
  const bool is_done = state_.completed->value() >= pending.steps &&
                       (!state_.is_exactly_once() ||
                        state_.ledger.released_steps() >= pending.steps);
  if (pending.lift == 0 && is_done && state_.outlet != nullptr) {
    pending.lift = LiftFor(pending.steps);
  }
  if (const Lift* lift = FindLift(pending.lift);
      lift != nullptr && lift->shards_left == 0) {
    const bool ready = lift->status.ok();
    Reply(pending, ready, ready ? std::vector<Blocker>() : BlockersOf(pending));
    return true;
  }
  if (state_.clock.SteadyNow() < pending.deadline) return false;
  Reply(pending, false, BlockersOf(pending));
  return true;
}

uint64_t Checkpointer::LiftFor(Step steps) {
  for (const Lift& lift : lifts_) {
    if (lift.shards_left > 0 && lift.steps >= steps) return lift.id;
  }
  if (lifts_.size() >= kLiftsMax) return 0;
  Lift lift;
  lift.id = next_lift_++;
  lift.steps = steps;
  lift.since = state_.clock.SteadyNow();
  lift.shards_left = state_.outlet->shards();
  lift.answered.resize(lift.shards_left);
  const uint64_t id = lift.id;
  lifts_.push_back(std::move(lift));
  state_.outlet->Lift(
      steps, [answers = answers_, id](ShardIndex shard, absl::Status status) {
        answers->Put({.id = id, .shard = shard, .status = std::move(status)});
      });
  return id;
}

Checkpointer::Lift* Checkpointer::FindLift(uint64_t id) {
  for (Lift& lift : lifts_) {
    if (lift.id == id) return &lift;
  }
  return nullptr;
}

const Checkpointer::Lift* Checkpointer::FindLift(uint64_t id) const {
  for (const Lift& lift : lifts_) {
    if (lift.id == id) return &lift;
  }
  return nullptr;
}

std::vector<Blocker> Checkpointer::Permanent(Step steps) const {
  std::vector<Blocker> blockers;
  if (const auto span = state_.barriers.Find(steps)) {
    blockers.push_back(
        {.kind = Blocker::Kind::kBarrier,
         .step = span->begin,
         .shard = std::nullopt,
         .since = span->since,
         .text = absl::StrCat("the source cannot be restarted behind step ",
                              span->begin)});
  }
  if (const auto span = state_.transactions.Find(steps)) {
    blockers.push_back(
        {.kind = Blocker::Kind::kOpenTransaction,
         .step = span->begin,
         .shard = std::nullopt,
         .since = span->since,
         .text = absl::StrCat("the transaction that step ", span->begin,
                              " started is open there")});
  }
  return blockers;
}

std::vector<Blocker> Checkpointer::BlockersOf(const Pending& pending) const {
  std::vector<Blocker> blockers = Permanent(pending.steps);
  if (const Lift* lift = FindLift(pending.lift)) {
    for (ShardIndex shard = 0; shard < lift->answered.size(); ++shard) {
      if (lift->answered[shard] && lift->status.ok()) continue;
      if (lift->answered[shard] && lift->shards_left > 0) continue;
      blockers.push_back(
          {.kind = Blocker::Kind::kUnflushedShard,
           .step = pending.steps,
           .shard = shard,
           .since = WallOf(lift->since),
           .text = absl::StrCat(
               "the progress of shard ", shard, " is not lifted",
               lift->status.ok() ? "" : ": " + ErrorText(lift->status))});
    }
    return blockers;
  }
  AddUnfinished(pending.steps, blockers);
  return blockers;
}

void Checkpointer::AddUnfinished(Step steps,
                                 std::vector<Blocker>& blockers) const {
  const absl::Time now = state_.clock.Now();
  if (state_.state == ConnectorState::kReplaying) {
    blockers.push_back({.kind = Blocker::Kind::kReplay,
                        .step = state_.ledger.made_steps(),
                        .shard = std::nullopt,
                        .since = now,
                        .text = "a step is being replayed"});
  }
  const std::optional<AckTracker::Stall> oldest =
      state_.outlet != nullptr ? state_.outlet->tracker().oldest()
                               : std::nullopt;
  const absl::Time since = oldest.has_value() ? WallOf(oldest->since) : now;
  const Step released = state_.ledger.released_steps();
  if (state_.is_exactly_once() && released < steps) {
    blockers.push_back({.kind = Blocker::Kind::kUnreleasedStep,
                        .step = released,
                        .shard = std::nullopt,
                        .since = since,
                        .text = absl::StrCat("only the steps below ", released,
                                             " are released")});
  }
  const Step completed = state_.completed->value();
  if (completed >= steps) return;
  blockers.push_back({.kind = Blocker::Kind::kUnfinishedStep,
                      .step = completed,
                      .shard = std::nullopt,
                      .since = since,
                      .text = absl::StrCat("only the steps below ", completed,
                                           " are completed")});
  if (state_.outlet == nullptr) return;
  const ShardWorkers& workers = *state_.outlet->workers();
  for (ShardIndex shard = 0; shard < workers.size(); ++shard) {
    const uint64_t held = workers[shard]->Snapshot().held_steps;
    const Handoff* const handoff = state_.outlet->handoff();
    const size_t parked = handoff == nullptr ? 0 : handoff->parked(shard);
    if (held == 0 && parked == 0) continue;
    blockers.push_back(
        {.kind = Blocker::Kind::kUnflushedShard,
         .step = completed,
         .shard = shard,
         .since = since,
         .text = absl::StrCat("shard ", shard, " holds ", held, " steps and ",
                              parked, " parked chunks")});
  }
}

absl::Time Checkpointer::WallOf(absl::Time steady) const {
  return state_.clock.Now() - (state_.clock.SteadyNow() - steady);
}

void Checkpointer::Reply(Pending& pending, bool ready,
                         std::vector<Blocker> blockers) {
  PrepareCheckpointReply reply;
  reply.ready = ready;
  reply.blockers = std::move(blockers);
  state_.changed = true;
  for (auto& to : std::exchange(pending.replies, {}))
    state_.Answer(std::move(to), reply);
}

absl::Time Checkpointer::WakeAt() const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const Pending& pending : pending_) {
    earliest = std::min(earliest, pending.deadline);
  }
  return earliest;
}

std::vector<Blocker> Checkpointer::PendingBlockers() const {
  if (pending_.empty()) return {};
  return BlockersOf(pending_.back());
}

void Checkpointer::Close() {
  for (Pending& pending : pending_) {
    Reply(pending, false, BlockersOf(pending));
  }
  pending_.clear();
  lifts_.clear();
}

}  // namespace penstock::core
