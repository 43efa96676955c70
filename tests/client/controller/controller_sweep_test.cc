// What a pipeline left where nothing of it belongs.
#include "core/base/error.h"
#include "tests/client/controller/controller_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using core::ControlVerb;

class ControllerSweepTest : public ControllerTest {
 protected:
  ControllerSweepTest() {
    AddConnector(30).ends = false;
    options_.elsewhere = {PlaceOf("elsewhere", elsewhere_)};
  }
  // As of an earlier controller.
  void Leave(const std::string& name, const std::string& pipeline,
             uint64_t open_number = 1) {
    core::FakeOutside::Connector& outside = outside_.connectors[name];
    const core::FakeOutside::Connector before = outside;
    core::OpenRequest open;
    open.fence = {.pipeline = pipeline,
                  .controller_id = "before",
                  .epoch = 0,
                  .nonce = ""};
    open.spec.name = name;
    open.first_open = true;
    open.writer = {.epoch = 1, .open_number = open_number};
    elsewhere_.Open(open, [](const auto&) {});
    RunFor(absl::Seconds(1));
    ASSERT_NE(elsewhere_.InstanceOf(name), nullptr);
    outside = before;
  }

  core::FakeControl elsewhere_{executor_, outside_};
};

TEST_F(ControllerSweepTest, WhatWasLeftElsewhereIsDeleted) {
  Leave("left", options_.pipeline);
  Leave("foreign", "another pipeline");
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps >= 3; }));
  EXPECT_EQ(elsewhere_.InstanceOf("left"), nullptr);
  EXPECT_NE(elsewhere_.InstanceOf("foreign"), nullptr);
}

TEST_F(ControllerSweepTest, AsSoonAsSomebodyAnswersThere) {
  Leave("left", options_.pipeline);
  elsewhere_.SetAway(true);
  Start();
  ASSERT_TRUE(RunUntil([&] { return Progress().released_steps >= 3; }));
  EXPECT_NE(elsewhere_.InstanceOf("left"), nullptr);
  RunFor(absl::Minutes(3));
  elsewhere_.SetAway(false);
  RunFor(absl::Minutes(1));
  EXPECT_EQ(elsewhere_.InstanceOf("left"), nullptr);
}

TEST_F(ControllerSweepTest, AnEarlierLifeOfAConnectorIsDeletedThere) {
  Leave(options_.connectors[0].name, options_.pipeline, 0);
  Start();
  RunFor(absl::Minutes(2));
  EXPECT_EQ(elsewhere_.InstanceOf(options_.connectors[0].name), nullptr);
  EXPECT_EQ(Progress().state, "running");
}

// One process at two addresses.
TEST_F(ControllerSweepTest, WhatRunsIsNotDeletedByAnotherAddress) {
  options_.elsewhere = {PlaceOf("another address", worker_)};
  Start();
  RunFor(absl::Hours(1));
  EXPECT_EQ(Progress().state, "running");
  EXPECT_EQ(worker_.CountOf(ControlVerb::kOpen), 1u);
  EXPECT_EQ(worker_.CountOf(ControlVerb::kDelete), 1u) << "before the open";
}

TEST_F(ControllerSweepTest, ItDoesNotAskForEver) {
  elsewhere_.SetAway(true);
  Start();
  RunFor(absl::Hours(1));
  const size_t looks = elsewhere_.CountOf(ControlVerb::kList);
  EXPECT_GT(looks, 10u);
  EXPECT_LE(looks, 30u);
  RunFor(absl::Hours(10));
  EXPECT_EQ(elsewhere_.CountOf(ControlVerb::kList), looks);
}

}  // namespace
}  // namespace penstock::client
