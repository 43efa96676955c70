// The contract suite for state stores, over SQLite.
#include "client/controller/sqlite_store.h"
#include "core/base/check.h"
#include "tests/contract/state_store_suite.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace penstock::client {
namespace {

class SqliteDriver final : public StateStoreDriver {
 public:
  std::unique_ptr<StateStore> Make(core::Executor& executor) override {
    auto store = MakeSqliteStore(directory_.Path("store.db"),
                                 {.create_if_missing = true,
                                  .incarnation = "",
                                  .busy_timeout = absl::ZeroDuration(),
                                  .vfs = ""},
                                 executor);
    CHECK_OK(store);
    return *std::move(store);
  }

 private:
  core::TempDir directory_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StateStoreContractTest,
                         testing::Values(StateStoreDriverFactory{
                             "file",
                             [] { return std::make_unique<SqliteDriver>(); }}),
                         StateStoreDriverName);

}  // namespace
}  // namespace penstock::client
