#include "core/base/clock.h"
#include "core/base/path_policy.h"
#include "core/sinks/postgres/postgres_sink.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kBufferBytesMax = 1000;

absl::Time Soon() { return RealClock().SteadyNow() + absl::Seconds(30); }

// Beside each record the table keeps which shard's session wrote it, and when.
class PostgresDriver final : public SinkDriver {
 public:
  PostgresDriver()
      : conninfo_(PostgresServer::Shared().MakeDatabase()),
        connection_(PostgresServer::Connect(conninfo_)) {
    Run("CREATE TABLE rows ("
        " record text CHECK (record <> 'refused'),"
        " shard text DEFAULT"
        "   split_part(current_setting('application_name'), ':', 4),"
        " number bigint GENERATED ALWAYS AS IDENTITY)");
  }

  SinkCapabilities capabilities() const override {
    return {.buffer_bytes_max = kBufferBytesMax,
            .has_committer = false,
            .tells_rows_apart = true};
  }

  std::unique_ptr<OutputTarget> Make() override {
    PostgresSinkConfig config;
    config.url = conninfo_;
    config.table = "rows";
    config.create_table = true;
    config.buffer_bytes_max = kBufferBytesMax;
    auto made = MakePostgresSink(
        config,
        {.files = files_, .io = io_, .clock = RealClock(), .paths = paths_});
    EXPECT_OK(made);
    return *std::move(made);
  }

  std::vector<std::string> ReadBack(ShardIndex shard) override {
    const std::array params = {PgParam::Text(absl::StrCat(absl::Hex(shard)))};
    const auto result = connection_->Exec(
        "SELECT record FROM rows WHERE shard = $1 ORDER BY number", params,
        Soon());
    EXPECT_OK(result);
    std::vector<std::string> rows;
    for (size_t i = 0; result.ok() && i < result->rows(); ++i) {
      rows.emplace_back(result->Text(i, 0));
    }
    return rows;
  }

  void Forget() override { Run("TRUNCATE rows, penstock.progress"); }

  // The server ends every session of the sink; if there is none yet, the first
  // row fails.
  void FailNextWrite() override {
    const auto ended = connection_->Exec(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND"
        " starts_with(application_name, 'penstock:')"
        // Not the one that opened it, which may not be quite gone.
        " AND NOT application_name LIKE '%:o'",
        Soon());
    ASSERT_OK(ended);
    if (ended->rows() == 0) FailOnce("BEFORE INSERT ON rows");
  }
  void FailNextCommit() override {
    FailOnce("BEFORE UPDATE ON penstock.progress");
  }
  std::string RefusedRow() override { return "refused"; }

 private:
  // A conflict of transactions, once: what a sequence gave is not rolled back.
  void FailOnce(absl::string_view when) {
    Run(absl::StrCat(
        "CREATE SEQUENCE failures;"
        "CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN IF nextval('failures') = 1 THEN"
        " RAISE 'not now' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER fail_once ",
        when, " FOR EACH ROW EXECUTE FUNCTION fail_once()"));
  }
  void Run(absl::string_view sql) { EXPECT_OK(connection_->Exec(sql, Soon())); }

  const std::string conninfo_;
  const std::unique_ptr<PgConnection> connection_;
  FakeFileSystem files_;
  ManualExecutor io_;
  const PathPolicy paths_{{}};
};

std::vector<SinkDriverFactory> Drivers() {
  if (PostgresServer::Missing().has_value()) return {};
  return {{"Real", std::make_unique<PostgresDriver>}};
}

// Says it where the suite below is empty.
TEST(PostgresSinkContractTest, HasAServer) { PENSTOCK_NEED_POSTGRES(); }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SinkContractTest);
INSTANTIATE_TEST_SUITE_P(Postgres, SinkContractTest,
                         testing::ValuesIn(Drivers()), SinkDriverName);

}  // namespace
}  // namespace penstock::core
