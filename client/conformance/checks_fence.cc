#include "client/conformance/checks.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <functional>
#include <future>
#include <vector>

namespace penstock::conformance {
namespace {

using core::Reason;

struct Verb {
  const char* name;
  std::function<absl::Status(Hand&)> say;
};

// Every command that carries a fence and an instance.
std::vector<Verb> Verbs() {
  return {
      {"Extend", [](Hand& hand) { return hand.Extend().status(); }},
      {"Pause", [](Hand& hand) { return hand.Pause().status(); }},
      {"Queue",
       [](Hand& hand) {
         return hand.Send(hand.QueueRequest(hand.steps)).status();
       }},
      {"Replay",
       [](Hand& hand) { return hand.Replay(hand.journal.front()).status(); }},
      {"Release", [](Hand& hand) { return hand.Release(hand.steps).status(); }},
      {"PrepareCheckpoint",
       [](Hand& hand) { return hand.Prepare(hand.steps).status(); }},
      {"CommitCheckpoint", [](Hand& hand) { return hand.Commit(0).status(); }},
      {"Disconnect", [](Hand& hand) { return hand.Disconnect().status(); }},
  };
}

absl::Status StaleEpoch(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  const v1::Fence old = hand.fence;
  hand.TakeNextEpoch();
  RETURN_IF_ERROR(hand.Release(0).status());
  const v1::Fence ours = hand.fence;
  hand.fence = old;
  for (const Verb& verb : Verbs()) {
    RETURN_IF_ERROR(
        ExpectRefused(verb.say(hand), Reason::STALE_EPOCH, verb.name));
  }
  RETURN_IF_ERROR(ExpectRefused(hand.Delete(), Reason::STALE_EPOCH, "Delete"));
  RETURN_IF_ERROR(ExpectRefused(hand.SendOpen(hand.OpenStart()).status(),
                                Reason::STALE_EPOCH, "Open"));
  hand.fence = ours;
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  return Expect(now.health().state() == v1::CONNECTOR_STATE_RUNNING &&
                    now.steps().released_steps() == 0,
                "what was refused had an effect");
}

absl::Status EpochTaken(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  const v1::Fence ours = hand.fence;
  hand.fence.set_nonce("another-nonce-of-the-same-epoch");
  for (const Verb& verb : Verbs()) {
    RETURN_IF_ERROR(
        ExpectRefused(verb.say(hand), Reason::EPOCH_TAKEN, verb.name));
  }
  hand.fence = ours;
  return hand.Release(1).status();
}

absl::Status HigherEpochGoesOn(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  hand.TakeNextEpoch();
  RETURN_IF_ERROR(hand.Queue().status())
  << "a higher epoch commands the same instance";
  return hand.Release(hand.steps).status();
}

absl::Status NotOwner(Subject& subject) {
  Hand owner(subject);
  RETURN_IF_ERROR(owner.Run(1));
  Hand other(subject);
  other.ref = owner.ref;
  other.journal = owner.journal;
  for (const Verb& verb : Verbs()) {
    RETURN_IF_ERROR(
        ExpectRefused(verb.say(other), Reason::NOT_OWNER, verb.name));
  }
  RETURN_IF_ERROR(ExpectRefused(other.Delete(), Reason::NOT_OWNER, "Delete"));
  return owner.Queue().status();
}

absl::Status FenceIsRequired(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  const v1::Fence ours = hand.fence;
  for (int missing = 0; missing < 3; ++missing) {
    hand.fence = ours;
    if (missing == 0) hand.fence.set_epoch(0);
    if (missing == 1) hand.fence.clear_pipeline();
    if (missing == 2) hand.fence.clear_nonce();
    for (const Verb& verb : Verbs()) {
      RETURN_IF_ERROR(ExpectRefused(
          verb.say(hand), Reason::INVALID_REQUEST,
          absl::StrCat(verb.name, " without part ", missing, " of its fence")));
    }
  }
  hand.fence = ours;
  return absl::OkStatus();
}

absl::Status RunningQueueIsSuperseded(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.RunUntilQueueWaits());
  const v1::QueueRequest request = hand.QueueRequest(hand.steps);
  auto waiting = std::async(std::launch::async,
                            [&] { return hand.Send(request).status(); });
  const absl::Status running = hand.AwaitRunning(request.step());
  // The other epoch is seen when this is answered.
  Hand successor(subject);
  successor.fence = hand.fence;
  successor.ref = hand.ref;
  successor.TakeNextEpoch();
  const absl::Status released = successor.Release(0).status();
  const absl::Status ended = waiting.get();
  hand.fence = successor.fence;
  RETURN_IF_ERROR(running);
  RETURN_IF_ERROR(released);
  // Over a bad line it may have come, or come again, after the other epoch.
  if (subject.line().fault() != LineFault::kNone &&
      core::HasReason(ended, Reason::STALE_EPOCH)) {
    return absl::OkStatus();
  }
  return ExpectRefused(ended, Reason::SUPERSEDED, "a Queue of the old epoch");
}

absl::Status InstanceMismatch(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  const std::string instance = hand.ref.instance();
  hand.ref.set_instance("of-another-life");
  for (const Verb& verb : Verbs()) {
    RETURN_IF_ERROR(
        ExpectRefused(verb.say(hand), Reason::INSTANCE_MISMATCH, verb.name));
  }
  hand.ref.set_instance(instance);
  return hand.Queue().status();
}

absl::Status NewLifeNewInstance(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  const std::string first = hand.ref.instance();
  RETURN_IF_ERROR(hand.Reopen());
  return Expect(!first.empty() && first != hand.ref.instance(),
                "two lives have the same instance");
}

absl::Status OpenIsIdempotent(Subject& subject) {
  Hand hand(subject);
  const v1::OpenConnectorStart start = hand.OpenStart();
  ASSIGN_OR_RETURN(const auto first, hand.SendOpen(start));
  ASSIGN_OR_RETURN(const auto again, hand.SendOpen(start));
  RETURN_IF_ERROR(Expect(first.SerializeAsString() == again.SerializeAsString(),
                         "an Open that was sent twice has two answers"));
  return ExpectRefused(hand.SendOpen(hand.OpenStart()).status(),
                       Reason::ALREADY_EXISTS, "another Open of a living one");
}

absl::Status OpenAnswersEverything(Subject& subject) {
  Hand hand(subject);
  ASSIGN_OR_RETURN(const auto opened, hand.SendOpen(hand.OpenStart()));
  RETURN_IF_ERROR(Expect(opened.has_base_position(), "no base position"));
  RETURN_IF_ERROR(Expect(opened.level() == v1::DELIVERY_LEVEL_EXACTLY_ONCE,
                         "another level than asked for"));
  RETURN_IF_ERROR(
      Expect(opened.shards_size() == 2, "not one progress for each shard"));
  for (const v1::ShardProgress& shard : opened.shards()) {
    RETURN_IF_ERROR(Expect(shard.committed_steps() == 0,
                           "a new target has progress above the base"));
  }
  RETURN_IF_ERROR(Expect(opened.resolved_spec().limits().has_step_bytes() &&
                             opened.resolved_spec().has_versions(),
                         "the resolved spec lacks defaults or versions"));
  return Expect(!opened.spec_hash().empty(), "no hash of the spec");
}

constexpr ConformanceCheck kChecks[] = {
    {"1/stale_epoch", "a lower epoch can do nothing once a higher one was seen",
     StaleEpoch},
    {"1/epoch_taken", "the same epoch with another nonce can do nothing",
     EpochTaken},
    {"1/higher_epoch", "a higher epoch commands what the lower one opened",
     HigherEpochGoesOn},
    {"1/not_owner", "another pipeline commands nothing of this one", NotOwner},
    {"1/fence_required", "a command without a whole fence is refused",
     FenceIsRequired},
    {"1/superseded", "a call of the old epoch that waits is ended",
     RunningQueueIsSuperseded},
    {"2/instance_mismatch", "a command names the life that it means",
     InstanceMismatch},
    {"2/new_instance", "each life has another instance", NewLifeNewInstance},
    {"2/open_idempotent", "an Open sent twice opens once", OpenIsIdempotent},
    {"2/open_answer", "Open answers base, progress, level, resolved spec",
     OpenAnswersEverything},
};

}  // namespace

std::span<const ConformanceCheck> FenceChecks() { return kChecks; }

}  // namespace penstock::conformance
