// A database with the state of one pipeline, handles to it, and a wire to the
// server that can be cut.
#pragma once

#include "client/controller/postgres_store.h"
#include "client/controller/state_store.h"
#include "core/pg/pg_connection.h"
#include "tests/contract/store_calls.h"
#include "tests/support/manual_executor.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/postgres_server.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::client {

// A transaction that journals FullResult(step) of connector "c".
StoreTransaction JournalOf(core::Step step);

class PostgresStoreTest : public testing::Test {
 protected:
  void SetUp() override;

  // To the server itself; `through` a proxy.
  PostgresStoreOptions Options() const;
  PostgresStoreOptions OptionsThrough(const core::PostgresProxy& proxy) const;
  // Fails hard.
  std::unique_ptr<StateStore> Make(const PostgresStoreOptions& options);
  // Takes the lead, remembers the epoch and adds "c".
  void StartWithC(StateStore& store);
  absl::Status CommitTo(StateStore& store, StoreTransaction transaction) {
    return Commit(executor_, store, epoch_, std::move(transaction));
  }
  // What the next leader finds, through a handle of its own.
  absl::StatusOr<StoredPipeline> OpenAndLead();
  std::vector<core::StepResult> ReadJournal();

  // As an administrator. Fails hard.
  core::PgResult Sql(absl::string_view sql);
  std::string Scalar(absl::string_view sql);

  std::string conninfo_;
  core::ManualExecutor executor_;
  std::unique_ptr<core::PgConnection> admin_;
  uint64_t epoch_ = 0;
};

}  // namespace penstock::client
