#include "server/rpc/watch_hub.h"

#include "core/base/error.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/functional/any_invocable.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Connectors that are nothing but their status.
class FakeStatuses final : public ConnectorStatuses {
 public:
  void Add(const std::string& name, const std::string& instance) {
    statuses[name].name = name;
    statuses[name].instance = instance;
    statuses[name].pipeline = "shop";
  }
  std::vector<core::ConnectorStatus> Statuses() const override {
    std::vector<core::ConnectorStatus> all;
    for (const auto& [name, status] : statuses) all.push_back(status);
    return all;
  }
  std::optional<core::ConnectorStatus> StatusOf(
      const std::string& name) const override {
    const auto found = statuses.find(name);
    if (found == statuses.end()) return std::nullopt;
    const core::ConnectorStatus status = found->second;
    if (when_asked) std::exchange(when_asked, nullptr)();
    return status;
  }

  std::map<std::string, core::ConnectorStatus> statuses;
  // Runs once, when a status was read and has not been returned.
  mutable absl::AnyInvocable<void()> when_asked;
};

class WatchHubTest : public ::testing::Test {
 protected:
  WatchHubTest() { hub_.SetConnectors(&statuses_); }

  std::shared_ptr<Watcher> Watch() {
    WatchFilter filter;
    filter.kinds = {v1::WATCH_KIND_STATE};
    auto watcher = hub_.Watch(filter, std::nullopt, "", [] {});
    EXPECT_OK(watcher);
    (*watcher)->Take();
    return *watcher;
  }
  // "instance state", or "instance deleted", of each change.
  std::vector<std::string> Changes(Watcher& watcher) {
    executor_.Advance(absl::Seconds(1));
    std::vector<std::string> changes;
    for (const v1::WatchEvent& event : watcher.Take()) {
      const auto& change = event.state_changed();
      changes.push_back(absl::StrCat(
          event.instance(), " ",
          change.deleted() ? "deleted"
                           : v1::ConnectorState_Name(change.state())));
    }
    return changes;
  }

  core::ManualExecutor executor_;
  FakeStatuses statuses_;
  WatchHub hub_{"run", executor_};
};

TEST_F(WatchHubTest, AConnectorIsOpenedAndDeleted) {
  const auto watcher = Watch();
  statuses_.Add("orders", "one");
  hub_.OnOpened("orders");
  EXPECT_THAT(Changes(*watcher), ElementsAre("one CONNECTOR_STATE_OPENED"));
  statuses_.statuses.clear();
  hub_.OnRemoved("orders", "one");
  EXPECT_THAT(Changes(*watcher), ElementsAre("one deleted"));
}

// It was once reported as opened again, and remembered for ever.
TEST_F(WatchHubTest, WhatIsRemovedWhileItIsLookedAtIsNotLearntAgain) {
  const auto watcher = Watch();
  statuses_.Add("orders", "one");
  hub_.OnOpened("orders");
  statuses_.when_asked = [this] {
    statuses_.statuses.clear();
    hub_.OnRemoved("orders", "one");
  };
  EXPECT_THAT(Changes(*watcher), ElementsAre("one deleted"));
  hub_.OnChanged("orders");
  EXPECT_THAT(Changes(*watcher), IsEmpty());
}

// Between two looks: rule 11 lets counters coalesce, not states.
TEST_F(WatchHubTest, NoChangeOfStateIsLeftOut) {
  const auto watcher = Watch();
  statuses_.Add("orders", "one");
  hub_.OnOpened("orders");
  Changes(*watcher);
  for (const auto& [previous, state] :
       {std::pair{core::ConnectorState::kOpened,
                  core::ConnectorState::kRunning},
        std::pair{core::ConnectorState::kRunning,
                  core::ConnectorState::kPaused}}) {
    hub_.OnState("orders", "one", "shop", previous, state);
    statuses_.statuses["orders"].state = state;
    hub_.OnChanged("orders");
  }
  EXPECT_THAT(Changes(*watcher), ElementsAre("one CONNECTOR_STATE_RUNNING",
                                             "one CONNECTOR_STATE_PAUSED"));
}

TEST_F(WatchHubTest, AChangeBeforeTheFirstLookIsToldOnce) {
  WatchFilter filter;
  filter.kinds = {v1::WATCH_KIND_STATE};
  filter.pipeline = "shop";
  auto watcher = hub_.Watch(filter, std::nullopt, "", [] {});
  ASSERT_OK(watcher);
  (*watcher)->Take();
  statuses_.Add("orders", "one");
  hub_.OnOpened("orders");
  hub_.OnState("orders", "one", "shop", core::ConnectorState::kOpened,
               core::ConnectorState::kRunning);
  statuses_.statuses["orders"].state = core::ConnectorState::kRunning;
  EXPECT_THAT(Changes(**watcher), ElementsAre("one CONNECTOR_STATE_RUNNING"));
}

TEST_F(WatchHubTest, ARemovalOfAnotherOnlyDelaysALook) {
  const auto watcher = Watch();
  statuses_.Add("orders", "one");
  statuses_.Add("bread", "other");
  hub_.OnOpened("orders");
  statuses_.when_asked = [this] {
    statuses_.statuses.erase("bread");
    hub_.OnRemoved("bread", "other");
  };
  EXPECT_THAT(Changes(*watcher),
              ElementsAre("other deleted", "one CONNECTOR_STATE_OPENED"));
}

TEST_F(WatchHubTest, ALateRemovalDoesNotTouchTheSuccessor) {
  const auto watcher = Watch();
  statuses_.Add("orders", "two");
  hub_.OnOpened("orders");
  EXPECT_THAT(Changes(*watcher), ElementsAre("two CONNECTOR_STATE_OPENED"));
  hub_.OnRemoved("orders", "one");
  EXPECT_THAT(Changes(*watcher), ElementsAre("one deleted"));
  hub_.OnChanged("orders");
  EXPECT_THAT(Changes(*watcher), IsEmpty()) << "nothing of it has changed";
}

}  // namespace
}  // namespace penstock::server
