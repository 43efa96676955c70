// A store of the schema version before, as a program of that time left it.
#include "client/controller/sqlite_database.h"
#include "client/controller/sqlite_store.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "tests/contract/store_calls.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::Reason;
using testing::Not;
using testing::SizeIs;

class SqliteUpgradeTest : public testing::Test {
 protected:
  SqliteUpgradeTest() {
    const auto dump = core::PosixFileSystem().ReadFile(PENSTOCK_STORE_V1);
    EXPECT_OK(dump);
    auto database = *SqliteDatabase::Open(path_, {.create = true});
    EXPECT_OK(database->Query("PRAGMA journal_mode = WAL"));
    EXPECT_OK(database->Execute(
        "BEGIN; PRAGMA application_id = 1348824691; PRAGMA user_version = 1;"));
    EXPECT_OK(database->Execute(*dump));
    EXPECT_OK(database->Execute("COMMIT"));
  }

  absl::StatusOr<StoredPipeline> OpenAndLead() {
    auto store = MakeSqliteStore(path_, {}, executor_);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    return Lead(executor_, *store_);
  }
  std::string Query(const std::string& sql) {
    return (*SqliteDatabase::Open(path_, {}))->Query(sql).value_or("(error)");
  }

  core::TempDir directory_;
  const std::string path_ = directory_.Path("store.db");
  core::ManualExecutor executor_;
  std::unique_ptr<StateStore> store_;
};

TEST_F(SqliteUpgradeTest, StateIsThereAndGoesOn) {
  auto led = OpenAndLead();
  ASSERT_OK(led);
  EXPECT_EQ(led->incarnation, "a56fcfa713644e3dc2a83ed549dbb0c7");
  EXPECT_EQ(led->epoch, 2u);
  const StoredConnector& orders = led->connectors.at("orders");
  ASSERT_THAT(orders.journal, SizeIs(1));
  EXPECT_EQ(orders.journal[0].amount.records, 382u);
  EXPECT_EQ(orders.journal[0].skipped_records, 0u);
  EXPECT_EQ(Query("PRAGMA user_version"), "2");
  // The row that was there and one of now, beside each other.
  StoreTransaction transaction;
  transaction.journal.push_back({"orders", orders.journal[0]});
  transaction.journal.push_back({"orders", FullResult(1)});
  ASSERT_OK(Commit(executor_, *store_, 2, std::move(transaction)));
  led = OpenAndLead();
  ASSERT_OK(led);
  ASSERT_THAT(led->connectors.at("orders").journal, SizeIs(2));
  EXPECT_EQ(led->connectors.at("orders").journal[1], FullResult(1));
}

TEST_F(SqliteUpgradeTest, DamagedOneIsLeftAsItIs) {
  ASSERT_OK((*SqliteDatabase::Open(path_, {}))
                ->Execute("UPDATE header SET commits = 99"));
  EXPECT_THAT(OpenAndLead(), HasReason(Reason::STATE_DAMAGED));
  EXPECT_EQ(Query("PRAGMA user_version"), "1");
  ASSERT_OK((*SqliteDatabase::Open(path_, {}))
                ->Execute("ALTER TABLE journal ADD COLUMN other INTEGER"));
  EXPECT_THAT(OpenAndLead(), Not(IsOk()));
  EXPECT_EQ(Query("PRAGMA user_version"), "1");
}

}  // namespace
}  // namespace penstock::client
