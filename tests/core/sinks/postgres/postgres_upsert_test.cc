// Changes: the last one of each key counts.
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Column kId = {.name = "id", .type = SqlType::kBigint, .nullable = false};
const Column kLabel = {.name = "label", .type = SqlType::kVarchar};

TestRow Change(Op op, int id, absl::string_view label = "") {
  return {.values = {Value::Int64(id),
                     label.empty() ? Value::Null() : Value::String(label)},
          .op = op};
}

class PostgresUpsertTest : public PostgresSinkTest {
 protected:
  std::unique_ptr<SinkWriter> StartUpsert() {
    PostgresSinkConfig config = Config();
    config.mode = PostgresMode::kUpsert;
    config.key = {"id"};
    return Start(config, Open(1, Schema{{kId, kLabel}}));
  }
  std::vector<std::string> Table() {
    return Query("SELECT id, label FROM t ORDER BY id");
  }
};

TEST_F(PostgresUpsertTest, ChangesOfManyBatchesAddUp) {
  const auto writer = StartUpsert();
  ASSERT_OK(writer->opened());
  ASSERT_OK(writer->Write(
      {0, 1}, {Change(Op::kInsert, 1, "a"), Change(Op::kUpsert, 2, "b"),
               Change(Op::kInsert, 3, "c")}));
  ASSERT_OK(
      writer->Write({1, 2}, {Change(Op::kUpdate, 2, "B"),
                             Change(Op::kDelete, 3), Change(Op::kDelete, 9)}));
  EXPECT_THAT(Table(), ElementsAre("1|a", "2|B"));
}

TEST_F(PostgresUpsertTest, LastChangeOfAKeyInABatchCounts) {
  const auto writer = StartUpsert();
  ASSERT_OK(writer->opened());
  ASSERT_OK(writer->Write({0, 1}, {Change(Op::kInsert, 4, "kept")}));
  ASSERT_OK(writer->Write(
      {1, 2}, {Change(Op::kInsert, 1, "a"), Change(Op::kUpdate, 1, "b"),
               Change(Op::kInsert, 2, "c"), Change(Op::kDelete, 2),
               Change(Op::kDelete, 4), Change(Op::kInsert, 4, "again")}));
  EXPECT_THAT(Table(), ElementsAre("1|b", "4|again"));
}

TEST_F(PostgresUpsertTest, NullKeyIsRefused) {
  const auto writer = StartUpsert();
  ASSERT_OK(writer->opened());
  TestRow row = Change(Op::kUpsert, 1, "a");
  row.values[0] = Value::Null();
  EXPECT_THAT(writer->Push({0, 1}, {row}), HasReason(Reason::ROW_REFUSED));
}

TEST_F(PostgresUpsertTest, ProbeLeavesNothing) {
  const auto writer = StartUpsert();
  ASSERT_OK(writer->opened());
  ASSERT_OK(writer->Push({0, 1}, {Change(Op::kUpsert, 1, "a")}));
  ASSERT_OK(writer->endpoint().BatchProbe());
  EXPECT_THAT(Table(), IsEmpty());
  ASSERT_OK(writer->Write({0, 1}, {Change(Op::kUpsert, 2, "b")}));
  EXPECT_THAT(Table(), ElementsAre("2|b"));
}

// Sessions see neither the extension's schema nor its operators.
TEST_F(PostgresUpsertTest, KeysAreEqualAsTheIndexHasIt) {
  Run("CREATE SCHEMA ext; CREATE EXTENSION citext SCHEMA ext;"
      "CREATE TABLE t (id ext.citext PRIMARY KEY, label text)");
  PostgresSinkConfig config = Config();
  config.mode = PostgresMode::kUpsert;
  config.key = {"id"};
  Column id = kId;
  id.type = SqlType::kVarchar;
  const auto writer = Start(config, Open(1, Schema{{id, kLabel}}));
  ASSERT_OK(writer->opened());
  const auto change = [](Op op, absl::string_view key) {
    return TestRow{.values = {Value::String(key), Value::String("x")},
                   .op = op};
  };
  ASSERT_OK(writer->Write(
      {0, 1}, {change(Op::kUpsert, "Abc"), change(Op::kUpsert, "other")}));
  ASSERT_OK(writer->Write(
      {1, 2}, {change(Op::kDelete, "aBC"), change(Op::kUpsert, "OTHER")}));
  EXPECT_THAT(Table(), ElementsAre("other|x"));
}

TEST_F(PostgresUpsertTest, IndexThatTellsRowsApartInItsOwnWayIsOfNoUse) {
  Run("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2',"
      " deterministic = false);"
      "CREATE TABLE t (id text, label text);"
      "CREATE UNIQUE INDEX ON t (id COLLATE folded)");
  PostgresSinkConfig config = Config();
  config.mode = PostgresMode::kUpsert;
  config.key = {"id"};
  Column id = kId;
  id.type = SqlType::kVarchar;
  EXPECT_THAT(Start(config, Open(1, Schema{{id, kLabel}}))->opened(),
              HasReason(Reason::INVALID_CONFIG));
  Run("CREATE UNIQUE INDEX ON t (id)");
  EXPECT_OK(Start(config, Open(1, Schema{{id, kLabel}}))->opened());
}

TEST_F(PostgresUpsertTest, DeletionNeedsNoMoreThanItsKey) {
  Run("CREATE DOMAIN must AS text NOT NULL CHECK (VALUE <> 'no');"
      "CREATE DOMAIN labels AS text[] NOT NULL;"
      "CREATE TABLE t (id bigint PRIMARY KEY, label must, labels labels)");
  PostgresSinkConfig config = Config();
  config.mode = PostgresMode::kUpsert;
  config.key = {"id"};
  const Column labels = {
      .name = "labels", .type = SqlType::kArray, .children = {kLabel}};
  const auto writer = Start(config, Open(1, Schema{{kId, kLabel, labels}}));
  ASSERT_OK(writer->opened());
  const std::array some = {Value::String("s")};
  const auto full = [&some](int id, absl::string_view label) {
    return TestRow{
        .values = {Value::Int64(id), Value::String(label), Value::Array(some)},
        .op = Op::kUpsert};
  };
  const TestRow deletion = {
      .values = {Value::Int64(1), Value::Null(), Value::Null()},
      .op = Op::kDelete};
  ASSERT_OK(writer->Write({0, 1}, {full(1, "a"), full(2, "b")}));
  ASSERT_OK(writer->Write({1, 2}, {deletion}));
  EXPECT_THAT(Table(), ElementsAre("2|b"));
  // What a row needs, it still needs.
  EXPECT_THAT(writer->Write({2, 3}, {full(3, "no")}),
              HasReason(Reason::ROW_REFUSED));
}

TEST_F(PostgresUpsertTest, NewSessionHasItsStagingAgain) {
  const auto writer = StartUpsert();
  ASSERT_OK(writer->opened());
  ASSERT_OK(writer->Write({0, 1}, {Change(Op::kUpsert, 1, "a")}));
  Run("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
      " WHERE datname = current_database() AND"
      " starts_with(application_name, 'penstock:')");
  EXPECT_THAT(writer->Write({1, 2}, {Change(Op::kUpsert, 1, "b")}),
              HasReason(Reason::UNAVAILABLE));
  ASSERT_OK(writer->Write({1, 2}, {Change(Op::kUpsert, 1, "b")}));
  EXPECT_THAT(Table(), ElementsAre("1|b"));
}

}  // namespace
}  // namespace penstock::core
