#include "core/connector/state_machine.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace penstock::core {
namespace {

using testing::Combine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Values;
using State = ConnectorState;
using Verb = ReaderVerb;

constexpr State kStates[] = {
    State::kOpened, State::kReplaying, State::kReplayed, State::kRunning,
    State::kPaused, State::kFailed,    State::kClosed};
constexpr Verb kVerbs[] = {Verb::kReplay, Verb::kExtend, Verb::kPause,
                           Verb::kQueue, Verb::kDisconnect};

// The table of `protocol.md`, written down a second time.
const std::set<std::pair<State, Verb>>& Legal() {
  static const auto* const legal = new std::set<std::pair<State, Verb>>{
      {State::kOpened, Verb::kReplay},
      {State::kOpened, Verb::kExtend},
      {State::kReplaying, Verb::kReplay},
      {State::kReplayed, Verb::kReplay},
      {State::kReplayed, Verb::kExtend},
      {State::kRunning, Verb::kPause},
      {State::kRunning, Verb::kQueue},
      {State::kPaused, Verb::kExtend},
      {State::kPaused, Verb::kQueue},
      {State::kOpened, Verb::kDisconnect},
      {State::kReplaying, Verb::kDisconnect},
      {State::kReplayed, Verb::kDisconnect},
      {State::kRunning, Verb::kDisconnect},
      {State::kPaused, Verb::kDisconnect},
      {State::kFailed, Verb::kDisconnect},
      {State::kClosed, Verb::kDisconnect},
  };
  return *legal;
}

using Cell = std::tuple<State, Verb>;
std::string CellName(const testing::TestParamInfo<Cell>& info) {
  return std::string(StateName(std::get<0>(info.param))) +
         std::string(VerbName(std::get<1>(info.param)));
}

class StateMachineTest : public testing::TestWithParam<Cell> {};

TEST_P(StateMachineTest, CellIsAsTheTableSays) {
  const auto [state, verb] = GetParam();
  const absl::Status status = CheckTransition(state, verb);
  if (Legal().contains({state, verb})) {
    EXPECT_OK(status);
    return;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasReason(Reason::ILLEGAL_TRANSITION)));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("state"), StateName(state));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(std::string(VerbName(verb))));
}

TEST_P(StateMachineTest, WithoutAReaderOnlyDisconnectIsLegal) {
  const auto [state, verb] = GetParam();
  const absl::Status status = CheckTransition(state, verb, false);
  if (verb == Verb::kDisconnect) {
    EXPECT_OK(status);
  } else {
    EXPECT_THAT(status, HasReason(Reason::ILLEGAL_TRANSITION));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, StateMachineTest,
                         Combine(testing::ValuesIn(kStates),
                                 testing::ValuesIn(kVerbs)),
                         CellName);

TEST(AllowedVerbsTest, NamesWhatTheErrorNames) {
  EXPECT_THAT(AllowedVerbs(State::kPaused),
              ElementsAre(Verb::kExtend, Verb::kQueue, Verb::kDisconnect));
  const absl::Status status = CheckTransition(State::kPaused, Verb::kPause);
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("allowed"),
            "Extend, Queue, Disconnect");
}

TEST(AllowedVerbsTest, FailedAllowsNothingButDisconnect) {
  EXPECT_THAT(AllowedVerbs(State::kFailed), ElementsAre(Verb::kDisconnect));
}

}  // namespace
}  // namespace penstock::core
