// A controller, a worker in miniature and a store in memory on one executor.
#pragma once

#include "client/controller/controller.h"
#include "tests/support/fake_control.h"
#include "tests/support/fake_state_store.h"
#include "tests/support/manual_executor.h"

#include <absl/status/status.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest();

  // A connector "c" (or `name`) whose source has `records` records.
  core::FakeOutside::Connector& AddConnector(size_t records,
                                             std::string name = "c",
                                             size_t worker = 0);
  void AddRecords(size_t records, const std::string& name = "c");
  // Makes the next controller, as after a crash of the one before.
  void Start();
  void Crash();
  // Runs task after task and moves virtual time until `done`, which is looked
  // at after each; at most `limit`.
  template <typename Predicate>
  bool RunUntil(Predicate done, absl::Duration limit = absl::Minutes(10)) {
    const absl::Time end = executor_.clock().SteadyNow() + limit;
    while (!done()) {
      if (executor_.RunOne()) continue;
      if (executor_.NextTimer() > end) return false;
      executor_.AdvanceToNextTimer();
    }
    return true;
  }
  bool RunToEnd(absl::Duration limit = absl::Minutes(10)) {
    return RunUntil([this] { return end_.has_value(); }, limit);
  }
  void RunFor(absl::Duration duration) { executor_.Advance(duration); }

  ConnectorProgress Progress(const std::string& name = "c") const;
  const StoredConnector& Stored(const std::string& name = "c") const {
    return disk_.state.connectors.at(name);
  }
  core::FakeOutside::Connector& Outside(const std::string& name = "c") {
    return outside_.connectors.at(name);
  }
  // Every record stands in the target, once, in order.
  void ExpectExactlyOnce(const std::string& name = "c");
  std::vector<core::FakeControl::Call> CallsOf(core::ControlVerb verb) const;

  core::ManualExecutor executor_;
  core::FakeOutside outside_;
  FakeStoreDisk disk_;
  core::FakeControl worker_{executor_, outside_};
  core::FakeControl other_worker_{executor_, outside_};
  ControllerOptions options_;
  std::unique_ptr<FakeStateStore> store_;
  std::shared_ptr<Controller> controller_;
  // What on_end said; each Start clears it.
  std::optional<absl::Status> end_;
  int ends_ = 0;
  // Set before Start.
  absl::AnyInvocable<void(FaultPoint, const std::string&)> hook_;
};

}  // namespace penstock::client
