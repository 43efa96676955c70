// The controller on real threads with its real store, again and again as after
// a SIGKILL of it and its worker.
#include "client/controller/controller.h"
#include "client/controller/sqlite_store.h"
#include "core/base/notification.h"
#include "core/base/thread_pool_executor.h"
#include "tests/support/fake_control.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

class ControllerSqliteTest : public ::testing::Test {
 protected:
  ControllerSqliteTest() {
    options_.pipeline = "pipeline";
    options_.controller_id = "controller";
    options_.checkpoint_interval = absl::Milliseconds(20);
    options_.queue_wait = absl::Milliseconds(50);
    options_.step_block = 32;
    options_.stop_at_end_of_input = true;
    options_.connectors.push_back({.name = "c",
                                   .spec_bytes = "spec",
                                   .level = core::FtModel::kExactlyOnce,
                                   .worker = 0});
    auto& records = outside_.connectors["c"].records;
    for (int i = 0; i < 2000; ++i) records.push_back(absl::StrCat("r", i));
  }

  // One life of controller and worker; `passes`: killed soon after that many
  // passages of fault points. Returns: what it ended with; nullopt: killed.
  std::optional<absl::Status> Live(int passes) {
    // The worker in miniature is confined to this one thread.
    auto executor = std::make_unique<core::ThreadPoolExecutor>("controller", 1);
    auto disk = std::make_unique<core::ThreadPoolExecutor>("store", 1);
    core::FakeControl worker(*executor, outside_);
    auto store = MakeSqliteStore(directory_.Path("store.db"),
                                 {.create_if_missing = true}, *disk);
    EXPECT_OK(store);
    options_.nonce = absl::StrCat("nonce-", ++lives_);
    options_.random_seed = lives_;
    core::Notification over;
    std::atomic<bool> is_over{false};
    const auto notify = [&] {
      if (!is_over.exchange(true)) over.Notify();
    };
    std::optional<absl::Status> end;
    auto controller = Controller::Create(options_, *executor, **store,
                                         {&worker}, [&](absl::Status status) {
                                           end = std::move(status);
                                           notify();
                                         });
    controller->SetFaultHook([&](FaultPoint, const std::string&) {
      if (--passes == 0) notify();
    });
    controller->Start();
    EXPECT_TRUE(over.WaitForNotificationWithTimeout(absl::Seconds(60)));
    controller = nullptr;
    // Joined before what their tasks use goes.
    executor = nullptr;
    disk = nullptr;
    return end;
  }

  core::TempDir directory_;
  core::FakeOutside outside_;
  ControllerOptions options_;
  uint64_t lives_ = 0;
};

TEST_F(ControllerSqliteTest, EveryRecordArrivesOnceThoughAllIsKilledOften) {
  for (int passes = 1; passes < 40; passes += 3) {
    (void)Live(passes);
  }
  const std::optional<absl::Status> end = Live(0);
  ASSERT_TRUE(end.has_value());
  EXPECT_OK(*end);
  EXPECT_EQ(outside_.connectors["c"].rows, outside_.connectors["c"].records);
  EXPECT_GE(lives_, 10u);
}

}  // namespace
}  // namespace penstock::client
