// A writer that stopped somewhere and is followed by another one (INV-7).
#include "core/base/thread.h"
#include "core/sinks/postgres/session_name.h"
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::Not;

class PostgresZombieTest : public PostgresSinkTest {
 protected:
  void SetUp() override {
    PostgresSinkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Run("CREATE TABLE t (record text)");
    low_ = Start(Schema());
  }
  std::unique_ptr<SinkWriter> StartNext() {
    return Start(Config(), Open(3, Schema()));
  }
  PostgresSinkConfig Through(const PostgresProxy& proxy) {
    PostgresSinkConfig config = Config();
    config.url = absl::StrCat(
        "host=", proxy.directory(),
        " user=postgres dbname=", Scalar("SELECT current_database()"));
    return config;
  }
  std::vector<std::string> Table() { return Query("SELECT record FROM t"); }

  std::unique_ptr<SinkWriter> low_;
};

// Its transaction holds the progress row, and nobody will end it but the next.
TEST_F(PostgresZombieTest,
       StoppedAfterTheCompareAndSetHoldsUpNoOpenAndIsFencedWhenWoken) {
  PostgresProxy proxy(PostgresServer::Shared().directory());
  low_ = Start(Through(proxy), Open(2, Schema()));
  ASSERT_OK(low_->opened());
  ASSERT_OK(low_->PushRecords({0, 1}, {"late"}));
  // The COMMIT.
  proxy.SetScript([](const PostgresProxy::Statement& statement) {
    return statement.number == 2 ? PostgresProxy::Deed::kStop
                                 : PostgresProxy::Deed::kForward;
  });
  absl::Status woken;
  {
    Thread zombie("zombie", [this, &woken](const std::stop_token& /*stop*/) {
      woken = low_->End();
    });
    proxy.WaitForHeld();
    const auto high = StartNext();
    EXPECT_THAT(high->opened(), IsOkAndHolds(ElementsAre(0u)));
    ASSERT_OK(high->PushRecords({0, 1}, {"next"}));
    ASSERT_OK(high->End());
    proxy.ReleaseHeld();
  }
  EXPECT_THAT(woken, HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(Table(), ElementsAre("next"));
}

// Its COMMIT has come to the server, which is not done with it.
TEST_F(PostgresZombieTest, StoppedWithinCommitHoldsUpNoOpen) {
  ASSERT_OK(low_->PushRecords({0, 1}, {"late"}));
  // COMMIT waits within the server, for a lock that this test holds.
  Run("CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$"
      " BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON penstock.progress"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.steps = 1)"
      " EXECUTE FUNCTION wait();"
      "SELECT pg_advisory_lock(7)");
  absl::Status woken;
  {
    Thread zombie("zombie", [this, &woken](const std::stop_token& /*stop*/) {
      woken = low_->End();
    });
    AwaitTrue(
        "SELECT count(*) = 1 FROM pg_locks"
        " WHERE locktype = 'advisory' AND NOT granted");
    const auto high = StartNext();
    EXPECT_THAT(high->opened(), IsOkAndHolds(ElementsAre(0u)));
    Run("SELECT pg_advisory_unlock(7); DROP TRIGGER wait ON penstock.progress");
    ASSERT_OK(high->PushRecords({0, 1}, {"next"}));
    ASSERT_OK(high->End());
  }
  // Its session was gone before the next writer had its fence: it may have
  // looked in between, and then hears of it at its next compare-and-set.
  EXPECT_THAT(woken, Not(IsOk()));
  absl::Status again = low_->PushRecords({0, 1}, {"late"});
  if (again.ok()) again = low_->End();
  EXPECT_THAT(again, HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(Table(), ElementsAre("next"));
}

TEST_F(PostgresZombieTest, StoppedInsideCopyHoldsUpNoOpenAndIsFencedWhenWoken) {
  ASSERT_OK(low_->PushRecords({0, 1}, {"late"}));
  const auto high = StartNext();
  ASSERT_OK(high->opened());
  // The table is free.
  Run("BEGIN; LOCK TABLE t NOWAIT; COMMIT");
  ASSERT_OK(high->PushRecords({0, 1}, {"next"}));
  ASSERT_OK(high->End());
  EXPECT_THAT(low_->End(), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(Table(), ElementsAre("next"));
}

// A session of it that came up behind the back of the next open.
TEST_F(PostgresZombieTest, SessionThatHoldsTheRowIsEndedHoweverLateItCame) {
  const auto parsed = Conninfo::Parse(conninfo_);
  ASSERT_OK(parsed);
  const auto late = PgConnection::Connect(
      *parsed, {.application_name = SessionName(Open(1, Schema()), 0)},
      RealClock(), Soon());
  ASSERT_OK(late);
  ASSERT_OK(
      (*late)->Exec("BEGIN; UPDATE penstock.progress SET steps = 1", Soon()));
  const auto high = StartNext();
  EXPECT_THAT(high->opened(), IsOkAndHolds(ElementsAre(0u)));
  EXPECT_THAT((*late)->Commit(Soon()), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(Scalar("SELECT steps FROM penstock.progress"), "0");
}

// Rows that a higher writer has just made, too late to be seen and locked.
TEST_F(PostgresZombieTest, FirstOpenDoesNotTakeWhatAHigherOneMadeMeanwhile) {
  OutputOpen open = Open(1, Schema());
  open.connector = "raced";
  Run(absl::StrCat(
      "BEGIN; INSERT INTO penstock.progress"
      " (pipeline, connector, shard, incarnation, epoch, open_number, steps,"
      " shards)"
      " VALUES ('",
      open.pipeline, "', 'raced', 0, '", open.incarnation, "', 2, 1, 0, 1)"));
  std::unique_ptr<SinkWriter> low;
  {
    Thread opening("open", [&](const std::stop_token& /*stop*/) {
      low = Start(Config(), open);
    });
    AwaitTrue(
        "SELECT count(*) = 1 FROM pg_locks"
        " WHERE locktype = 'transactionid' AND NOT granted");
    Run("COMMIT");
  }
  EXPECT_THAT(low->opened(), HasReason(Reason::WRITER_FENCED));
  EXPECT_EQ(
      Scalar("SELECT epoch FROM penstock.progress WHERE connector = 'raced'"),
      "2");
}

TEST_F(PostgresZombieTest, ShardWithoutItsRowIsNoOtherNumberOfShards) {
  for (const std::string lost : {"0", "1", "2"}) {
    OutputOpen open = Open(1, Schema());
    open.connector = lost;
    open.shards = 3;
    ASSERT_OK(Start(Config(), open)->opened());
    Run(absl::StrCat("DELETE FROM penstock.progress WHERE connector = '", lost,
                     "' AND shard = ", lost));
    open.writer.open_number = 2;
    open.first_open = false;
    for (const uint32_t shards : {2u, 3u}) {
      open.shards = shards;
      EXPECT_THAT(Start(Config(), open)->opened(),
                  HasReason(Reason::PROGRESS_LOST));
    }
  }
}

TEST_F(PostgresZombieTest, NumberOfShardsChangesAtACheckpoint) {
  OutputOpen open = Open(1, Schema());
  open.connector = "more";
  open.first_open = true;
  for (const uint32_t shards : {2u, 3u, 1u}) {
    open.shards = shards;
    ASSERT_OK(Start(Config(), open)->opened());
    EXPECT_THAT(Query("SELECT shard, shards FROM penstock.progress"
                      " WHERE connector = 'more' ORDER BY shard DESC LIMIT 1"),
                ElementsAre(absl::StrCat(shards - 1, "|", shards)));
    ++open.writer.open_number;
    open.first_open = false;
  }
  open.shards = 2;
  open.base_steps = 5;
  EXPECT_THAT(Start(Config(), open)->opened(),
              HasReason(Reason::PROGRESS_BEHIND));
}

// It makes schema, tables and progress, each of which takes a lock.
TEST_F(PostgresZombieTest, OpenThatIsStoppedAtAnyStatementHoldsUpNoOther) {
  uint64_t statements = 1;
  for (uint64_t at = 0; at <= statements; ++at) {
    conninfo_ = PostgresServer::Shared().MakeDatabase();
    connection_ = PostgresServer::Connect(conninfo_);
    PostgresProxy proxy(PostgresServer::Shared().directory());
    proxy.SetScript([at](const PostgresProxy::Statement& statement) {
      return statement.number == at ? PostgresProxy::Deed::kStop
                                    : PostgresProxy::Deed::kForward;
    });
    const PostgresSinkConfig config = Through(proxy);
    std::unique_ptr<SinkWriter> stopped;
    {
      Thread opening("open", [&](const std::stop_token& /*stop*/) {
        stopped = Start(config, Open(1, Schema()));
      });
      if (at > 0) {
        proxy.WaitForHeld();
        OutputOpen open = Open(2, Schema());
        open.first_open = true;
        EXPECT_THAT(Start(Config(), open)->opened(),
                    IsOkAndHolds(ElementsAre(0u)))
            << "statement " << at;
        proxy.ReleaseHeld();
      }
    }
    // The first time: how many there are.
    if (at == 0) {
      ASSERT_OK(stopped->opened());
      statements = proxy.statements();
    } else {
      EXPECT_THAT(stopped->opened(), Not(IsOk())) << "statement " << at;
    }
  }
}

TEST_F(PostgresZombieTest, OtherConnectorsAreLeftAlone) {
  OutputOpen other = Open(1, Schema());
  other.connector = "other";
  const auto neighbour = Start(Config(), other);
  ASSERT_OK(neighbour->opened());
  ASSERT_OK(neighbour->PushRecords({0, 1}, {"theirs"}));
  const auto high = StartNext();
  ASSERT_OK(high->opened());
  EXPECT_OK(neighbour->End());
  EXPECT_THAT(Table(), ElementsAre("theirs"));
}

TEST_F(PostgresZombieTest, LowerOpenDisturbsNobody) {
  const auto high = Start(Config(), Open(4, Schema()));
  ASSERT_OK(high->opened());
  ASSERT_OK(high->PushRecords({0, 1}, {"a"}));
  EXPECT_THAT(StartNext()->opened(), HasReason(Reason::WRITER_FENCED));
  OutputOpen foreign = Open(9, Schema());
  foreign.incarnation = "other";
  EXPECT_THAT(Start(Config(), foreign)->opened(),
              HasReason(Reason::FOREIGN_PROGRESS));
  EXPECT_OK(high->End());
}

}  // namespace
}  // namespace penstock::core
