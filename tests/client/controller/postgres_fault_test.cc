// Lost connections, late statements, stopped controllers, a server that goes
// away: whatever a store answers is true, and whoever was replaced changes
// nothing.
#include "client/controller/postgres_link.h"
#include "client/controller/postgres_rows.h"
#include "client/controller/stored_rows.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/notification.h"
#include "core/base/thread_pool_executor.h"
#include "tests/client/controller/postgres_store_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::PostgresProxy;
using core::Reason;
using testing::ElementsAre;
using testing::IsEmpty;
using Deed = PostgresProxy::Deed;

const absl::Duration kShort = absl::Milliseconds(300);

class PostgresFaultTest : public PostgresStoreTest {
 protected:
  void SetUp() override {
    PostgresStoreTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    proxy_ = std::make_unique<PostgresProxy>(
        core::PostgresServer::Shared().directory());
  }
  // A handle over the wire, which leads and holds "c".
  std::unique_ptr<StateStore> LeadThroughWire(
      absl::Duration call_deadline = absl::Seconds(10)) {
    PostgresStoreOptions options = OptionsThrough(*proxy_);
    options.place.call_deadline = call_deadline;
    auto store = Make(options);
    StartWithC(*store);
    return store;
  }
  // The next statement meets `deed`, all others are forwarded.
  void ScriptNext(Deed deed) {
    proxy_->SetScript([deed](const PostgresProxy::Statement& statement) {
      return statement.number == 1 ? deed : Deed::kForward;
    });
  }
  // Everything in the tables.
  std::string Content() {
    return Scalar(
        "SELECT (SELECT jsonb_agg(p ORDER BY p)::text FROM"
        " penstock_state.pipelines p) || (SELECT jsonb_agg(c ORDER BY"
        " c)::text FROM penstock_state.connectors c) || coalesce((SELECT"
        " jsonb_agg(j ORDER BY j)::text FROM penstock_state.journal j), '')");
  }

  std::unique_ptr<PostgresProxy> proxy_;
};

// --- One fault, at each statement of a life --------------------------------

enum class Fault { kCut, kAnswerLost, kBackendEnded };

class PostgresFaultAtEachTest : public PostgresFaultTest,
                                public testing::WithParamInterface<Fault> {
 protected:
  // As the controller does with an answer that says nothing.
  template <typename Call>
  auto Again(Call call) {
    auto answer = call();
    for (int i = 0; i < 5 && HasUnavailable(answer); ++i) answer = call();
    return answer;
  }
  static bool HasUnavailable(const absl::Status& status) {
    return core::HasReason(status, Reason::UNAVAILABLE);
  }
  template <typename T>
  static bool HasUnavailable(const absl::StatusOr<T>& answer) {
    return core::HasReason(answer.status(), Reason::UNAVAILABLE);
  }

  Deed Strike(const PostgresProxy::Statement& statement) {
    switch (GetParam()) {
      case Fault::kCut:
        return Deed::kCut;
      case Fault::kAnswerLost:
        return Deed::kCutAnswer;
      case Fault::kBackendEnded:
        break;
    }
    const auto ended = core::PostgresServer::Connect(conninfo_)->Exec(
        absl::StrCat("SELECT pg_terminate_backend(", statement.backend,
                     ", 30000)"),
        core::RealClock().SteadyNow() + absl::Seconds(40));
    EXPECT_OK(ended);
    return Deed::kForward;
  }

  // Opens, leads, journals, checkpoints. Returns: statements that were sent.
  uint64_t Live(uint64_t fault_at) {
    proxy_->SetScript([this, fault_at](const auto& statement) {
      return statement.number == fault_at ? Strike(statement) : Deed::kForward;
    });
    auto store = Again(
        [&] { return MakePostgresStore(OptionsThrough(*proxy_), executor_); });
    EXPECT_OK(store);
    if (!store.ok()) return 0;
    const auto led = Again([&] { return Lead(executor_, **store); });
    EXPECT_OK(led);
    if (!led.ok()) return 0;
    epoch_ = led->epoch;
    const auto commit = [&](const StoreTransaction& transaction) {
      EXPECT_OK(Again([&] { return CommitTo(**store, transaction); }));
    };
    commit(AddConnectorC());
    commit(JournalOf(1));
    commit(JournalOf(2));
    StoreTransaction checkpoint;
    checkpoint.checkpoints.push_back({"c", 2, "{\"at\":2}", "spec of c"});
    commit(checkpoint);
    commit(JournalOf(3));
    return proxy_->statements();
  }
};

TEST_P(PostgresFaultAtEachTest, StateIsAsIfNothingHadHappened) {
  uint64_t fault_at = 0;
  uint64_t statements = 0;
  do {
    Sql("DROP SCHEMA IF EXISTS penstock_state CASCADE");
    statements = Live(++fault_at);
    ASSERT_GT(statements, 10u) << "fault at statement " << fault_at;
    const auto found = OpenAndLead();
    ASSERT_OK(found) << "fault at statement " << fault_at;
    EXPECT_GT(found->epoch, epoch_);
    const StoredConnector& c = found->connectors.at("c");
    EXPECT_EQ(c.base_steps, 2u);
    EXPECT_EQ(c.reserved_steps, 1000u);
    EXPECT_EQ(c.position, "{\"at\":2}");
    EXPECT_THAT(c.journal, ElementsAre(FullResult(2), FullResult(3)))
        << "fault at statement " << fault_at;
  } while (fault_at < statements);
}

INSTANTIATE_TEST_SUITE_P(Faults, PostgresFaultAtEachTest,
                         testing::Values(Fault::kCut, Fault::kAnswerLost,
                                         Fault::kBackendEnded),
                         [](const auto& param) {
                           switch (param.param) {
                             case Fault::kCut:
                               return "Cut";
                             case Fault::kAnswerLost:
                               return "AnswerLost";
                             case Fault::kBackendEnded:
                               return "BackendEnded";
                           }
                           return "";
                         });

// --- A commit that arrives late ---------------------------------------------

TEST_F(PostgresFaultTest, LateStatementOfOursTakesEffectOnceOrNever) {
  const auto store = LeadThroughWire(kShort);
  ScriptNext(Deed::kHold);
  EXPECT_THAT(CommitTo(*store, JournalOf(1)), HasReason(Reason::UNAVAILABLE));
  ASSERT_OK(CommitTo(*store, JournalOf(1))) << "the same again";
  ASSERT_OK(CommitTo(*store, JournalOf(2)));
  const std::string before = Content();
  proxy_->ReleaseHeld();
  EXPECT_EQ(Content(), before);
  ASSERT_OK(CommitTo(*store, JournalOf(3)));
  EXPECT_THAT(ReadJournal(),
              ElementsAre(FullResult(1), FullResult(2), FullResult(3)));
}

TEST_F(PostgresFaultTest, LateStatementThatComesFirstIsFound) {
  const auto store = LeadThroughWire(kShort);
  ScriptNext(Deed::kHold);
  EXPECT_THAT(CommitTo(*store, JournalOf(1)), HasReason(Reason::UNAVAILABLE));
  proxy_->ReleaseHeld();
  core::StepResult other = FullResult(1);
  other.end_of_input = false;
  StoreTransaction contradiction;
  contradiction.journal.push_back({"c", other});
  EXPECT_THAT(CommitTo(*store, contradiction),
              HasReason(Reason::ALREADY_EXISTS));
  ASSERT_OK(CommitTo(*store, JournalOf(1)));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1)));
}

// --- A controller that is stopped, replaced, and woken ----------------------

class PostgresSleeperTest : public PostgresFaultTest,
                            public testing::WithParamInterface<Deed> {};

// Stopped with its commit not sent, or half of it sent: the successor does not
// wait for it, and what comes of it afterwards changes nothing.
TEST_P(PostgresSleeperTest, WokenInItsCommitChangesNothing) {
  const auto sleeper = LeadThroughWire(kShort);
  ScriptNext(GetParam());
  EXPECT_THAT(CommitTo(*sleeper, JournalOf(1)), HasReason(Reason::UNAVAILABLE));
  const auto successor = Make(Options());
  const auto led = Lead(executor_, *successor);
  ASSERT_OK(led);
  EXPECT_THAT(led->connectors.at("c").journal, IsEmpty());
  ASSERT_OK(Commit(executor_, *successor, led->epoch, JournalOf(2)));
  const std::string before = Content();
  proxy_->ReleaseHeld();
  EXPECT_EQ(Content(), before);
  EXPECT_THAT(CommitTo(*sleeper, JournalOf(1)), HasReason(Reason::STALE_EPOCH));
  EXPECT_EQ(Content(), before);
}

INSTANTIATE_TEST_SUITE_P(Sleepers, PostgresSleeperTest,
                         testing::Values(Deed::kHold, Deed::kHoldHalf),
                         [](const auto& param) {
                           return param.param == Deed::kHold ? "NotSent"
                                                             : "HalfSent";
                         });

// The server itself stands between the assertion and the writes: it waits for
// the header's lock while a successor takes the next epoch.
TEST_F(PostgresFaultTest, CommitThatWaitsWhileTheEpochChangesChangesNothing) {
  core::ThreadPoolExecutor thread("store", 1);
  const auto store = MakePostgresStore(Options(), thread);
  ASSERT_OK(store);
  core::Notification led;
  (*store)->TakeLeadership([&](absl::StatusOr<StoredPipeline> pipeline) {
    EXPECT_OK(pipeline);
    led.Notify();
  });
  ASSERT_TRUE(led.WaitForNotificationWithTimeout(absl::Seconds(30)));
  const std::string name = "shop";
  PostgresPipeline successor(
      *admin_, name, {.clock = core::RealClock(), .each = absl::Seconds(30)});
  const auto from = successor.ReadHeader();
  ASSERT_OK(from);
  StoreHeader to = *from;
  ++to.epoch;
  ++to.commits;
  to.leader = "successor";
  Sql("BEGIN");
  EXPECT_THAT(successor.ReplaceHeader(*from, to, ""), core::IsOkAndHolds(true));

  core::Notification answered;
  absl::Status answer;
  (*store)->Commit(1, AddConnectorC(), [&](absl::Status status) {
    answer = std::move(status);
    answered.Notify();
  });
  // The server does the waiting between looks.
  while (Scalar("SELECT count(*), pg_sleep(0.01) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()") == "0") {
    Sql("SELECT pg_stat_clear_snapshot()");
  }
  Sql("COMMIT");
  ASSERT_TRUE(answered.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_THAT(answer, HasReason(Reason::STALE_EPOCH));
  EXPECT_EQ(Scalar("SELECT count(*) FROM penstock_state.connectors"), "0");
  EXPECT_EQ(Scalar("SELECT leader FROM penstock_state.pipelines"), "successor");
}

TEST_F(PostgresFaultTest, TransactionOfAStoppedClientEndsByItself) {
  const auto store = Make(Options());
  StartWithC(*store);
  PostgresPlace place = Options().place;
  // Enough for what it says before it stops, on any machine.
  place.call_deadline = absl::Seconds(2);
  PostgresLink stopped(place, "test");
  const auto connection = stopped.Use();
  ASSERT_OK(connection);
  ASSERT_OK((*connection)
                ->Exec("BEGIN; SELECT FROM penstock_state.pipelines FOR UPDATE",
                       stopped.Deadline()));
  // It says nothing more; the row's lock is free when that has passed.
  EXPECT_OK(CommitTo(*store, JournalOf(1)));
  EXPECT_THAT((*connection)->Exec("COMMIT", stopped.Deadline()),
              HasReason(Reason::UNAVAILABLE));
}

TEST_F(PostgresFaultTest, LockOfAnotherSessionIsUnavailable) {
  PostgresStoreOptions options = Options();
  options.place.call_deadline = kShort;
  const auto store = Make(options);
  StartWithC(*store);
  Sql("BEGIN");
  Sql("SELECT FROM penstock_state.pipelines FOR UPDATE");
  EXPECT_THAT(CommitTo(*store, JournalOf(1)), HasReason(Reason::UNAVAILABLE));
  Sql("ROLLBACK");
  ASSERT_OK(CommitTo(*store, JournalOf(1)));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1)));
}

// --- The server --------------------------------------------------------------

class PostgresRestartTest : public testing::Test {};

TEST_F(PostgresRestartTest, StoreGoesOnWhenTheServerIsBack) {
  PENSTOCK_NEED_POSTGRES();
  core::PostgresServer server;
  const std::string conninfo = server.MakeDatabase();
  core::ManualExecutor executor;
  const auto store =
      MakePostgresStore({.place = {.conninfo = *core::Conninfo::Parse(conninfo),
                                   .pipeline = "shop"},
                         .create_if_missing = true},
                        executor);
  ASSERT_OK(store);
  const auto led = Lead(executor, **store);
  ASSERT_OK(led);
  ASSERT_OK(Commit(executor, **store, 1, AddConnectorC()));
  ASSERT_OK(Commit(executor, **store, 1, JournalOf(1)));
  server.StopAtOnce();
  EXPECT_THAT(Commit(executor, **store, 1, JournalOf(2)),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(EpochOf(executor, **store), HasReason(Reason::UNAVAILABLE));
  server.Start();
  ASSERT_OK(Commit(executor, **store, 1, JournalOf(2)));
  const auto next = Lead(executor, **store);
  ASSERT_OK(next);
  EXPECT_EQ(next->epoch, 2u);
  EXPECT_THAT(next->connectors.at("c").journal,
              ElementsAre(FullResult(1), FullResult(2)));
}

}  // namespace
}  // namespace penstock::client
