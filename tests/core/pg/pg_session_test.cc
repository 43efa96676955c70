#include "core/pg/pg_session.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace penstock::core {
namespace {

absl::Time Soon() { return RealClock().SteadyNow() + absl::Seconds(30); }

class PgSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEED_POSTGRES();
    conninfo_ = PostgresServer::Shared().MakeDatabase();
    connection_ = PostgresServer::Connect(conninfo_);
    ASSERT_OK(connection_->Exec("CREATE TABLE t (a int)", Soon()));
  }

  std::string conninfo_;
  std::unique_ptr<PgConnection> connection_;
};

// As a client that was stopped within COPY leaves it.
TEST_F(PgSessionTest, EndedSessionHoldsNoLockAnyMore) {
  const auto other = PostgresServer::Connect(conninfo_);
  ASSERT_OK(other->BeginCopy("BEGIN; LOCK TABLE t; COPY t FROM STDIN", Soon()));
  const std::array sessions = {other->session()};
  ASSERT_OK(EndSessions(*connection_, sessions, Soon()));
  EXPECT_OK(connection_->Exec("BEGIN; LOCK TABLE t NOWAIT; COMMIT", Soon()));
  EXPECT_THAT(other->EndCopy(Soon()), HasReason(Reason::UNAVAILABLE));
  EXPECT_FALSE(other->is_open());
}

TEST_F(PgSessionTest, SessionThatIsGoneIsNoError) {
  const PgSession gone = PostgresServer::Connect(conninfo_)->session();
  const std::array sessions = {gone, gone};
  EXPECT_OK(EndSessions(*connection_, sessions, Soon()));
}

// The same process id at another time is another session.
TEST_F(PgSessionTest, SessionsAreToldApartByTheirStart) {
  const auto other = PostgresServer::Connect(conninfo_);
  PgSession earlier = other->session();
  --earlier.started_us;
  const std::array sessions = {earlier};
  ASSERT_OK(EndSessions(*connection_, sessions, Soon()));
  EXPECT_OK(other->Exec("SELECT 1", Soon()));
}

}  // namespace
}  // namespace penstock::core
