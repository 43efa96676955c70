// Changes: the last one of each key counts.
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

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
