// A server that dies at each point where something is acknowledged.
#include "client/conformance/checks.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <vector>

namespace penstock::conformance {
namespace {

// After a kill: opens at the checkpoint, replays what is journaled, and goes on
// to a checkpoint above all of it. Every record up to there is then in the
// target once: each replayed step had the count and hash that it was made with,
// and the target's own progress decided what was written again.
absl::Status GoesOn(Hand& hand) {
  const std::vector<v1::StepResult> journal = hand.journal;
  RETURN_IF_ERROR(hand.Reopen());
  for (const v1::StepResult& step : journal) {
    RETURN_IF_ERROR(hand.Replay(step).status());
    hand.steps = step.step() + 1;
  }
  RETURN_IF_ERROR(hand.Commit(hand.base_steps).status());
  RETURN_IF_ERROR(hand.Extend().status());
  RETURN_IF_ERROR(hand.Queue().status());
  RETURN_IF_ERROR(hand.Checkpoint());
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  for (const v1::ShardProgress& shard : now.shards()) {
    RETURN_IF_ERROR(Expect(shard.committed_steps() >= hand.steps,
                           "a shard's progress is below the checkpoint"));
  }
  return absl::OkStatus();
}

absl::Status AfterOpen(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

absl::Status AfterQueue(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

absl::Status AfterAStepThatWasNotJournaled(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  const v1::StepResult lost = hand.journal.back();
  hand.journal.pop_back();
  RETURN_IF_ERROR(subject.Kill());
  const std::vector<v1::StepResult> journal = hand.journal;
  RETURN_IF_ERROR(hand.Reopen());
  RETURN_IF_ERROR(hand.Replay(journal.front()).status());
  hand.steps = journal.front().step() + 1;
  RETURN_IF_ERROR(hand.Extend().status());
  // Its number was given out once: the same records come under another.
  ASSIGN_OR_RETURN(const v1::QueueResponse again,
                   hand.Send(hand.QueueRequest(7)));
  return Expect(again.result().resume().replay().hash().SerializeAsString() ==
                    lost.resume().replay().hash().SerializeAsString(),
                "the records of a step that was lost do not come again");
}

absl::Status AfterRelease(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  RETURN_IF_ERROR(hand.Release(3).status());
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

absl::Status AfterPrepare(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  RETURN_IF_ERROR(hand.Release(3).status());
  ASSIGN_OR_RETURN(const auto ready, hand.Prepare(3));
  RETURN_IF_ERROR(Expect(ready.ready(), "released steps are not completed"));
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

absl::Status AfterCommit(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  RETURN_IF_ERROR(hand.Checkpoint());
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

absl::Status AfterReplay(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  const std::vector<v1::StepResult> journal = hand.journal;
  RETURN_IF_ERROR(subject.Kill());
  RETURN_IF_ERROR(hand.Reopen());
  RETURN_IF_ERROR(hand.Replay(journal.front()).status());
  RETURN_IF_ERROR(subject.Kill());
  return GoesOn(hand);
}

constexpr ConformanceCheck kChecks[] = {
    {"kill/open", "a server that dies behind an open goes on where it was",
     AfterOpen, true},
    {"kill/queue", "steps that are journaled are replayed after a crash",
     AfterQueue, true},
    {"kill/lost", "a step that was not journaled is read again after a crash",
     AfterAStepThatWasNotJournaled, true},
    {"kill/release", "a crash behind Release neither loses nor doubles a step",
     AfterRelease, true},
    {"kill/prepare", "a crash between prepare and commit takes nothing back",
     AfterPrepare, true},
    {"kill/commit", "a crash behind a checkpoint goes on there", AfterCommit,
     true},
    {"kill/replay", "a crash in the middle of a replay is replayed once more",
     AfterReplay, true},
};

}  // namespace

std::span<const ConformanceCheck> KillChecks() { return kChecks; }

}  // namespace penstock::conformance
