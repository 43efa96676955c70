#include "core/pg/pg_connection.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/pg/pg_error.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

absl::Time In(absl::Duration duration) {
  return RealClock().SteadyNow() + duration;
}
absl::Time Soon() { return In(absl::Seconds(30)); }

class PgConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEED_POSTGRES();
    conninfo_ = PostgresServer::Shared().MakeDatabase();
    connection_ = PostgresServer::Connect(conninfo_);
  }

  std::string Scalar(absl::string_view sql) {
    const auto result = connection_->Exec(sql, Soon());
    EXPECT_OK(result);
    if (!result.ok() || result->rows() == 0) return "";
    return std::string(result->Text(0, 0));
  }

  std::string conninfo_;
  std::unique_ptr<PgConnection> connection_;
};

TEST_F(PgConnectionTest, ParametersAndValuesAreExact) {
  const std::string bytes("a\0\\\xff", 4);
  const std::array params = {PgParam::Text("it's"), PgParam::Null(),
                             PgParam::Int(INT64_MIN), PgParam::Bytes(bytes),
                             PgParam::Uint(UINT64_MAX)};
  ASSERT_OK_AND_ASSIGN(
      const PgResult result,
      connection_->Exec(
          "SELECT $1::text, $2::text, $3::bigint, $4, $5::numeric, true",
          params, Soon()));
  ASSERT_EQ(result.rows(), 1u);
  EXPECT_EQ(result.Text(0, 0), "it's");
  EXPECT_TRUE(result.IsNull(0, 1));
  EXPECT_THAT(result.Int64(0, 2), IsOkAndHolds(INT64_MIN));
  EXPECT_THAT(result.Bytes(0, 3), IsOkAndHolds(bytes));
  EXPECT_THAT(result.Uint64(0, 4), IsOkAndHolds(UINT64_MAX));
  EXPECT_TRUE(result.Bool(0, 5));
}

TEST_F(PgConnectionTest, NulByteInATextParameterIsRefused) {
  const std::array params = {PgParam::Text(absl::string_view("a\0b", 3))};
  EXPECT_THAT(connection_->Exec("SELECT $1::text", params, Soon()),
              HasReason(Reason::INVALID_REQUEST));
  EXPECT_TRUE(connection_->is_open());
}

TEST_F(PgConnectionTest, SettingsOfTheRoleAreOverruled) {
  Scalar("ALTER ROLE postgres SET synchronous_commit = off");
  Scalar("ALTER ROLE postgres SET DateStyle = 'German'");
  Scalar("ALTER ROLE postgres SET default_transaction_read_only = on");
  connection_ = PostgresServer::Connect(conninfo_);
  EXPECT_EQ(Scalar("SHOW synchronous_commit"), "on");
  EXPECT_EQ(Scalar("SELECT date '2024-02-01'"), "2024-02-01");
  EXPECT_EQ(Scalar("SHOW transaction_read_only"), "off");
  Scalar("ALTER ROLE postgres RESET ALL");
}

TEST_F(PgConnectionTest, StatementsStopAtTheFirstError) {
  Scalar("CREATE TABLE t (a int)");
  EXPECT_THAT(connection_->Exec("INSERT INTO t VALUES (1); SELECT 1 / 0; "
                                "INSERT INTO t VALUES (2)",
                                Soon()),
              HasReason(Reason::ROW_REFUSED));
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(Scalar("SELECT count(*) FROM t"), "0");
}

TEST_F(PgConnectionTest, CopyTakesRowsAndTellsHowMany) {
  Scalar("CREATE TABLE t (a int, b text)");
  ASSERT_OK(connection_->BeginCopy("BEGIN; COPY t FROM STDIN", Soon()));
  EXPECT_TRUE(connection_->in_copy());
  std::string data;
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&data, i, "\tsome text\n");
  ASSERT_OK(connection_->PutCopyData(data, Soon()));
  EXPECT_THAT(connection_->EndCopy(Soon()), IsOkAndHolds(100'000u));
  ASSERT_OK(connection_->Commit(Soon()));
  EXPECT_EQ(Scalar("SELECT count(*) FROM t"), "100000");
}

TEST_F(PgConnectionTest, ErrorOfCopyNamesTheLineAndResetLeavesTheTransaction) {
  Scalar("CREATE TABLE t (a int)");
  ASSERT_OK(connection_->BeginCopy("BEGIN; COPY t FROM STDIN", Soon()));
  ASSERT_OK(connection_->PutCopyData("1\n2\nthree\n", Soon()));
  const absl::Status error = connection_->EndCopy(Soon()).status();
  EXPECT_THAT(error, HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(PgContextOf(error), HasSubstr("COPY t, line 3"));
  EXPECT_TRUE(connection_->in_transaction());
  EXPECT_THAT(connection_->Exec("SELECT 1", Soon()), Not(IsOk()));
  ASSERT_OK(connection_->Reset(Soon()));
  EXPECT_EQ(Scalar("SELECT count(*) FROM t"), "0");
}

TEST_F(PgConnectionTest, CopyIsGivenUpByReset) {
  Scalar("CREATE TABLE t (a int)");
  ASSERT_OK(connection_->BeginCopy("BEGIN; COPY t FROM STDIN", Soon()));
  ASSERT_OK(connection_->PutCopyData("1\n", Soon()));
  ASSERT_OK(connection_->Reset(Soon()));
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(Scalar("SELECT count(*) FROM t"), "0");
}

TEST_F(PgConnectionTest, CommitOfAFailedTransactionIsAnError) {
  ASSERT_OK(connection_->Exec("BEGIN", Soon()));
  EXPECT_THAT(connection_->Exec("SELECT 1 / 0", Soon()), Not(IsOk()));
  EXPECT_THAT(connection_->Commit(Soon()), HasReason(Reason::INTERNAL));
}

TEST_F(PgConnectionTest, PassedDeadlineClosesTheSession) {
  EXPECT_THAT(
      connection_->Exec("SELECT pg_sleep(600)", In(absl::Milliseconds(20))),
      HasReason(Reason::DEADLINE));
  EXPECT_FALSE(connection_->is_open());
  EXPECT_THAT(connection_->Exec("SELECT 1", Soon()),
              HasReason(Reason::UNAVAILABLE));
}

TEST_F(PgConnectionTest, ServersTimeOutLeavesTheSessionOpen) {
  ASSERT_OK(connection_->Exec("SET statement_timeout = 10", Soon()));
  EXPECT_THAT(connection_->Exec("SELECT pg_sleep(600)", Soon()),
              HasReason(Reason::DEADLINE));
  ASSERT_OK(connection_->Exec("SET statement_timeout = 0", Soon()));
  EXPECT_EQ(Scalar("SELECT 1"), "1");
}

TEST_F(PgConnectionTest, LockIsNotWaitedForBeyondItsTimeOut) {
  Scalar("CREATE TABLE t (a int)");
  ASSERT_OK(connection_->Exec("BEGIN; LOCK TABLE t", Soon()));
  const auto other = PostgresServer::Connect(conninfo_);
  ASSERT_OK(other->Exec("SET lock_timeout = 10", Soon()));
  const auto refused = other->Exec("INSERT INTO t VALUES (1)", Soon());
  EXPECT_THAT(refused, HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(SqlStateOf(refused.status()), "55P03");
}

TEST_F(PgConnectionTest, ServerThatEndsTheSessionSaysSo) {
  const auto other = PostgresServer::Connect(conninfo_);
  const std::array params = {PgParam::Int(other->session().pid)};
  ASSERT_OK(connection_->Exec("SELECT pg_terminate_backend($1, 20000)", params,
                              Soon()));
  const auto ended = other->Exec("SELECT 1", Soon());
  EXPECT_THAT(ended, HasReason(Reason::UNAVAILABLE));
  EXPECT_FALSE(other->is_open());
}

TEST_F(PgConnectionTest, MissingDatabaseIsNotFound) {
  const auto conninfo =
      Conninfo::Parse(PostgresServer::Shared().ConninfoOf("nowhere"));
  ASSERT_OK(conninfo);
  EXPECT_THAT(PgConnection::Connect(*conninfo, {}, RealClock(), Soon()),
              AllOf(HasReason(Reason::NOT_FOUND),
                    StatusIs(absl::StatusCode::kNotFound)));
}

TEST_F(PgConnectionTest, MissingServerIsUnavailable) {
  const TempDir nowhere;
  const auto conninfo = Conninfo::Parse(
      absl::StrCat("host=", nowhere.path(), " user=u password=hush"));
  ASSERT_OK(conninfo);
  const auto connection =
      PgConnection::Connect(*conninfo, {}, RealClock(), Soon());
  EXPECT_THAT(connection, HasReason(Reason::UNAVAILABLE));
}

// The server calls it a success, with a warning.
TEST_F(PgConnectionTest, CommitWhoseStandbysWereNotWaitedForIsNoSuccess) {
  Scalar("CREATE TABLE t (a int)");
  const auto writer = PostgresServer::Connect(conninfo_);
  Scalar("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  Scalar("SELECT pg_reload_conf()");
  absl::Status last;
  {
    // Until the setting has arrived everywhere.
    Thread writing("write", [&](const std::stop_token& /*stop*/) {
      while (last.ok()) {
        last = writer->Exec("INSERT INTO t VALUES (1)", Soon()).status();
      }
    });
    while (Scalar("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                  " WHERE wait_event = 'SyncRep'") == "0") {
      Scalar("SELECT pg_sleep(0.01)");
    }
  }
  EXPECT_THAT(last, HasReason(Reason::UNAVAILABLE));
  EXPECT_FALSE(writer->is_open());
  Scalar("ALTER SYSTEM RESET synchronous_standby_names");
  Scalar("SELECT pg_reload_conf()");
}

TEST_F(PgConnectionTest, LongApplicationNameIsRefused) {
  const auto conninfo = Conninfo::Parse(conninfo_);
  ASSERT_OK(conninfo);
  EXPECT_THAT(PgConnection::Connect(*conninfo,
                                    {.application_name = std::string(64, 'x')},
                                    RealClock(), Soon()),
              HasReason(Reason::INVALID_REQUEST));
}

TEST_F(PgConnectionTest, QuotedNamesAndTextsComeThrough) {
  const std::string name = "a \"b\" c";
  EXPECT_EQ(
      Scalar(absl::StrCat("SELECT 1 AS ", PgConnection::QuoteIdentifier(name))),
      "1");
  EXPECT_EQ(
      Scalar(absl::StrCat("SELECT ", PgConnection::QuoteLiteral("it's \\"))),
      "it's \\");
}

}  // namespace
}  // namespace penstock::core
