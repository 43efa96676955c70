#include "core/connector/queue_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace penstock::core {
namespace {

using Kind = QueueDecision::Kind;

const absl::Time kStart = absl::UnixEpoch();

// A Queue that began to wait at kStart, and what it sees one second later.
struct Situation {
  QueueTerms terms;
  QueueFacts facts;

  Situation() {
    terms.minimum = {.records = 100, .bytes = 1000};
    terms.linger = absl::Seconds(5);
    terms.deadline = kStart + absl::Seconds(10);
    facts.now = kStart + absl::Seconds(1);
  }
  void Stage(uint64_t records, uint64_t bytes) {
    facts.staged.queued = {.records = records, .bytes = bytes};
    facts.staged.since = kStart;
  }
};

struct Case {
  std::string name;
  std::function<void(Situation&)> arrange;
  Kind kind;
  StopReason cause = StopReason::kWaitOver;
  NoStepReason reason = NoStepReason::kWaitOver;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class DecideQueueTest : public testing::TestWithParam<Case> {};

TEST_P(DecideQueueTest, Decides) {
  Situation situation;
  GetParam().arrange(situation);
  const QueueDecision decision = DecideQueue(situation.terms, situation.facts);
  EXPECT_EQ(decision.kind, GetParam().kind);
  if (decision.kind == Kind::kBegin) {
    EXPECT_EQ(decision.cause, GetParam().cause);
  }
  if (decision.kind == Kind::kNoStep) {
    EXPECT_EQ(decision.reason, GetParam().reason);
  }
}

void DeadlineOver(Situation& s) { s.facts.now = s.terms.deadline; }
void LingerOver(Situation& s) {
  s.Stage(1, 1);
  s.facts.now = kStart + s.terms.linger;
}

INSTANTIATE_TEST_SUITE_P(
    Data, DecideQueueTest,
    testing::Values(Case{"NothingStagedWaits", [](Situation&) {}, Kind::kWait},
                    Case{"LittleStagedWaits",
                         [](Situation& s) { s.Stage(99, 999); }, Kind::kWait},
                    Case{"EnoughRecords", [](Situation& s) { s.Stage(100, 1); },
                         Kind::kBegin, StopReason::kMinMet},
                    Case{"EnoughBytes", [](Situation& s) { s.Stage(1, 1000); },
                         Kind::kBegin, StopReason::kMinMet},
                    Case{"LingerIsOver", LingerOver, Kind::kBegin,
                         StopReason::kLinger},
                    Case{"WaitIsOverWithNothing", DeadlineOver, Kind::kNoStep,
                         StopReason::kWaitOver, NoStepReason::kWaitOver},
                    Case{"WaitIsOverWithSomething",
                         [](Situation& s) {
                           s.Stage(1, 1);
                           s.facts.staged.since = s.terms.deadline;
                           DeadlineOver(s);
                         },
                         Kind::kBegin, StopReason::kWaitOver}),
    CaseName);

INSTANTIATE_TEST_SUITE_P(
    EndOfInput, DecideQueueTest,
    testing::Values(
        Case{"WithDataMakesAStep",
             [](Situation& s) {
               s.Stage(1, 1);
               s.facts.staged.end_of_input = true;
             },
             Kind::kBegin, StopReason::kEndOfInput},
        Case{"WithoutDataMakesTheFinalStep",
             [](Situation& s) { s.facts.staged.end_of_input = true; },
             Kind::kBegin, StopReason::kEndOfInput},
        Case{"FinalStepIsMadeOnce",
             [](Situation& s) {
               s.facts.staged.end_of_input = true;
               s.facts.final_step_made = true;
             },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kEndOfInput},
        Case{"CheckpointMakesNoStepBehindTheFinalOne",
             [](Situation& s) {
               s.facts.staged.end_of_input = true;
               s.facts.final_step_made = true;
               s.terms.checkpoint_requested = true;
             },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kEndOfInput},
        Case{"RecordsBehindAFinalStepAreStillQueued",
             [](Situation& s) {
               s.Stage(1, 1);
               s.facts.staged.end_of_input = true;
               s.facts.final_step_made = true;
             },
             Kind::kBegin, StopReason::kEndOfInput}),
    CaseName);

INSTANTIATE_TEST_SUITE_P(
    Commands, DecideQueueTest,
    testing::Values(
        Case{"RequestedStepBegins",
             [](Situation& s) { s.facts.staged.step_requested = true; },
             Kind::kBegin, StopReason::kWaitOver},
        Case{"CheckpointRequestedBegins",
             [](Situation& s) { s.terms.checkpoint_requested = true; },
             Kind::kBegin, StopReason::kWaitOver},
        Case{"PausedDrainsWhatIsStaged",
             [](Situation& s) {
               s.Stage(1, 1);
               s.facts.paused = true;
             },
             Kind::kBegin, StopReason::kWaitOver},
        Case{"PausedWithNothing", [](Situation& s) { s.facts.paused = true; },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kPaused},
        Case{"InterruptedWithSomething",
             [](Situation& s) {
               s.Stage(1, 1);
               s.facts.interrupted = true;
             },
             Kind::kBegin, StopReason::kWaitOver},
        Case{"InterruptedWithNothing",
             [](Situation& s) { s.facts.interrupted = true; }, Kind::kNoStep,
             StopReason::kWaitOver, NoStepReason::kInterrupted}),
    CaseName);

INSTANTIATE_TEST_SUITE_P(
    Room, DecideQueueTest,
    testing::Values(
        Case{"IsWaitedForAsForData",
             [](Situation& s) {
               s.Stage(100, 1);
               s.facts.room = false;
             },
             Kind::kWait},
        Case{"IsMissingWhenTheWaitIsOver",
             [](Situation& s) {
               s.Stage(100, 1);
               s.facts.room = false;
               DeadlineOver(s);
             },
             Kind::kNoRoom},
        Case{"IsNotMissedWithoutData",
             [](Situation& s) {
               s.facts.room = false;
               DeadlineOver(s);
             },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kWaitOver},
        Case{"IsNotWaitedForWhenInterrupted",
             [](Situation& s) {
               s.Stage(100, 1);
               s.facts.room = false;
               s.facts.interrupted = true;
             },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kInterrupted},
        Case{"IsNotWaitedForWhenPauseComes",
             [](Situation& s) {
               s.Stage(100, 1);
               s.facts.room = false;
               s.facts.paused = true;
               s.facts.interrupted = true;
             },
             Kind::kNoStep, StopReason::kWaitOver, NoStepReason::kPaused},
        Case{"IsWaitedForToDrainWhatIsPaused",
             [](Situation& s) {
               s.Stage(100, 1);
               s.facts.room = false;
               s.facts.paused = true;
             },
             Kind::kWait}),
    CaseName);

TEST(DecideQueueTest, ComesAgainWhenTheWaitIsOver) {
  const Situation situation;
  EXPECT_EQ(DecideQueue(situation.terms, situation.facts).again,
            situation.terms.deadline);
}

TEST(DecideQueueTest, ComesAgainWhenTheLingerIsOver) {
  Situation situation;
  situation.Stage(1, 1);
  EXPECT_EQ(DecideQueue(situation.terms, situation.facts).again,
            kStart + situation.terms.linger);
}

TEST(TermsOfTest, ZeroMeansTheConnectorsDefaults) {
  const ConnectorLimits limits;
  const QueueTerms terms = TermsOf(QueueRequest(), limits, kStart);
  EXPECT_EQ(terms.minimum.bytes, limits.step_bytes);
  EXPECT_EQ(terms.minimum.records, UINT64_MAX);
  EXPECT_EQ(terms.linger, limits.step_linger);
  EXPECT_EQ(terms.deadline, kStart);
}

TEST(TermsOfTest, NeverWaitsForMoreThanTheStepMayTake) {
  const ConnectorLimits limits;
  ASSERT_LE(limits.step_bytes_max, limits.queued_bytes_max / 2);
  QueueRequest request;
  request.min_records = 1000;
  request.max_records = 10;
  request.min_bytes = UINT64_MAX;
  const QueueTerms terms = TermsOf(request, limits, kStart);
  EXPECT_EQ(terms.minimum.records, 10u);
  EXPECT_EQ(terms.minimum.bytes, limits.step_bytes_max);
}

TEST(TermsOfTest, NeverWaitsForMoreThanTheSourceMayStage) {
  ConnectorLimits limits;
  limits.queued_bytes_max = limits.step_bytes;
  EXPECT_EQ(TermsOf(QueueRequest(), limits, kStart).minimum.bytes,
            limits.step_bytes / 2);
}

TEST(TermsOfTest, InfiniteWaitNeverEnds) {
  QueueRequest request;
  request.wait = absl::InfiniteDuration();
  EXPECT_EQ(TermsOf(request, ConnectorLimits(), kStart).deadline,
            absl::InfiniteFuture());
}

}  // namespace
}  // namespace penstock::core
