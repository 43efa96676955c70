// Damage to a PostgreSQL store: a clear stop, never a first run and never
// another state.
#include "core/base/error.h"
#include "tests/client/controller/postgres_store_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;
using testing::HasSubstr;
using testing::SizeIs;

class PostgresDamageTest : public PostgresStoreTest {
 protected:
  void SetUp() override {
    PostgresStoreTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    store_ = Make(Options());
    StartWithC(*store_);
    StoreTransaction transaction;
    for (core::Step step = 0; step < 5; ++step) {
      transaction.journal.push_back({"c", FullResult(step)});
    }
    ASSERT_OK(CommitTo(*store_, std::move(transaction)));
  }

  std::unique_ptr<StateStore> store_;
};

TEST_F(PostgresDamageTest, UndamagedStateIsReadBack) {
  EXPECT_THAT(ReadJournal(), SizeIs(5));
}

TEST_F(PostgresDamageTest, AnotherVersionIsSaid) {
  Sql("UPDATE penstock_state.version SET version = 3");
  const auto opened = OpenAndLead();
  EXPECT_THAT(opened, HasReason(Reason::STATE_DAMAGED));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("newer"));
}

TEST_F(PostgresDamageTest, MissingVersionIsDamage) {
  Sql("DELETE FROM penstock_state.version");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, TablesWithoutTheirVersionAreNoFirstRun) {
  Sql("DROP TABLE penstock_state.version");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, MissingTableIsDamage) {
  Sql("DROP TABLE penstock_state.journal");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, ChangedColumnIsDamage) {
  Sql("ALTER TABLE penstock_state.journal RENAME COLUMN records TO rows");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, HeaderThatIsGoneWhileRowsAreThereIsNoFirstRun) {
  Sql("DELETE FROM penstock_state.pipelines");
  const auto opened = OpenAndLead();
  EXPECT_THAT(opened, HasReason(Reason::STATE_DAMAGED));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("backup"));
}

TEST_F(PostgresDamageTest, ChangedHeaderIsDamage) {
  Sql("UPDATE penstock_state.pipelines SET epoch = epoch - 1");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, LostRowIsDamage) {
  Sql("DELETE FROM penstock_state.journal WHERE step = 2");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, ChangedRowsAreDamage) {
  Sql("UPDATE penstock_state.connectors SET base_steps = 3");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, ChangedStepIsDamage) {
  Sql("UPDATE penstock_state.journal SET seek = 'x' WHERE step = 3");
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, SchemaThatIsDroppedWhileInUseIsNoticed) {
  Sql("DROP SCHEMA penstock_state CASCADE");
  EXPECT_THAT(CommitTo(*store_, JournalOf(7)),
              HasReason(Reason::STATE_DAMAGED));
}

TEST_F(PostgresDamageTest, RowThatSomebodyElseWroteIsNoticed) {
  Sql("INSERT INTO penstock_state.journal"
      " SELECT pipeline, connector, 7, checksum, records, bytes, resume_kind,"
      " seek, replay, resume_hash, position_complete, hash_value, hash_count,"
      " watermarks, transaction_started, transaction_committed,"
      " transaction_label, end_of_input, stopped_because, skipped_records"
      " FROM penstock_state.journal WHERE step = 1");
  EXPECT_THAT(CommitTo(*store_, JournalOf(7)),
              HasReason(Reason::STATE_DAMAGED));
}

}  // namespace
}  // namespace penstock::client
