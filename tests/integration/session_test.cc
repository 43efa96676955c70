// Sessions (rule 10), typed message by message to a real worker.
#include "core/base/notification.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/requests.h"
#include "proto/wire/spec.h"
#include "proto/wire/status.h"
#include "server/dispatch/fence_store.h"
#include "tests/integration/caller.h"
#include "tests/integration/fake_edge_worker.h"
#include "tests/integration/real_worker.h"
#include "tests/integration/session_wire.h"
#include "tests/support/status_matchers.h"

#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : path_(worker_.Write("in", Lines("line ", 1000))),
        caller_(worker_.control(), "p", 1) {}

  // Opens `name`, which reads all lines.
  void Open(const std::string& name) {
    ASSERT_OK(caller_.Open(LinesSpec(name, path_, "")).status());
  }
  void SetRef(v1::ConnectorRef& ref) const {
    ref.set_connector(caller_.ref.connector);
    ref.set_instance(caller_.ref.instance);
  }
  v1::SessionCommand Extend(uint64_t id) const {
    v1::SessionCommand command;
    command.set_id(id);
    SetRef(*command.mutable_extend()->mutable_connector());
    command.mutable_extend()->set_request_id(absl::StrCat("extend-", id));
    return command;
  }
  v1::SessionCommand Pause(uint64_t id) const {
    v1::SessionCommand command;
    command.set_id(id);
    SetRef(*command.mutable_pause()->mutable_connector());
    command.mutable_pause()->set_request_id(absl::StrCat("pause-", id));
    return command;
  }
  v1::SessionCommand Queue(uint64_t id, uint64_t step) const {
    v1::SessionCommand command;
    command.set_id(id);
    SetRef(*command.mutable_queue()->mutable_connector());
    command.mutable_queue()->set_step(step);
    command.mutable_queue()->set_previous_steps(step);
    return command;
  }

  RealWorker worker_;
  const std::string path_;
  Caller caller_;
};

TEST_F(SessionTest, BeginsWithHellosAndTheWholeInventory) {
  Open("orders");
  Open("carts");
  SessionWire wire(worker_.target());
  ASSERT_TRUE(wire.Send(SessionWire::Hello(1)));
  const auto hello = wire.Next();
  ASSERT_TRUE(hello.has_value() && hello->has_hello());
  EXPECT_EQ(hello->hello().worker().protocol_version(), 1U);
  EXPECT_THAT(hello->hello().worker().capabilities(),
              ::testing::Contains("session"));
  const auto inventory = wire.Next();
  ASSERT_TRUE(inventory.has_value() && inventory->has_inventory());
  EXPECT_TRUE(inventory->inventory().is_last());
  ASSERT_EQ(inventory->inventory().connectors_size(), 2);
  const v1::ConnectorSummary& orders =
      inventory->inventory().connectors(1).connector();
  EXPECT_EQ(orders.connector(), "orders");
  EXPECT_EQ(orders.writer().open_number(), 1U);
  EXPECT_EQ(orders.incarnation(), "incarnation-of-a-test");
  EXPECT_EQ(orders.spec_hash().size(), 8U);
}

TEST_F(SessionTest, CarriesAStepAndItsRelease) {
  Open("orders");
  SessionWire wire(worker_.target());
  EXPECT_EQ(wire.Initialize(1).size(), 1U);
  ASSERT_TRUE(wire.Send(Extend(1)));
  ASSERT_TRUE(wire.Send(Queue(2, 0)));
  EXPECT_TRUE(wire.ReplyTo(1).has_extend());
  const v1::SessionReply step = wire.ReplyTo(2);
  ASSERT_TRUE(step.has_queue()) << step.error().message();
  EXPECT_GT(step.queue().result().amount().records(), 0U);
  v1::SessionCommand release;
  release.set_id(3);
  SetRef(*release.mutable_release()->mutable_connector());
  release.mutable_release()->set_released_steps(1);
  ASSERT_TRUE(wire.Send(release));
  EXPECT_EQ(wire.ReplyTo(3).release().released_steps(), 1U);
}

// With and without a release they take the same way. Replies may come in any
// order; that each is good says that none overtook another, for a connector
// that is paused cannot be paused.
TEST_F(SessionTest, CommandsToOneConnectorKeepTheirOrder) {
  Open("orders");
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  v1::ControllerMessage message;
  constexpr uint64_t kCommands = 200;
  for (uint64_t id = 1; id <= kCommands; id += 2) {
    v1::SessionCommand extend = Extend(id);
    if (id % 4 == 1) extend.mutable_extend()->set_released_steps(0);
    ASSERT_TRUE(wire.Send(extend));
    ASSERT_TRUE(wire.Send(Pause(id + 1)));
  }
  for (uint64_t id = 1; id <= kCommands; ++id) {
    const v1::SessionReply reply = wire.ReplyTo(id);
    EXPECT_FALSE(reply.has_error()) << id << ": " << reply.error().message();
  }
}

TEST_F(SessionTest, WhatIsWrongWithOneCommandIsItsAnswer) {
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  v1::SessionCommand none;
  none.set_id(7);
  ASSERT_TRUE(wire.Send(none));
  EXPECT_EQ(wire.ReplyTo(7).error().code(), 12);  // UNIMPLEMENTED
  v1::SessionCommand get;
  get.set_id(8);
  get.mutable_get_connector()->set_connector("nobody");
  ASSERT_TRUE(wire.Send(get));
  EXPECT_EQ(wire.ReplyTo(8).error().code(), 5);  // NOT_FOUND
}

TEST_F(SessionTest, EverythingHasItsTime) {
  SessionWire early(worker_.target());
  ASSERT_TRUE(early.Send(SessionWire::Desired()));
  EXPECT_THAT(early.End(), HasReason(Reason::INVALID_REQUEST));

  SessionWire hasty(worker_.target());
  ASSERT_TRUE(hasty.Send(SessionWire::Hello(1)));
  (void)hasty.Next();
  ASSERT_TRUE(hasty.Send(Queue(1, 0)));
  EXPECT_THAT(hasty.End(), HasReason(Reason::INVALID_REQUEST));

  SessionWire twice(worker_.target());
  (void)twice.Initialize(1);
  v1::SessionCommand get;
  get.set_id(2);
  get.mutable_get_connector()->set_connector("nobody");
  ASSERT_TRUE(twice.Send(get));
  ASSERT_TRUE(twice.Send(get));
  EXPECT_THAT(twice.End(), HasReason(Reason::INVALID_REQUEST));
}

TEST_F(SessionTest, AHigherEpochEndsIt) {
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  SessionWire next(worker_.target());
  (void)next.Initialize(2);
  EXPECT_THAT(wire.End(), HasReason(Reason::SUPERSEDED));
  SessionWire late(worker_.target());
  ASSERT_TRUE(late.Send(SessionWire::Hello(1)));
  EXPECT_THAT(late.End(), HasReason(Reason::STALE_EPOCH));
}

TEST_F(SessionTest, AnotherPipelinesTakeoverIsNoneOfItsBusiness) {
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  SessionWire other(worker_.target());
  ASSERT_TRUE(other.Send(SessionWire::Hello(9, "another")));
  ASSERT_TRUE(other.Next().has_value());
  v1::SessionCommand get;
  get.set_id(1);
  get.mutable_get_connector()->set_connector("nobody");
  ASSERT_TRUE(wire.Send(get));
  EXPECT_TRUE(wire.ReplyTo(1).has_error());
}

TEST_F(SessionTest, ASilentControllerIsGivenUp) {
  SessionWire wire(worker_.target());
  v1::ControllerMessage hello = SessionWire::Hello(1);
  *hello.mutable_hello()->mutable_heartbeat_interval() =
      wire::DurationToProto(absl::Milliseconds(100));
  ASSERT_TRUE(wire.Send(hello));
  EXPECT_THAT(wire.End(), HasReason(Reason::UNAVAILABLE));
  EXPECT_GE(wire.heartbeats(), 1);
}

TEST_F(SessionTest, ComparesWhatIsDesiredWithWhatIsThere) {
  Open("reused");
  const std::string instance = caller_.ref.instance;
  Open("changed");
  Open("dropped");
  SessionWire wire(worker_.target());
  ASSERT_TRUE(wire.Send(SessionWire::Hello(1)));
  v1::ControllerMessage message = SessionWire::Desired();
  message.mutable_desired()->set_drop_others(true);
  auto* reused = message.mutable_desired()->add_connectors();
  reused->set_connector("reused");
  reused->set_instance(instance);
  reused->set_journaled_steps(0);
  auto* changed = message.mutable_desired()->add_connectors();
  changed->set_connector("changed");
  changed->set_spec_hash("another!");
  message.mutable_desired()->add_connectors()->set_connector("missing");
  (void)wire.Next();  // The hello; then the inventory.
  ASSERT_TRUE(wire.Next()->inventory().is_last());
  ASSERT_TRUE(wire.Send(message));
  const auto reconciled = wire.Next();
  ASSERT_TRUE(reconciled.has_value() && reconciled->has_reconciled());
  std::vector<std::pair<std::string, v1::Reconciliation>> outcomes;
  for (const auto& one : reconciled->reconciled().connectors()) {
    outcomes.emplace_back(one.connector(), one.outcome());
  }
  EXPECT_THAT(outcomes,
              ::testing::ElementsAre(
                  ::testing::Pair("changed", v1::RECONCILIATION_CHANGED),
                  ::testing::Pair("dropped", v1::RECONCILIATION_DROPPED),
                  ::testing::Pair("missing", v1::RECONCILIATION_MISSING),
                  ::testing::Pair("reused", v1::RECONCILIATION_REUSED)));
  ASSERT_TRUE(wire.Next()->has_initialization_complete());
}

TEST_F(SessionTest, TellsEventsThatWereAskedFor) {
  Open("orders");
  SessionWire wire(worker_.target());
  v1::ControllerMessage hello = SessionWire::Hello(1);
  hello.mutable_hello()->add_events(v1::WATCH_KIND_STATE);
  ASSERT_TRUE(wire.Send(hello));
  ASSERT_OK(caller_.Extend());
  while (true) {
    const auto message = wire.Next();
    ASSERT_TRUE(message.has_value());
    if (message->has_event() && message->event().has_state_changed() &&
        message->event().state_changed().state() ==
            v1::CONNECTOR_STATE_RUNNING) {
      break;
    }
  }
}

TEST_F(SessionTest, FiveHundredEndWithTheWorker) {
  std::vector<std::unique_ptr<SessionWire>> wires;
  for (int i = 0; i < 500; ++i) {
    wires.push_back(std::make_unique<SessionWire>(worker_.target()));
    ASSERT_TRUE(wires.back()->Send(SessionWire::Hello(1)));
    ASSERT_TRUE(wires.back()->Next().has_value());
  }
  EXPECT_TRUE(worker_.app().Drain());
  for (const auto& wire : wires) {
    // The second where it was too late for the reason.
    EXPECT_THAT(wire->End(), ::testing::AnyOf(HasReason(Reason::SHUTTING_DOWN),
                                              HasReason(Reason::UNAVAILABLE)));
  }
}

// Once pending answers were dropped by it (B127).
TEST_F(SessionTest, AHalfCloseLosesNoAnswer) {
  Open("orders");
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  ASSERT_TRUE(wire.Send(Extend(1)));
  // Answered when its deadline is over: nothing will be completed.
  v1::SessionCommand prepare;
  prepare.set_id(2);
  SetRef(*prepare.mutable_prepare_checkpoint()->mutable_connector());
  prepare.mutable_prepare_checkpoint()->set_steps(1);
  *prepare.mutable_prepare_checkpoint()->mutable_deadline() =
      wire::DurationToProto(absl::Milliseconds(500));
  ASSERT_TRUE(wire.Send(prepare));
  for (uint64_t id = 3; id <= 102; ++id) {
    v1::SessionCommand get;
    get.set_id(id);
    get.mutable_get_connector()->set_connector("orders");
    ASSERT_TRUE(wire.Send(get));
  }
  // Announced, and never sent.
  v1::SessionCommand open;
  open.set_id(103);
  v1::OpenConnectorStart& start = *open.mutable_open_connector();
  start.set_request_id("open");
  *start.mutable_spec() = wire::SpecToProto(LinesSpec("carts", path_, ""));
  start.mutable_writer()->set_epoch(1);
  start.mutable_writer()->set_open_number(1);
  start.set_incarnation("incarnation");
  start.mutable_position()->set_format("json");
  start.mutable_position()->mutable_part()->set_length(1000);
  ASSERT_TRUE(wire.Send(open));
  wire.CloseMySide();
  std::map<uint64_t, bool> failed;
  while (const auto message = wire.Next()) {
    if (message->has_reply()) {
      failed[message->reply().id()] = message->reply().has_error();
    }
  }
  EXPECT_OK(wire.End());
  EXPECT_EQ(failed.size(), 103u);
  for (const auto& [id, has_failed] : failed) {
    EXPECT_EQ(has_failed, id == 103) << id;
  }
}

// Extended without it, it would read from where that step began.
TEST_F(SessionTest, WhatIsBehindACutReplayIsNotRun) {
  Open("orders");
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  core::ReplayRequest request;
  request.result.resume =
      core::Resume(core::Resume::Replay{.seek = R"({"next":"step"})",
                                        .replay = std::string(1 << 20, 'x'),
                                        .hash = 99});
  request.result.hash = core::StepHash{.value = 99, .count = 2};
  v1::SessionCommand replay;
  replay.set_id(1);
  *replay.mutable_replay() = wire::ToProto(caller_.Header(), request);
  ASSERT_TRUE(replay.replay().journaled().resume().replay().data().has_part());
  ASSERT_TRUE(wire.Send(replay));
  ASSERT_TRUE(wire.Send(Extend(2)));
  ASSERT_TRUE(wire.Send(Queue(3, 1)));
  wire.CloseMySide();
  std::set<uint64_t> failed;
  while (const auto message = wire.Next()) {
    if (!message->has_reply()) continue;
    EXPECT_THAT(wire::StatusFromProto(message->reply().error()),
                HasReason(Reason::INVALID_REQUEST));
    failed.insert(message->reply().id());
  }
  EXPECT_OK(wire.End());
  EXPECT_THAT(failed, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(caller_.State(), core::ConnectorState::kOpened);
}

// Whoever does not read misses events, and is told so by a new beginning.
TEST_F(SessionTest, ASlowReaderLosesItsWatchAndNotItsSession) {
  Open("orders");
  SessionWire wire(worker_.target());
  v1::ControllerMessage hello = SessionWire::Hello(1);
  hello.mutable_hello()->add_events(v1::WATCH_KIND_STATE);
  ASSERT_TRUE(wire.Send(hello));
  int beginnings = 0;
  while (true) {
    const auto message = wire.Next();
    ASSERT_TRUE(message.has_value());
    if (message->has_inventory()) {
      ASSERT_TRUE(wire.Send(SessionWire::Desired()));
    }
    if (message->has_event() && message->event().has_created()) ++beginnings;
    if (message->has_initialization_complete()) break;
  }
  // More replies than the line holds, and less than the worker keeps.
  constexpr uint64_t kGets = 3000;
  for (uint64_t id = 1; id <= kGets; ++id) {
    v1::SessionCommand get;
    get.set_id(id);
    get.mutable_get_connector()->set_connector("orders");
    ASSERT_TRUE(wire.Send(get));
  }
  // And more events than a watch holds.
  for (int i = 0; i < 600; ++i) {
    ASSERT_OK(caller_.Extend());
    ASSERT_OK(caller_.Pause());
  }
  int replies = 0;
  while (replies < static_cast<int>(kGets) || beginnings < 2) {
    const auto message = wire.Next();
    ASSERT_TRUE(message.has_value()) << wire.End();
    if (message->has_reply()) ++replies;
    if (message->has_event() && message->event().has_created()) ++beginnings;
  }
}

// A store whose disk is slow.
class SlowFenceStore final : public server::FenceStore {
 public:
  absl::StatusOr<std::map<std::string, server::FenceRecord>> Load() override {
    return std::map<std::string, server::FenceRecord>();
  }
  absl::Status Save(
      const std::map<std::string, server::FenceRecord>& /*records*/) override {
    absl::SleepFor(absl::Milliseconds(700));
    return absl::OkStatus();
  }
};

TEST(SessionTakeoverTest, ASlowOneIsNoSilence) {
  FakeEdgeWorker worker([] { return nullptr; },
                        std::make_unique<SlowFenceStore>());
  SessionWire wire(worker.client().target());
  v1::ControllerMessage hello = SessionWire::Hello(1);
  *hello.mutable_hello()->mutable_heartbeat_interval() =
      wire::DurationToProto(absl::Milliseconds(100));
  ASSERT_TRUE(wire.Send(hello));
  const auto first = wire.Next();
  ASSERT_TRUE(first.has_value()) << wire.End();
  EXPECT_TRUE(first->has_hello());
  // It is the first.
  EXPECT_EQ(wire.heartbeats(), 0);
}

// The worker goes only when what was asked over Sessions is answered.
TEST_F(SessionTest, WhatIsUnderWayEndsWithTheWorker) {
  Open("orders");
  SessionWire wire(worker_.target());
  (void)wire.Initialize(1);
  v1::SessionCommand prepare;
  prepare.set_id(1);
  SetRef(*prepare.mutable_prepare_checkpoint()->mutable_connector());
  prepare.mutable_prepare_checkpoint()->set_steps(1);
  *prepare.mutable_prepare_checkpoint()->mutable_deadline() =
      wire::DurationToProto(absl::Minutes(10));
  ASSERT_TRUE(wire.Send(prepare));
  v1::SessionCommand get;
  get.set_id(2);
  get.mutable_get_connector()->set_connector("orders");
  ASSERT_TRUE(wire.Send(get));
  EXPECT_TRUE(wire.ReplyTo(2).has_get_connector());
  (void)worker_.app().Drain();
  EXPECT_THAT(wire.End(), ::testing::AnyOf(HasReason(Reason::SHUTTING_DOWN),
                                           HasReason(Reason::UNAVAILABLE)));
}

}  // namespace
}  // namespace penstock
