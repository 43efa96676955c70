#include "client/conformance/checks.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

namespace penstock::conformance {
namespace {

using core::Reason;

absl::Status BlockersAreNamed(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  // Nothing releases it: the answer comes with the deadline.
  v1::PrepareCheckpointResponse answer;
  ASSIGN_OR_RETURN(answer, hand.Prepare(1));
  RETURN_IF_ERROR(
      Expect(!answer.ready(), "ready for a checkpoint above what is released"));
  for (const v1::Blocker& blocker : answer.blockers()) {
    if (blocker.kind() == v1::BLOCKER_KIND_UNRELEASED_STEP &&
        blocker.step() == 0) {
      return absl::OkStatus();
    }
  }
  return Expect(false, absl::StrCat("the unreleased step is no blocker: ",
                                    answer.ShortDebugString()));
}

absl::Status ReadyLiftsEveryShard(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Release(2).status());
  ASSIGN_OR_RETURN(const v1::PrepareCheckpointResponse ready, hand.Prepare(2));
  RETURN_IF_ERROR(Expect(ready.ready(), ready.ShortDebugString()));
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  for (const v1::ShardProgress& shard : now.shards()) {
    RETURN_IF_ERROR(Expect(shard.committed_steps() >= 2,
                           "a shard's progress is below the checkpoint"));
  }
  return absl::OkStatus();
}

absl::Status CommitIsChecked(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(ExpectRefused(hand.Commit(1).status(), Reason::NOT_COMPLETED,
                                "a checkpoint above what is completed"));
  RETURN_IF_ERROR(hand.Checkpoint());
  ASSIGN_OR_RETURN(const auto again, hand.Commit(2));
  ASSIGN_OR_RETURN(const auto lower, hand.Commit(1));
  return Expect(
      again.checkpointed_steps() == 2 && lower.checkpointed_steps() == 2,
      "a repeated or lower checkpoint moved it");
}

absl::Status GoesOnAtTheCheckpoint(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Checkpoint());
  RETURN_IF_ERROR(hand.Queue().status());
  const v1::StepResult third = hand.journal.back();
  // It was not journaled: the crash came before, and it is read again.
  hand.journal.clear();
  RETURN_IF_ERROR(hand.Reopen());
  RETURN_IF_ERROR(hand.Commit(2).status());
  RETURN_IF_ERROR(hand.Extend().status());
  hand.steps = 2;
  ASSIGN_OR_RETURN(const v1::QueueResponse again,
                   hand.Send(hand.QueueRequest(7)));
  const auto& hash = again.result().resume().replay().hash();
  return Expect(hash.SerializeAsString() ==
                    third.resume().replay().hash().SerializeAsString(),
                "behind the checkpoint the same records do not come again");
}

// A target that holds two steps; the connector is gone.
absl::Status LeaveTwoSteps(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Release(2).status());
  ASSIGN_OR_RETURN(const auto ready, hand.Prepare(2));
  RETURN_IF_ERROR(Expect(ready.ready(), ready.ShortDebugString()));
  hand.TakeNextEpoch();
  return hand.Delete();
}

absl::Status ProgressBehind(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(LeaveTwoSteps(hand));
  v1::OpenConnectorStart start = hand.OpenStart();
  start.set_base_steps(5);
  start.set_journaled_steps(5);
  return ExpectRefused(hand.SendOpen(start).status(), Reason::PROGRESS_BEHIND,
                       "a target below the checkpoint");
}

absl::Status ProgressAhead(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(LeaveTwoSteps(hand));
  hand.journal.clear();
  return ExpectRefused(hand.SendOpen(hand.OpenStart()).status(),
                       Reason::PROGRESS_AHEAD,
                       "a target above what is journaled");
}

absl::Status ProgressLost(Subject& subject) {
  Hand hand(subject);
  hand.first_open = false;
  return ExpectRefused(hand.SendOpen(hand.OpenStart()).status(),
                       Reason::PROGRESS_LOST, "a target without progress");
}

absl::Status ForeignProgress(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(LeaveTwoSteps(hand));
  v1::OpenConnectorStart start = hand.OpenStart();
  start.set_incarnation("another-incarnation");
  return ExpectRefused(hand.SendOpen(start).status(), Reason::FOREIGN_PROGRESS,
                       "progress of another incarnation");
}

absl::Status WriterIsFenced(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(LeaveTwoSteps(hand));
  v1::OpenConnectorStart start = hand.OpenStart();
  start.mutable_writer()->set_epoch(hand.fence.epoch());
  RETURN_IF_ERROR(hand.SendOpen(start).status());
  RETURN_IF_ERROR(hand.Delete());
  start.set_request_id(hand.NewRequestId());
  return ExpectRefused(hand.SendOpen(start).status(), Reason::WRITER_FENCED,
                       "a writer that was used before");
}

constexpr ConformanceCheck kChecks[] = {
    {"7/blockers", "what keeps a checkpoint back is named", BlockersAreNamed},
    {"7/ready", "ready means that every shard's progress is there",
     ReadyLiftsEveryShard},
    {"7/commit", "no checkpoint above what is completed; never backwards",
     CommitIsChecked},
    {"7/resume", "the next open goes on at the checkpoint",
     GoesOnAtTheCheckpoint},
    {"7/progress_behind", "a target below the checkpoint is refused",
     ProgressBehind},
    {"7/progress_ahead", "a target above the journal is refused",
     ProgressAhead},
    {"7/progress_lost", "a target without progress is refused", ProgressLost},
    {"7/foreign_progress", "another incarnation's target is refused",
     ForeignProgress},
    {"7/writer", "a writer opens once", WriterIsFenced},
};

}  // namespace

std::span<const ConformanceCheck> CheckpointChecks() { return kChecks; }

}  // namespace penstock::conformance
