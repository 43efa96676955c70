// Every cell of the transition table of `protocol.md`, over gRPC.
#include "core/connector/state_machine.h"
#include "tests/integration/caller.h"
#include "tests/integration/fake_edge_worker.h"
#include "tests/support/fake_source.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using core::ConnectorState;
using core::HasReason;
using core::ReaderVerb;
using core::Reason;

constexpr ConnectorState kStates[] = {
    ConnectorState::kOpened,   ConnectorState::kReplaying,
    ConnectorState::kReplayed, ConnectorState::kRunning,
    ConnectorState::kPaused,   ConnectorState::kFailed,
    ConnectorState::kClosed};
constexpr ReaderVerb kVerbs[] = {ReaderVerb::kReplay, ReaderVerb::kExtend,
                                 ReaderVerb::kPause, ReaderVerb::kQueue,
                                 ReaderVerb::kDisconnect};

// The table, once more and by hand: where each verb leads; '-' is "no". The
// state after a Replay is that after its answer.
struct Row {
  ConnectorState state;
  // In the order of kVerbs.
  std::optional<ConnectorState> next[5];
};
constexpr auto kNo = std::nullopt;
const Row kTable[] = {
    {ConnectorState::kOpened,
     {ConnectorState::kReplayed, ConnectorState::kRunning, kNo, kNo,
      ConnectorState::kClosed}},
    {ConnectorState::kReplaying,
     {ConnectorState::kReplayed, kNo, kNo, kNo, ConnectorState::kClosed}},
    {ConnectorState::kReplayed,
     {ConnectorState::kReplayed, ConnectorState::kRunning, kNo, kNo,
      ConnectorState::kClosed}},
    {ConnectorState::kRunning,
     {kNo, kNo, ConnectorState::kPaused, ConnectorState::kRunning,
      ConnectorState::kClosed}},
    {ConnectorState::kPaused,
     {kNo, ConnectorState::kRunning, kNo, ConnectorState::kPaused,
      ConnectorState::kClosed}},
    {ConnectorState::kFailed, {kNo, kNo, kNo, kNo, ConnectorState::kClosed}},
    {ConnectorState::kClosed, {kNo, kNo, kNo, kNo, ConnectorState::kClosed}},
};

std::optional<ConnectorState> NextOf(ConnectorState state, ReaderVerb verb) {
  for (const Row& row : kTable) {
    if (row.state != state) continue;
    return row.next[std::find(std::begin(kVerbs), std::end(kVerbs), verb) -
                    std::begin(kVerbs)];
  }
  return std::nullopt;
}

struct Cell {
  ConnectorState state;
  ReaderVerb verb;
};

std::ostream& operator<<(std::ostream& out, const Cell& cell) {
  return out << std::string(core::StateName(cell.state)) << " "
             << std::string(core::VerbName(cell.verb));
}

std::vector<Cell> AllCells() {
  std::vector<Cell> cells;
  for (const ConnectorState state : kStates) {
    for (const ReaderVerb verb : kVerbs) cells.push_back({state, verb});
  }
  return cells;
}

class TransitionTest : public ::testing::TestWithParam<Cell> {
 protected:
  TransitionTest()
      : source_({.records_per_buffer = 2}),
        worker_([this] { return source_.MakeEndpoint(); }),
        caller_(worker_.control(), "shop", 1) {
    source_.AppendNumbered("k", 12);
  }

  // Abandons a held Replay, whose call the server would wait for.
  void TearDown() override { (void)caller_.Delete(); }

  void Open() { ASSERT_OK(caller_.Open(LinesSpec("orders", "any", "", 1))); }

  // Two steps of a life before this one, as a journal has them.
  void MakeJournal() {
    Open();
    ASSERT_OK(caller_.Extend());
    for (core::Step step = 0; step < 2; ++step) {
      core::QueueRequest request;
      request.step = step;
      request.previous_steps = step;
      request.wait = absl::Seconds(10);
      request.max_records = 4;
      ASSERT_OK_AND_ASSIGN(const core::QueueReply reply,
                           caller_.StartQueue(request).Get());
      ASSERT_NE(reply.result, nullptr);
      journal_.push_back(*reply.result);
    }
    ASSERT_OK(caller_.Delete());
    caller_.open.first_open = false;
    caller_.open.journaled_steps = 2;
  }

  void WaitForState(ConnectorState state) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (caller_.State() != state && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(2));
    }
    ASSERT_EQ(caller_.State(), state);
  }

  // Leads a fresh connector into `state`.
  void Reach(ConnectorState state) {
    MakeJournal();
    ASSERT_FALSE(HasFatalFailure());
    Open();
    switch (state) {
      case ConnectorState::kOpened:
        break;
      case ConnectorState::kReplaying:
        source_.HoldAnswers(true);
        held_.emplace(caller_.StartReplay(journal_[0], 0));
        break;
      case ConnectorState::kReplayed:
        ASSERT_OK(caller_.Replay(journal_[0], 0));
        break;
      case ConnectorState::kRunning:
        ASSERT_OK(caller_.Extend());
        break;
      case ConnectorState::kPaused:
        ASSERT_OK(caller_.Extend());
        ASSERT_OK(caller_.Pause());
        break;
      case ConnectorState::kFailed: {
        core::StepResult wrong = journal_[0];
        auto resume = std::get<core::Resume::Replay>(wrong.resume.kind());
        ++resume.hash;
        ++wrong.hash->value;
        wrong.resume = core::Resume(std::move(resume));
        ASSERT_THAT(caller_.Replay(wrong, 0),
                    HasReason(Reason::REPLAY_MISMATCH));
        break;
      }
      case ConnectorState::kClosed:
        ASSERT_OK(caller_.Disconnect());
        break;
    }
    WaitForState(state);
  }

  core::StepResult ToReplay(core::Step next) const {
    core::StepResult result = journal_[next];
    // The step that failed would be answered as it was (rule 8).
    if (GetParam().state == ConnectorState::kFailed) result.step = 5;
    return result;
  }

  // Gives the verb. A Replay behind a running one is given time to wait.
  absl::Status Give(ReaderVerb verb) {
    const ConnectorState state = GetParam().state;
    // Which step comes next there.
    const core::Step next = state == ConnectorState::kReplaying ||
                                    state == ConnectorState::kReplayed
                                ? 1
                                : 0;
    switch (verb) {
      case ReaderVerb::kReplay: {
        auto reply = caller_.StartReplay(ToReplay(next), next);
        if (held_.has_value()) {
          // It overtakes nothing: both are answered, in order, once the first
          // one goes on.
          EXPECT_FALSE(reply.came());
          EXPECT_EQ(caller_.State(), ConnectorState::kReplaying);
          source_.HoldAnswers(false);
          source_.AnswerHeld();
          EXPECT_OK(held_->Get());
        }
        return reply.Get().status();
      }
      case ReaderVerb::kExtend:
        return caller_.Extend();
      case ReaderVerb::kPause:
        return caller_.Pause();
      case ReaderVerb::kQueue:
        // While a replay runs its step counts as not made.
        return (held_.has_value() ? caller_.Queue(0, 0)
                                  : caller_.Queue(next, next))
            .status();
      case ReaderVerb::kDisconnect:
        return caller_.Disconnect().status();
    }
    return absl::OkStatus();
  }

  core::FakeSource source_;
  FakeEdgeWorker worker_;
  Caller caller_;
  std::vector<core::StepResult> journal_;
  std::optional<Pending<core::ReplayReply>> held_;
};

TEST_P(TransitionTest, VerbDoesWhatTheTableSays) {
  const auto [state, verb] = GetParam();
  Reach(state);
  ASSERT_FALSE(HasFatalFailure());

  const absl::Status given = Give(verb);

  // The one table of the code and the one above are the same.
  EXPECT_EQ(core::CheckTransition(state, verb).ok(),
            NextOf(state, verb).has_value());
  if (const auto next = NextOf(state, verb); next.has_value()) {
    EXPECT_OK(given);
    WaitForState(*next);
    return;
  }
  ASSERT_THAT(given, HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_EQ(given.code(), absl::StatusCode::kFailedPrecondition);
  const core::ErrorMetadata metadata = core::GetErrorInfo(given)->metadata;
  EXPECT_EQ(metadata.at("state"), std::string(core::StateName(state)));
  std::vector<std::string> allowed;
  for (const ReaderVerb other : kVerbs) {
    if (NextOf(state, other).has_value()) {
      allowed.emplace_back(core::VerbName(other));
    }
  }
  for (const std::string& name : allowed) {
    EXPECT_THAT(metadata.at("allowed"), ::testing::HasSubstr(name));
  }
  EXPECT_EQ(caller_.State(), state);
}

// Once for each state; the verb says nothing.
class EveryStateTest : public TransitionTest {};

TEST_P(EveryStateTest, ClosedConnectorGivesTheSameAnswerAgain) {
  Reach(GetParam().state);
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_OK_AND_ASSIGN(const core::DisconnectReply once, caller_.Disconnect());
  ASSERT_OK_AND_ASSIGN(const core::DisconnectReply again, caller_.Disconnect());
  EXPECT_EQ(again.unconfirmed_steps, once.unconfirmed_steps);
  EXPECT_EQ(again.dropped_steps, once.dropped_steps);
}

TEST_P(EveryStateTest, ReleaseAndCheckpointsAreLegalInEveryState) {
  Reach(GetParam().state);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_OK(caller_.Release(0));
  EXPECT_OK(caller_.Commit(0));
  EXPECT_OK(caller_.Get());
}

std::vector<Cell> OneCellOfEachState() {
  std::vector<Cell> cells;
  for (const ConnectorState state : kStates) {
    cells.push_back({state, ReaderVerb::kDisconnect});
  }
  return cells;
}

std::string NameOf(const ::testing::TestParamInfo<Cell>& info) {
  std::string name;
  for (const char c : absl::StrCat(core::StateName(info.param.state), "x",
                                   core::VerbName(info.param.verb))) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) name.push_back(c);
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cells, TransitionTest, ::testing::ValuesIn(AllCells()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(States, EveryStateTest,
                         ::testing::ValuesIn(OneCellOfEachState()), NameOf);

}  // namespace
}  // namespace penstock
