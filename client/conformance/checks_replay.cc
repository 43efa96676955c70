#include "client/conformance/checks.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <utility>
#include <vector>

namespace penstock::conformance {
namespace {

using core::Reason;

// Three steps, `released` of them released, then a crash of the controller:
// deleted and opened again, nothing replayed yet.
absl::Status RunAndReopen(Hand& hand, uint64_t released) {
  RETURN_IF_ERROR(hand.Run(3));
  if (released > 0) {
    RETURN_IF_ERROR(hand.Release(released).status());
    ASSIGN_OR_RETURN(const auto ready, hand.Prepare(released));
    RETURN_IF_ERROR(Expect(ready.ready(), "released steps do not complete"));
  }
  return hand.Reopen();
}

absl::Status ReplayAll(Hand& hand) {
  for (const v1::StepResult& result : hand.journal) {
    RETURN_IF_ERROR(hand.Replay(result).status())
    << "replaying step " << result.step();
    hand.steps = result.step() + 1;
  }
  return absl::OkStatus();
}

absl::Status ReplayMakesTheSame(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(RunAndReopen(hand, 0));
  for (const v1::StepResult& result : hand.journal) {
    ASSIGN_OR_RETURN(const v1::ReplayResponse replayed, hand.Replay(result));
    RETURN_IF_ERROR(Expect(!replayed.already_held(),
                           "a target holds what was never released"));
    RETURN_IF_ERROR(Expect(replayed.amount().SerializeAsString() ==
                               result.amount().SerializeAsString(),
                           "a replay has another amount"));
    hand.steps = result.step() + 1;
    ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
    RETURN_IF_ERROR(Expect(now.steps().released_steps() == hand.steps,
                           "a verified replay is not released"));
  }
  RETURN_IF_ERROR(hand.Extend().status());
  const size_t before = hand.journal.size();
  RETURN_IF_ERROR(hand.Queue().status())
  << "going on behind the replay";
  return Expect(hand.journal.size() == before + 1, "no step behind the replay");
}

absl::Status HeldStepsAreNotRead(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(RunAndReopen(hand, 2));
  std::vector<bool> held;
  for (const v1::StepResult& result : hand.journal) {
    ASSIGN_OR_RETURN(const v1::ReplayResponse replayed, hand.Replay(result));
    held.push_back(replayed.already_held());
    hand.steps = result.step() + 1;
  }
  return Expect(held == std::vector<bool>{true, true, false},
                "already_held does not say what the target holds");
}

absl::Status ReplayIsIdempotent(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(RunAndReopen(hand, 0));
  const v1::StepResult first = hand.journal[0];
  ASSIGN_OR_RETURN(const v1::ReplayResponse once, hand.Replay(first));
  ASSIGN_OR_RETURN(const v1::ReplayResponse again, hand.Replay(first));
  return Expect(once.SerializeAsString() == again.SerializeAsString(),
                "a Replay that was sent twice has two answers");
}

absl::Status NoneIsLeftOut(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(RunAndReopen(hand, 0));
  // The second step, as if the first did not exist.
  const absl::Status refused = hand.Replay(hand.journal[1]).status();
  RETURN_IF_ERROR(Expect(
      core::HasReason(refused, Reason::POSITION_MISMATCH),
      absl::StrCat("a step left out of the replay: ", refused.ToString())));
  return absl::OkStatus();
}

absl::Status ADifferenceIsFatal(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(RunAndReopen(hand, 0));
  v1::StepResult lie = hand.journal[0];
  v1::StepHash& hash = *lie.mutable_resume()->mutable_replay()->mutable_hash();
  hash.set_value(hash.value() ^ 1);
  RETURN_IF_ERROR(ExpectRefused(hand.Replay(lie).status(),
                                Reason::REPLAY_MISMATCH,
                                "a replay with another hash"));
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  RETURN_IF_ERROR(Expect(now.health().state() == v1::CONNECTOR_STATE_FAILED &&
                             now.health().condition() == v1::CONDITION_FATAL,
                         "a connector that differs is not FAILED"));
  RETURN_IF_ERROR(Expect(now.steps().released_steps() == hand.base_steps,
                         "a step that differs was released"));
  // The truth is good in the next life.
  RETURN_IF_ERROR(hand.Reopen());
  return ReplayAll(hand);
}

absl::Status PositionIsVerified(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  RETURN_IF_ERROR(hand.Checkpoint());
  hand.TakeNextEpoch();
  RETURN_IF_ERROR(hand.Delete());
  v1::OpenConnectorStart start = hand.OpenStart();
  v1::PartRef& part = *start.mutable_position()->mutable_part();
  part.set_hash(part.hash() ^ 1);
  RETURN_IF_ERROR(ExpectRefused(hand.SendOpen(start).status(),
                                Reason::MALFORMED_FRAME,
                                "a position with another hash"));
  start = hand.OpenStart();
  start.mutable_position()->mutable_part()->set_length(
      hand.position->json().size() + 1);
  RETURN_IF_ERROR(ExpectRefused(hand.SendOpen(start).status(),
                                Reason::MALFORMED_FRAME,
                                "a position that is cut short"));
  return hand.Open();
}

constexpr ConformanceCheck kChecks[] = {
    {"6/same_again", "a replay makes the same step, and releases it",
     ReplayMakesTheSame},
    {"6/already_held", "what every shard holds is passed over",
     HeldStepsAreNotRead},
    {"6/idempotent", "a Replay sent twice replays once", ReplayIsIdempotent},
    {"6/order", "no journaled step can be left out", NoneIsLeftOut},
    {"6/mismatch", "a replay that differs is fatal, and nothing of it is seen",
     ADifferenceIsFatal},
    {"9/fragments", "what comes in fragments is verified as a whole",
     PositionIsVerified},
};

}  // namespace

std::span<const ConformanceCheck> ReplayChecks() { return kChecks; }

}  // namespace penstock::conformance
