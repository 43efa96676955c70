// The contract suite for state stores, over a real PostgreSQL server.
#include "client/controller/postgres_store.h"
#include "core/base/check.h"
#include "tests/contract/state_store_suite.h"
#include "tests/support/postgres_server.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

// Each test's pipeline is one of many in one database.
class PostgresDriver final : public StateStoreDriver {
 public:
  PostgresDriver() {
    static const auto& conninfo =
        *new std::string(core::PostgresServer::Shared().MakeDatabase());
    static int pipelines = 0;
    conninfo_ = conninfo;
    pipeline_ = absl::StrCat("shop-", ++pipelines);
  }

  std::unique_ptr<StateStore> Make(core::Executor& executor) override {
    auto conninfo = core::Conninfo::Parse(conninfo_);
    CHECK_OK(conninfo);
    auto store = MakePostgresStore(
        {.place = {.conninfo = *std::move(conninfo), .pipeline = pipeline_},
         .create_if_missing = true},
        executor);
    CHECK_OK(store);
    return *std::move(store);
  }

 private:
  std::string conninfo_;
  std::string pipeline_;
};

INSTANTIATE_TEST_SUITE_P(
    Postgres, StateStoreContractTest,
    testing::Values(StateStoreDriverFactory{
        .name = "server",
        .make = [] { return std::make_unique<PostgresDriver>(); },
        .need = [] { PENSTOCK_NEED_POSTGRES(); }}),
    StateStoreDriverName);

}  // namespace
}  // namespace penstock::client
