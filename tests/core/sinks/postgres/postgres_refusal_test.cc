// Rows that the server refuses, and errors that are about none.
#include "core/contract/sink_error.h"
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

const Column kAcct = {.name = "acct", .type = SqlType::kInteger};
const Column kLabel = {.name = "label", .type = SqlType::kVarchar};

std::vector<TestRow> Rows(std::initializer_list<int> accounts) {
  std::vector<TestRow> rows;
  for (const int acct : accounts) {
    rows.push_back({.values = {Value::Int64(acct), Value::String("x")}});
  }
  return rows;
}

class PostgresRefusalTest : public PostgresSinkTest {
 protected:
  std::unique_ptr<SinkWriter> StartAccounts() {
    return Start(Schema{{kAcct, kLabel}});
  }
  static constexpr absl::string_view kAccounts =
      "SELECT acct FROM t ORDER BY acct";
};

// Field case B069: the batch after a failed one is stored.
TEST_F(PostgresRefusalTest, SessionIsNotLeftInAnAbortedTransaction) {
  Run("CREATE TABLE t (acct int PRIMARY KEY, label text)");
  const auto writer = StartAccounts();
  ASSERT_OK(writer->Write({0, 1}, Rows({51})));
  const absl::Status refused = writer->Write({1, 2}, Rows({51}));
  EXPECT_THAT(refused, HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("23505"));
  ASSERT_OK(writer->Write({1, 3}, Rows({52})));
  EXPECT_THAT(Query(kAccounts), ElementsAre("51", "52"));
}

// Field case B070: which one is bad is known at once, and the rest is stored.
TEST_F(PostgresRefusalTest, RefusedRowIsNamed) {
  Run("CREATE TABLE t (acct int CHECK (acct <> 3), label text)");
  const auto writer = StartAccounts();
  const absl::Status refused = writer->Write({0, 1}, Rows({1, 2, 3, 4, 5}));
  EXPECT_EQ(KindOfSinkError(refused), SinkErrorKind::kBadRow) << refused;
  EXPECT_THAT(RefusedRow(refused), Optional(2u));
  ASSERT_OK(writer->Write({0, 1}, Rows({1, 2, 4, 5})));
  EXPECT_THAT(Query(kAccounts), ElementsAre("1", "2", "4", "5"));
}

TEST_F(PostgresRefusalTest, RefusedRowIsNamedInTextToo) {
  Run("CREATE TABLE t (host inet)");
  Column host = kLabel;
  host.name = "host";
  const auto writer = Start(Schema{{host}});
  const absl::Status refused =
      writer->Write({0, 1}, {{{Value::String("10.0.0.1")}},
                             {{Value::String("a\nb")}},
                             {{Value::String("10.0.0.2")}}});
  EXPECT_THAT(RefusedRow(refused), Optional(1u)) << refused;
}

TEST_F(PostgresRefusalTest, RowOfAnIndexIsNamedThoughRowsAreInsertedInBulk) {
  Run("CREATE TABLE t (acct int UNIQUE, label text)");
  const auto writer = StartAccounts();
  EXPECT_THAT(RefusedRow(writer->Write({0, 1}, Rows({1, 2, 3, 2, 5}))),
              Optional(3u));
}

TEST_F(PostgresRefusalTest, RowOfATriggerIsNamed) {
  Run("CREATE TABLE \"1 t, line 9\" (acct int, label text);"
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
      " BEGIN IF NEW.acct = 2 THEN RAISE 'no two'; END IF; RETURN NEW; END $$;"
      "CREATE TRIGGER refuse BEFORE INSERT ON \"1 t, line 9\""
      " FOR EACH ROW EXECUTE FUNCTION refuse()");
  PostgresSinkConfig config = Config();
  config.table = "1 t, line 9";
  const auto writer = Start(config, Open(1, Schema{{kAcct, kLabel}}));
  EXPECT_THAT(RefusedRow(writer->Write({0, 1}, Rows({1, 2}))), Optional(1u));
}

TEST_F(PostgresRefusalTest, ProbeMeetsDeferredConstraints) {
  Run("CREATE TABLE t (acct int UNIQUE DEFERRABLE INITIALLY DEFERRED,"
      " label text)");
  const auto writer = StartAccounts();
  ASSERT_OK(writer->Push({0, 1}, Rows({1, 1})));
  EXPECT_THAT(writer->endpoint().BatchProbe(), HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(writer->Write({0, 1}, Rows({1, 1})),
              HasReason(Reason::ROW_REFUSED));
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
}

TEST_F(PostgresRefusalTest, UpdateAndDeletionAreNoRowsToAppend) {
  const auto writer = StartAccounts();
  std::vector<TestRow> rows = Rows({1});
  rows[0].op = Op::kDelete;
  const absl::Status refused = writer->Push({0, 1}, rows);
  EXPECT_THAT(refused, HasReason(Reason::UNSUPPORTED));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("upsert"));
}

// Field case B078: a lock is not waited for without end; it passes, and the
// same batch is stored once.
TEST_F(PostgresRefusalTest, LockedTableIsRetryableTrouble) {
  Run("CREATE TABLE t (acct int, label text)");
  PostgresSinkConfig config = Config();
  config.lock_timeout = absl::Milliseconds(20);
  const auto writer = Start(config, Open(1, Schema{{kAcct, kLabel}}));
  Run("BEGIN; LOCK TABLE t");
  const absl::Status locked = writer->Write({0, 1}, Rows({1}));
  EXPECT_EQ(KindOfSinkError(locked), SinkErrorKind::kRetryable) << locked;
  Run("ROLLBACK");
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
  EXPECT_THAT(Query(kAccounts), ElementsAre("1"));
}

TEST_F(PostgresRefusalTest, PassedDeadlineIsRetryableAndLeavesNothing) {
  Run("CREATE TABLE t (acct int, label text);"
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$"
      " BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$;"
      "CREATE TRIGGER slow BEFORE INSERT ON t"
      " FOR EACH ROW EXECUTE FUNCTION slow()");
  const auto writer = StartAccounts();
  writer->set_deadline(absl::Milliseconds(300));
  const absl::Status late = writer->Write({0, 1}, Rows({1}));
  EXPECT_EQ(KindOfSinkError(late), SinkErrorKind::kRetryable) << late;
  Run("DROP TRIGGER slow ON t");
  writer->set_deadline(absl::InfiniteDuration());
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
  EXPECT_THAT(Query(kAccounts), ElementsAre("1"));
}

TEST_F(PostgresRefusalTest, RestartOfTheServerIsRetryableTrouble) {
  const auto writer = StartAccounts();
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
  ASSERT_OK(writer->Push({1, 2}, Rows({2})));
  PostgresServer::Shared().StopAtOnce();
  const absl::Status down = writer->End();
  EXPECT_EQ(KindOfSinkError(down), SinkErrorKind::kRetryable) << down;
  PostgresServer::Shared().Start();
  connection_ = PostgresServer::Connect(conninfo_);
  ASSERT_OK(writer->Write({1, 2}, Rows({2})));
  EXPECT_THAT(Query(kAccounts), ElementsAre("1", "2"));
}

TEST_F(PostgresRefusalTest, ProgressThatSomebodyChangedIsNotWrittenOver) {
  const auto writer = StartAccounts();
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
  Run("UPDATE penstock.progress SET steps = 9");
  EXPECT_THAT(writer->Write({1, 2}, Rows({2})),
              HasReason(Reason::PROGRESS_AHEAD));
  Run("DELETE FROM penstock.progress");
  EXPECT_THAT(writer->Write({1, 2}, Rows({2})),
              HasReason(Reason::PROGRESS_LOST));
  EXPECT_THAT(Query(kAccounts), ElementsAre("1"));
}

// Or the search for the bad row would drop all of them, one by one.
TEST_F(PostgresRefusalTest, ConstraintInTheWayOfTheProgressIsAboutNoRow) {
  const auto writer = StartAccounts();
  ASSERT_OK(writer->Write({0, 1}, Rows({1})));
  Run("ALTER TABLE penstock.progress ADD CHECK (steps < 2)");
  const absl::Status refused = writer->Write({1, 2}, Rows({2}));
  EXPECT_EQ(KindOfSinkError(refused), SinkErrorKind::kFatal) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("progress_steps_check"));
  ASSERT_OK(writer->Push({1, 2}, Rows({2})));
  EXPECT_EQ(KindOfSinkError(writer->endpoint().BatchProbe()),
            SinkErrorKind::kFatal);
  Run("CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$"
      " BEGIN RAISE 'no tables' USING ERRCODE = '23514'; END $$;"
      "CREATE EVENT TRIGGER refuse ON ddl_command_start"
      " EXECUTE FUNCTION refuse()");
  PostgresSinkConfig config = Config();
  config.table = "other";
  EXPECT_EQ(KindOfSinkError(
                Start(config, Open(2, Schema{{kAcct}}))->opened().status()),
            SinkErrorKind::kFatal);
}

}  // namespace
}  // namespace penstock::core
