#include "client/controller/roaming_control.h"

#include "core/base/error.h"
#include "proto/wire/connection_error.h"
#include "tests/support/fake_control.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::ControlVerb;
using core::FakeControl;
using core::HasReason;
using core::IsOk;
using core::MakeError;
using core::Reason;

// Workers "a", "b" and "c", none with a connector: a worker that is there
// answers NO_SUCH_CONNECTOR.
class RoamingControlTest : public testing::Test {
 protected:
  std::unique_ptr<RoamingControl> Make(
      const std::vector<std::string>& addresses) {
    auto made = RoamingControl::Create(
        addresses,
        [this](const std::string& address)
            -> absl::StatusOr<std::shared_ptr<core::Control>> {
          if (address == "wrong") {
            return MakeError(Reason::INVALID_CONFIG, "no address");
          }
          auto worker = std::make_shared<FakeControl>(executor_, outside_);
          workers_[address] = worker.get();
          return worker;
        });
    EXPECT_THAT(made.status(), IsOk());
    return *std::move(made);
  }
  // The answer comes when the executor runs.
  std::shared_ptr<std::optional<absl::Status>> Ask(RoamingControl& control) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    control.Get("x", [answer](absl::StatusOr<core::ConnectorStatus> status) {
      *answer = status.status();
    });
    return answer;
  }
  absl::Status Get(RoamingControl& control) {
    const auto answer = Ask(control);
    executor_.Advance(absl::Seconds(1));
    return **answer;
  }
  void Fail(const std::string& address, absl::Status status, int count = 1) {
    workers_.at(address)->FailNext(ControlVerb::kGet, count, std::move(status));
  }
  static absl::Status Broken() {
    return wire::MarkConnectionError(MakeError(Reason::UNAVAILABLE, "broken"));
  }

  core::ManualExecutor executor_;
  core::FakeOutside outside_;
  std::map<std::string, FakeControl*> workers_;
};

TEST_F(RoamingControlTest, ABrokenConnectionMovesOnAndComesRoundAgain) {
  const auto control = Make({"a", "b"});
  EXPECT_EQ(control->address(), "a");
  Fail("a", Broken());
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(control->address(), "b");
  EXPECT_THAT(Get(*control), HasReason(Reason::NO_SUCH_CONNECTOR));
  EXPECT_EQ(control->address(), "b");
  Fail("b", Broken());
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(control->address(), "a");
  EXPECT_EQ(control->moves(), 2u);
}

TEST_F(RoamingControlTest, AWorkerThatGoesAwayIsLeft) {
  const auto control = Make({"a", "b"});
  Fail("a", MakeError(Reason::SHUTTING_DOWN, "drains"));
  EXPECT_THAT(Get(*control), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_EQ(control->address(), "b");
}

TEST_F(RoamingControlTest, WhatTheWorkerCannotReachIsNoReasonToLeaveIt) {
  const auto control = Make({"a", "b"});
  Fail("a", MakeError(Reason::UNAVAILABLE, "the target is away"));
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(control->address(), "a");
}

TEST_F(RoamingControlTest, TheOnlyAddressIsAskedForEver) {
  const auto control = Make({"a"});
  Fail("a", Broken());
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(control->address(), "a");
  EXPECT_EQ(control->moves(), 0u);
}

// What stands at the one in use belongs there.
TEST_F(RoamingControlTest, ElsewhereIsWhereItIsNotInUse) {
  const auto control = Make({"a", "b"});
  const std::vector<SweepPlace> places = control->Elsewhere();
  ASSERT_EQ(places.size(), 2u);
  std::vector<absl::Status> answers;
  const auto look = [&] {
    answers.clear();
    for (const SweepPlace& place : places) {
      place.list(
          [&answers](const auto& all) { answers.push_back(all.status()); });
      executor_.Advance(absl::Seconds(1));
    }
  };
  look();
  EXPECT_THAT(answers[0], HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(answers[1], IsOk());
  Fail("a", Broken());
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  look();
  EXPECT_THAT(answers[0], IsOk());
  EXPECT_THAT(answers[1], HasReason(Reason::UNAVAILABLE));
  EXPECT_TRUE(Make({"c"})->Elsewhere().empty());
}

TEST_F(RoamingControlTest, CallsThatFailTogetherMoveOnce) {
  const auto control = Make({"a", "b", "c"});
  Fail("a", Broken(), 3);
  const auto first = Ask(*control);
  const auto second = Ask(*control);
  const auto third = Ask(*control);
  executor_.Advance(absl::Seconds(1));
  EXPECT_TRUE(first->has_value() && second->has_value() && third->has_value());
  EXPECT_EQ(control->address(), "b");
}

TEST_F(RoamingControlTest, ADeadlineMovesOnWhereNobodyIsHeard) {
  const auto control = Make({"a", "b"});
  Fail("a", MakeError(Reason::DEADLINE, "no answer"));
  EXPECT_THAT(Get(*control), HasReason(Reason::DEADLINE));
  EXPECT_EQ(control->address(), "b");
}

TEST_F(RoamingControlTest, ADeadlineOfOneCallSaysNothingWhereOthersAreHeard) {
  const auto control = Make({"a", "b"});
  workers_.at("a")->FailNext(ControlVerb::kPause, 1,
                             MakeError(Reason::DEADLINE, "no answer"));
  std::optional<absl::Status> paused;
  const auto heard = Ask(*control);
  control->Pause({}, [&](absl::Status status) { paused = std::move(status); });
  executor_.Advance(absl::Seconds(1));
  EXPECT_THAT(**heard, HasReason(Reason::NO_SUCH_CONNECTOR));
  EXPECT_THAT(*paused, HasReason(Reason::DEADLINE));
  EXPECT_EQ(control->address(), "a");
}

TEST_F(RoamingControlTest, NewAddressesKeepTheConnectionInUse) {
  const auto control = Make({"a", "b"});
  Fail("a", Broken());
  EXPECT_THAT(Get(*control), HasReason(Reason::UNAVAILABLE));
  FakeControl* const used = workers_.at("b");
  EXPECT_THAT(control->SetAddresses({"c", "b"}), IsOk());
  EXPECT_EQ(control->address(), "b");
  EXPECT_EQ(workers_.at("b"), used);
  EXPECT_THAT(control->SetAddresses({"c"}), IsOk());
  EXPECT_EQ(control->address(), "c");
  EXPECT_THAT(Get(*control), HasReason(Reason::NO_SUCH_CONNECTOR));
}

TEST_F(RoamingControlTest, AWrongAddressChangesNothing) {
  const auto control = Make({"a"});
  EXPECT_THAT(control->SetAddresses({"b", "wrong"}),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(control->SetAddresses({}), HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(control->address(), "a");
  EXPECT_THAT(Get(*control), HasReason(Reason::NO_SUCH_CONNECTOR));
}

}  // namespace
}  // namespace penstock::client
