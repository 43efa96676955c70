// Commits that a standby is to have, too, and servers that are one.
#include "core/base/thread.h"
#include "core/contract/sink_error.h"
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr absl::string_view kWaiting =
    "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    " AND application_name LIKE 'penstock:%'";

class PostgresStandbyTest : public PostgresSinkTest {
 protected:
  void SetUp() override {
    PostgresSinkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Run("CREATE TABLE t (record text)");
  }
  void TearDown() override {
    if (connection_ != nullptr) LetCommitsGo();
  }

  // Each commit from now on is for `standby` to have, which there is not.
  void MakeCommitsWait(absl::string_view standby) {
    // One message would be one transaction, in which ALTER SYSTEM cannot be.
    Run(absl::StrCat("ALTER SYSTEM SET synchronous_standby_names = '", standby,
                     "'"));
    Run("SELECT pg_reload_conf()");
    // A session that commits until the setting has arrived everywhere.
    Thread committing("commits", [this](const std::stop_token& /*stop*/) {
      const auto ended = PostgresServer::Connect(conninfo_)->Exec(
          "DO $$ BEGIN LOOP"
          " PERFORM pg_logical_emit_message(true, 'x', 'x'); COMMIT;"
          " END LOOP; END $$",
          Soon());
      EXPECT_THAT(ended, Not(IsOk()));
    });
    AwaitTrue(
        "SELECT count(*) = 1 FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' AND application_name = 'test'");
    Run("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' AND application_name = 'test'");
  }
  void LetCommitsGo() {
    Run("ALTER SYSTEM RESET synchronous_standby_names");
    Run("SELECT pg_reload_conf()");
  }
  absl::Status Write(SinkWriter& writer, StepRange steps,
                     const std::string& record) {
    const absl::Status pushed = writer.PushRecords(steps, {record});
    return pushed.ok() ? writer.End() : pushed;
  }
  std::vector<std::string> Table() { return Query("SELECT record FROM t"); }
};

TEST_F(PostgresStandbyTest, CommitThatNoStandbyHasIsNoSuccessBeforeOneHas) {
  const auto writer = Start(Schema());
  ASSERT_OK(Write(*writer, {0, 1}, "a"));
  MakeCommitsWait("nobody");
  writer->set_deadline(absl::Milliseconds(300));
  EXPECT_THAT(Write(*writer, {1, 2}, "b"), HasReason(Reason::DEADLINE));
  // The next session ends the last one, which makes the rows visible here.
  const absl::Status again = Write(*writer, {1, 2}, "b");
  EXPECT_EQ(KindOfSinkError(again), SinkErrorKind::kRetryable) << again;
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
  EXPECT_THAT(Write(*writer, {1, 2}, "b"), Not(IsOk()));
  LetCommitsGo();
  writer->set_deadline(absl::InfiniteDuration());
  ASSERT_OK(Write(*writer, {1, 2}, "b"));
  ASSERT_OK(Write(*writer, {2, 3}, "c"));
  EXPECT_THAT(Table(), ElementsAre("a", "b", "c"));
}

// The server calls it a success then, with a warning.
TEST_F(PostgresStandbyTest, CommitWhoseWaitSomebodyCancelledIsNoSuccess) {
  const auto writer = Start(Schema());
  ASSERT_OK(Write(*writer, {0, 1}, "a"));
  MakeCommitsWait("nobody");
  absl::Status written;
  {
    Thread writing("write", [&](const std::stop_token& /*stop*/) {
      written = Write(*writer, {1, 2}, "b");
    });
    AwaitTrue(kWaiting);
    Run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep'");
    // It asks again, with a commit of its own.
    AwaitTrue(
        "SELECT count(*) = 1 FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' AND query LIKE 'UPDATE%RETURNING%'");
    LetCommitsGo();
  }
  EXPECT_OK(written);
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
}

TEST_F(PostgresStandbyTest, OpenIsNoSuccessBeforeAStandbyHasItsFence) {
  ASSERT_OK(Start(Schema())->opened());
  MakeCommitsWait("nobody");
  std::unique_ptr<SinkWriter> next;
  {
    Thread opening("open", [&](const std::stop_token& /*stop*/) {
      next = Start(Config(), Open(2, Schema()));
    });
    AwaitTrue(kWaiting);
    Run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep'");
  }
  EXPECT_THAT(next->opened(), HasReason(Reason::UNAVAILABLE));
}

TEST_F(PostgresStandbyTest,
       StandbyIsNotTakenForTheServerAndHasWhatWasConfirmed) {
  PostgresServer& primary = PostgresServer::Shared();
  PostgresServer standby(&primary);
  PostgresSinkConfig config = Config();
  const std::string database = Scalar("SELECT current_database()");
  config.url = standby.ConninfoOf(database);
  const auto refused = Start(config, Open(1, Schema()));
  EXPECT_THAT(refused->opened(), HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(std::string(refused->opened().status().message()),
              HasSubstr("standby"));
  // Of two, the one that is none.
  config.url =
      absl::StrCat("host=", standby.directory(), ",", primary.directory(),
                   " user=postgres dbname=", database);
  const auto writer = Start(config, Open(1, Schema()));
  ASSERT_OK(writer->opened());
  Run("ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'");
  Run("SELECT pg_reload_conf()");
  AwaitTrue(
      "SELECT count(*) = 1 FROM pg_stat_replication"
      " WHERE sync_state = 'sync'");
  ASSERT_OK(Write(*writer, {0, 1}, "a"));
  standby.StopAtOnce();
  writer->set_deadline(absl::Milliseconds(300));
  EXPECT_THAT(Write(*writer, {1, 2}, "b"), Not(IsOk()));
  EXPECT_THAT(Write(*writer, {1, 2}, "b"), Not(IsOk()));
  standby.Start();
  writer->set_deadline(absl::InfiniteDuration());
  ASSERT_OK(Write(*writer, {1, 2}, "b"));
  standby.Promote();
  connection_ = PostgresServer::Connect(standby.ConninfoOf(database));
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
  connection_ = PostgresServer::Connect(conninfo_);
}

}  // namespace
}  // namespace penstock::core
