#include "tests/client/controller/postgres_store_fixture.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_replace.h>

#include <utility>
#include <vector>

namespace penstock::client {

StoreTransaction JournalOf(core::Step step) {
  StoreTransaction transaction;
  transaction.journal.push_back({"c", FullResult(step)});
  return transaction;
}

void PostgresStoreTest::SetUp() {
  PENSTOCK_NEED_POSTGRES();
  conninfo_ = core::PostgresServer::Shared().MakeDatabase();
  admin_ = core::PostgresServer::Connect(conninfo_);
}

PostgresStoreOptions PostgresStoreTest::Options() const {
  auto conninfo = core::Conninfo::Parse(conninfo_);
  CHECK_OK(conninfo);
  return {.place = {.conninfo = *std::move(conninfo), .pipeline = "shop"},
          .create_if_missing = true};
}

PostgresStoreOptions PostgresStoreTest::OptionsThrough(
    const core::PostgresProxy& proxy) const {
  PostgresStoreOptions options = Options();
  auto conninfo = core::Conninfo::Parse(absl::StrReplaceAll(
      conninfo_,
      {{core::PostgresServer::Shared().directory(), proxy.directory()}}));
  CHECK_OK(conninfo);
  options.place.conninfo = *std::move(conninfo);
  return options;
}

std::unique_ptr<StateStore> PostgresStoreTest::Make(
    const PostgresStoreOptions& options) {
  auto store = MakePostgresStore(options, executor_);
  CHECK_OK(store);
  return *std::move(store);
}

void PostgresStoreTest::StartWithC(StateStore& store) {
  const auto led = Lead(executor_, store);
  ASSERT_OK(led);
  epoch_ = led->epoch;
  ASSERT_OK(CommitTo(store, AddConnectorC()));
}

absl::StatusOr<StoredPipeline> PostgresStoreTest::OpenAndLead() {
  auto store = MakePostgresStore(Options(), executor_);
  if (!store.ok()) return store.status();
  return Lead(executor_, **store);
}

std::vector<core::StepResult> PostgresStoreTest::ReadJournal() {
  const auto led = OpenAndLead();
  EXPECT_OK(led);
  return led.ok() ? led->connectors.at("c").journal
                  : std::vector<core::StepResult>();
}

core::PgResult PostgresStoreTest::Sql(absl::string_view sql) {
  auto result =
      admin_->Exec(sql, core::RealClock().SteadyNow() + absl::Seconds(30));
  CHECK_OK(result);
  return *std::move(result);
}

std::string PostgresStoreTest::Scalar(absl::string_view sql) {
  return std::string(Sql(sql).Text(0, 0));
}

}  // namespace penstock::client
