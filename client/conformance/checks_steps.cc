#include "client/conformance/checks.h"
#include "core/base/status_macros.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <future>

namespace penstock::conformance {
namespace {

using core::Reason;

absl::Status RepeatGivesTheSameBytes(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  for (const v1::StepResult& made : hand.journal) {
    v1::QueueRequest again = hand.QueueRequest(made.step());
    // Whatever else is asked for: the step is made.
    again.set_min_records(1000);
    again.set_previous_steps(12345);
    ASSIGN_OR_RETURN(const v1::QueueResponse answer, hand.Send(again));
    RETURN_IF_ERROR(
        Expect(answer.result().SerializeAsString() == made.SerializeAsString(),
               "a step asked for again has another result"));
  }
  return absl::OkStatus();
}

absl::Status NumbersMayJump(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  ASSIGN_OR_RETURN(const v1::QueueResponse jumped,
                   hand.Send(hand.QueueRequest(1'000'000'007)));
  RETURN_IF_ERROR(Expect(jumped.result().step() == 1'000'000'007,
                         "the step has another number"));
  hand.steps = 1'000'000'008;
  return hand.Queue().status();
}

absl::Status TheChainMayNot(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  v1::QueueRequest request = hand.QueueRequest(hand.steps);
  request.set_previous_steps(hand.steps - 1);
  RETURN_IF_ERROR(ExpectRefused(hand.Send(request).status(), Reason::STEP_GAP,
                                "previous_steps below the last step"));
  request.set_step(hand.steps + 5);
  request.set_previous_steps(hand.steps + 1);
  return ExpectRefused(hand.Send(request).status(), Reason::STEP_GAP,
                       "previous_steps above the last step");
}

absl::Status ANumberThatWasNone(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  ASSIGN_OR_RETURN(const v1::QueueResponse jumped,
                   hand.Send(hand.QueueRequest(10)));
  RETURN_IF_ERROR(Expect(jumped.has_result(), "no step"));
  hand.steps = 11;
  return ExpectRefused(hand.Send(hand.QueueRequest(5)).status(),
                       Reason::STEP_GAP, "a number that was passed over");
}

absl::Status ReleasedResultsAreGone(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Release(1).status());
  RETURN_IF_ERROR(ExpectRefused(hand.Send(hand.QueueRequest(0)).status(),
                                Reason::STEP_RELEASED, "a released step"));
  return hand.Send(hand.QueueRequest(1)).status();
}

absl::Status TwoAskForOneStep(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.RunUntilQueueWaits());
  const v1::QueueRequest request = hand.QueueRequest(hand.steps);
  const auto ask = [&] { return hand.Send(request); };
  auto first = std::async(std::launch::async, ask);
  const absl::Status running = hand.AwaitRunning(request.step());
  auto second = std::async(std::launch::async, ask);
  const absl::Status released = hand.Release(hand.steps).status();
  const auto one = first.get();
  const auto two = second.get();
  RETURN_IF_ERROR(running);
  RETURN_IF_ERROR(released);
  RETURN_IF_ERROR(one.status());
  RETURN_IF_ERROR(two.status());
  return Expect(
      one->has_result() && one->SerializeAsString() == two->SerializeAsString(),
      "two calls for one step have two answers");
}

absl::Status ReleaseOvertakes(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.RunUntilQueueWaits());
  const v1::QueueRequest request = hand.QueueRequest(hand.steps);
  auto waiting =
      std::async(std::launch::async, [&] { return hand.Send(request); });
  const absl::Status running = hand.AwaitRunning(request.step());
  const absl::Status released = hand.Release(hand.steps).status();
  const auto answer = waiting.get();
  RETURN_IF_ERROR(running);
  RETURN_IF_ERROR(released)
  << "Release while a Queue waits";
  RETURN_IF_ERROR(answer.status());
  return Expect(answer->has_result(),
                "the Queue that waited for the release made no step");
}

absl::Status OutstandingIsLimited(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.RunUntilQueueWaits());
  v1::QueueRequest request = hand.QueueRequest(hand.steps);
  *request.mutable_wait() = wire::DurationToProto(absl::Milliseconds(10));
  RETURN_IF_ERROR(ExpectRefused(hand.Send(request).status(),
                                Reason::STEPS_OUTSTANDING,
                                "a step above steps_outstanding_max"));
  RETURN_IF_ERROR(hand.Release(hand.steps).status());
  // The number was not used.
  return hand.Queue().status();
}

absl::Status EndOfInput(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(0));
  uint64_t records = 0;
  bool ended = false;
  while (!ended) {
    v1::QueueRequest request = hand.QueueRequest(hand.steps);
    request.clear_min_records();
    request.clear_max_records();
    ASSIGN_OR_RETURN(const v1::QueueResponse answer, hand.Send(request));
    RETURN_IF_ERROR(Expect(answer.has_result(), "NoStep before the end"));
    hand.steps = answer.result().step() + 1;
    records += answer.result().amount().records();
    ended = answer.result().end_of_input();
    RETURN_IF_ERROR(hand.Release(hand.steps).status());
  }
  RETURN_IF_ERROR(Expect(
      records == kInputRecords,
      absl::StrCat(records, " of ", kInputRecords, " records were queued")));
  ASSIGN_OR_RETURN(const v1::QueueResponse after,
                   hand.Send(hand.QueueRequest(hand.steps)));
  return Expect(after.has_no_step() && after.no_step().end_of_input() &&
                    after.no_step().reason() == v1::NO_STEP_REASON_END_OF_INPUT,
                "a Queue behind the end does not say so");
}

absl::Status RangesAreChecked(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(0));
  v1::QueueRequest request = hand.QueueRequest(0);
  *request.mutable_wait() = wire::DurationToProto(absl::Minutes(11));
  RETURN_IF_ERROR(ExpectRefused(hand.Send(request).status(),
                                Reason::INVALID_REQUEST,
                                "a wait of 11 minutes"));
  request = hand.QueueRequest(0);
  request.set_min_records(0);
  return ExpectRefused(hand.Send(request).status(), Reason::INVALID_REQUEST,
                       "min_records 0");
}

absl::Status ReleaseAhead(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  RETURN_IF_ERROR(ExpectRefused(hand.Release(2).status(), Reason::RELEASE_AHEAD,
                                "a release of what was not made"));
  v1::QueueRequest request = hand.QueueRequest(1);
  request.set_released_steps(2);
  RETURN_IF_ERROR(ExpectRefused(hand.Send(request).status(),
                                Reason::RELEASE_AHEAD,
                                "a command that releases ahead"));
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  return Expect(
      now.steps().released_steps() == 0 && now.steps().made_steps() == 1,
      "a release ahead, or its command, had an effect");
}

absl::Status ReleaseIsMonotone(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Release(2).status());
  ASSIGN_OR_RETURN(const v1::ReleaseResponse lower, hand.Release(1));
  return Expect(lower.released_steps() == 2, "a lower release took some back");
}

absl::Status ReleaseInACommand(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  v1::QueueRequest request = hand.QueueRequest(1);
  request.set_released_steps(1);
  RETURN_IF_ERROR(hand.Send(request).status());
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  return Expect(now.steps().released_steps() == 1,
                "the release that a Queue carried is not there");
}

absl::Status ResultsAreWhole(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  for (const v1::StepResult& result : hand.journal) {
    const v1::Resume::Replay& replay = result.resume().replay();
    RETURN_IF_ERROR(
        Expect(result.amount().records() > 0 && result.amount().bytes() > 0,
               "a step without records"));
    RETURN_IF_ERROR(
        Expect(result.resume().has_replay() &&
                   replay.seek().content_case() == v1::Position::kJson,
               "an exactly-once step cannot be replayed"));
    RETURN_IF_ERROR(
        Expect(replay.hash().algorithm() == v1::HASH_ALGORITHM_XXH3_64 &&
                   replay.hash().count() == result.amount().records(),
               "the hash is not over the step's records"));
    RETURN_IF_ERROR(
        Expect(result.stopped_because() != v1::STOP_REASON_UNSPECIFIED,
               "a step does not say why it ended"));
    RETURN_IF_ERROR(Expect(result.ByteSizeLong() <= size_t{256} << 10,
                           "a result above 256 KiB"));
  }
  return absl::OkStatus();
}

absl::Status RequestIds(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  ASSIGN_OR_RETURN(const v1::ExtendResponse first, hand.Extend("an-id"));
  ASSIGN_OR_RETURN(const v1::ExtendResponse again, hand.Extend("an-id"));
  RETURN_IF_ERROR(Expect(first.SerializeAsString() == again.SerializeAsString(),
                         "a repeated Extend has another reply"));
  RETURN_IF_ERROR(ExpectRefused(hand.Extend("other-id").status(),
                                Reason::ILLEGAL_TRANSITION,
                                "another Extend while it runs"));
  return ExpectRefused(hand.Pause("an-id").status(), Reason::REQUEST_ID_REUSED,
                       "an id with another body");
}

constexpr ConformanceCheck kChecks[] = {
    {"3/same_bytes", "a step asked for again has the same bytes",
     RepeatGivesTheSameBytes},
    {"3/numbers_jump", "numbers of steps may jump", NumbersMayJump},
    {"3/chain", "previous_steps names the last step", TheChainMayNot},
    {"3/never_made", "a number that was passed over is a gap",
     ANumberThatWasNone},
    {"3/released", "a released result is gone", ReleasedResultsAreGone},
    {"3/joins", "two calls for one step get one step", TwoAskForOneStep},
    {"3/outstanding", "too many outstanding steps are refused in time",
     OutstandingIsLimited},
    {"3/end_of_input", "the end is said by a step, then by NoStep", EndOfInput},
    {"3/ranges", "values out of range are refused", RangesAreChecked},
    {"4/release_ahead", "nothing is released that was not made", ReleaseAhead},
    {"4/monotone", "what is released stays released", ReleaseIsMonotone},
    {"4/in_a_command", "every command may carry the release",
     ReleaseInACommand},
    {"4/overtakes", "Release overtakes a Queue that waits", ReleaseOvertakes},
    {"5/whole_results", "results say what a replay needs", ResultsAreWhole},
    {"8/request_id", "a repeat by request_id gets the first reply", RequestIds},
};

}  // namespace

std::span<const ConformanceCheck> StepChecks() { return kChecks; }

}  // namespace penstock::conformance
