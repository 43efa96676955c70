// The transition table of `protocol.md`, cell by cell, over a whole connector.
#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {
namespace {

using State = ConnectorState;
using Verb = ReaderVerb;

struct Cell {
  State state;
  Verb verb;
  // The state once the verb is answered; nullopt: "no".
  std::optional<State> after;
};

std::string CellName(const testing::TestParamInfo<Cell>& info) {
  return std::string(StateName(info.param.state)) + "Then" +
         std::string(VerbName(info.param.verb));
}

class TransitionTableTest : public testing::TestWithParam<Cell> {
 protected:
  TransitionTableTest() {
    // Two journaled steps of an earlier life, and some records more.
    harness_.source.AppendNumbered("k", 20);
    harness_.MustOpen();
    harness_.MustExtend();
    first_ = harness_.MustQueue(0);
    harness_.source.AppendNumbered("k", 20, 20);
    second_ = harness_.MustQueue(1);
    harness_.source.AppendNumbered("k", 20, 40);
    harness_.MustClose();
  }

  void Reach(State state) {
    harness_.request.journaled_steps = 2;
    harness_.MustOpen();
    switch (state) {
      case State::kOpened:
        break;
      case State::kReplaying:
        harness_.source.HoldAnswers(true);
        replay_ = harness_.Replay(*first_, 0);
        break;
      case State::kReplayed:
        EXPECT_OK(harness_.Replay(*first_, 0).status());
        break;
      case State::kRunning:
        harness_.MustExtend();
        break;
      case State::kPaused:
        harness_.MustExtend();
        harness_.MustPause();
        break;
      case State::kFailed:
        harness_.source.ReportError(
            true, MakeError(Reason::UNAVAILABLE, "it is gone"), "test");
        harness_.RunUntilIdle();
        break;
      case State::kClosed:
        EXPECT_OK(harness_.Disconnect().status());
        break;
    }
    ASSERT_EQ(harness_.state(), state);
  }

  absl::Status GiveReplay() {
    const bool has_first = GetParam().state == State::kReplaying ||
                           GetParam().state == State::kReplayed;
    const Answer<ReplayReply> answer =
        has_first ? harness_.Replay(*second_, 1) : harness_.Replay(*first_, 0);
    if (answer.came()) return answer.status();
    // It waits behind the one that runs.
    harness_.source.HoldAnswers(false);
    harness_.source.AnswerHeld();
    harness_.RunUntilIdle();
    EXPECT_OK(replay_.status());
    return answer.status();
  }

  absl::Status Give(Verb verb) {
    switch (verb) {
      case Verb::kReplay:
        return GiveReplay();
      case Verb::kExtend:
        return harness_.Extend().status();
      case Verb::kPause:
        return harness_.Pause().status();
      case Verb::kQueue:
        return harness_.QueueStep(9).status();
      case Verb::kDisconnect:
        return harness_.Disconnect().status();
    }
    return absl::UnknownError("no such verb");
  }

  Harness harness_;
  std::shared_ptr<const StepResult> first_;
  std::shared_ptr<const StepResult> second_;
  // The one that holds REPLAYING.
  Answer<ReplayReply> replay_;
};

TEST_P(TransitionTableTest, CellIsAsTheTableSays) {
  const Cell& cell = GetParam();
  Reach(cell.state);
  const absl::Status status = Give(cell.verb);
  if (cell.after.has_value()) {
    EXPECT_OK(status);
    EXPECT_EQ(harness_.state(), *cell.after);
    return;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasReason(Reason::ILLEGAL_TRANSITION)));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("state"), StateName(cell.state));
  EXPECT_EQ(harness_.state(), cell.state);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TransitionTableTest,
    testing::Values(Cell{State::kOpened, Verb::kReplay, State::kReplayed},
                    Cell{State::kOpened, Verb::kExtend, State::kRunning},
                    Cell{State::kOpened, Verb::kPause, {}},
                    Cell{State::kOpened, Verb::kQueue, {}},
                    Cell{State::kOpened, Verb::kDisconnect, State::kClosed},
                    Cell{State::kReplaying, Verb::kReplay, State::kReplayed},
                    Cell{State::kReplaying, Verb::kExtend, {}},
                    Cell{State::kReplaying, Verb::kPause, {}},
                    Cell{State::kReplaying, Verb::kQueue, {}},
                    Cell{State::kReplaying, Verb::kDisconnect, State::kClosed},
                    Cell{State::kReplayed, Verb::kReplay, State::kReplayed},
                    Cell{State::kReplayed, Verb::kExtend, State::kRunning},
                    Cell{State::kReplayed, Verb::kPause, {}},
                    Cell{State::kReplayed, Verb::kQueue, {}},
                    Cell{State::kReplayed, Verb::kDisconnect, State::kClosed},
                    Cell{State::kRunning, Verb::kReplay, {}},
                    Cell{State::kRunning, Verb::kExtend, {}},
                    Cell{State::kRunning, Verb::kPause, State::kPaused},
                    Cell{State::kRunning, Verb::kQueue, State::kRunning},
                    Cell{State::kRunning, Verb::kDisconnect, State::kClosed},
                    Cell{State::kPaused, Verb::kReplay, {}},
                    Cell{State::kPaused, Verb::kExtend, State::kRunning},
                    Cell{State::kPaused, Verb::kPause, {}},
                    Cell{State::kPaused, Verb::kQueue, State::kPaused},
                    Cell{State::kPaused, Verb::kDisconnect, State::kClosed},
                    Cell{State::kFailed, Verb::kReplay, {}},
                    Cell{State::kFailed, Verb::kExtend, {}},
                    Cell{State::kFailed, Verb::kPause, {}},
                    Cell{State::kFailed, Verb::kQueue, {}},
                    Cell{State::kFailed, Verb::kDisconnect, State::kClosed},
                    Cell{State::kClosed, Verb::kReplay, {}},
                    Cell{State::kClosed, Verb::kExtend, {}},
                    Cell{State::kClosed, Verb::kPause, {}},
                    Cell{State::kClosed, Verb::kQueue, {}},
                    Cell{State::kClosed, Verb::kDisconnect, State::kClosed}),
    CellName);

TEST_P(TransitionTableTest, ReleaseIsLegalInEveryState) {
  Reach(GetParam().state);
  EXPECT_OK(harness_.Release(0).status());
}

TEST_P(TransitionTableTest, CommitCheckpointIsLegalInEveryState) {
  Reach(GetParam().state);
  EXPECT_OK(harness_.Commit(0).status());
}

TEST_P(TransitionTableTest, PrepareCheckpointIsAnsweredInEveryState) {
  Reach(GetParam().state);
  const Answer<PrepareCheckpointReply> answer = harness_.Prepare(0);
  ASSERT_OK(answer.status());
  EXPECT_EQ(answer->ready, GetParam().state != State::kClosed);
}

}  // namespace
}  // namespace penstock::core
