#include "client/cli/election.h"

#include "client/controller/postgres_store.h"
#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/notification.h"
#include "core/base/thread_pool_executor.h"
#include "tests/support/manual_executor.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

using Standing = Election::Standing;

// Says when it is dropped.
class FakeController final : public Controller {
 public:
  void Start() override {}
  void Stop() override {}
  void Drop() override { dropped.Notify(); }
  void SetUserPaused(std::string, bool,
                     absl::AnyInvocable<void(absl::Status)>) override {}
  ControllerSnapshot Snapshot() const override { return {}; }
  void SetFaultHook(
      absl::AnyInvocable<void(FaultPoint, const std::string&)>) override {}

  core::Notification dropped;
};

class ElectionTest : public testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEED_POSTGRES();
    conninfo_ = core::PostgresServer::Shared().MakeDatabase();
    core::ManualExecutor executor;
    CHECK_OK(MakePostgresStore(
        {.place = PlaceAt(conninfo_), .create_if_missing = true}, executor));
  }
  static PostgresPlace PlaceAt(const std::string& conninfo) {
    auto parsed = core::Conninfo::Parse(conninfo);
    CHECK_OK(parsed);
    return {.conninfo = *std::move(parsed), .pipeline = "shop"};
  }
  static PostgresLeaseOptions Options(const std::string& conninfo,
                                      const std::string& name) {
    return {.place = PlaceAt(conninfo),
            .holder = name,
            .controller = name,
            .lasts = absl::Seconds(3)};
  }
  // Waits until it stands so; a test that hangs here is ended by its time-out.
  static Election::View Await(Election& election, Standing standing) {
    while (true) {
      Election::View view = election.view();
      if (view.standing == standing) return view;
      election.WaitForChange(absl::Seconds(1));
    }
  }

  std::string conninfo_;
  core::ThreadPoolExecutor executor_{"controller", 1};
};

TEST_F(ElectionTest, OneLeadsAndTheNextFollowsWhenItResigns) {
  auto first =
      std::make_unique<Election>(Options(conninfo_, "first"), executor_, 1);
  EXPECT_EQ(Await(*first, Standing::kLeading).reign, 1u);
  Election second(Options(conninfo_, "second"), executor_, 2);
  EXPECT_EQ(Await(second, Standing::kStandby).lease.controller, "first");
  first = nullptr;
  EXPECT_EQ(Await(second, Standing::kLeading).lease.controller, "second");
}

// A leader that is cut off from the store, which another reaches.
TEST_F(ElectionTest, WhoIsCutOffDropsItsControllerAndAsksWhenTold) {
  core::PostgresProxy proxy(core::PostgresServer::Shared().directory());
  Election first(
      Options(absl::StrReplaceAll(conninfo_,
                                  {{core::PostgresServer::Shared().directory(),
                                    proxy.directory()}}),
              "first"),
      executor_, 1);
  const Election::View led = Await(first, Standing::kLeading);
  const auto controller = std::make_shared<FakeController>();
  ASSERT_TRUE(first.Lead(led.reign, controller));
  Election second(Options(conninfo_, "second"), executor_, 2);
  Await(second, Standing::kStandby);
  proxy.SetScript([](const auto&) { return core::PostgresProxy::Deed::kCut; });
  controller->dropped.WaitForNotification();
  EXPECT_THAT(Await(first, Standing::kLost).trouble,
              core::HasReason(core::Reason::STALE_EPOCH));
  EXPECT_FALSE(first.Lead(led.reign, controller)) << "that reign is over";
  Await(second, Standing::kLeading);
  proxy.SetScript(nullptr);
  first.AskAgain();
  EXPECT_EQ(Await(first, Standing::kStandby).lease.controller, "second");
}

}  // namespace
}  // namespace penstock::client
