// A schema against the table that is there, before anything is written.
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>

#include <string>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PostgresCatalogTest : public PostgresSinkTest {
 protected:
  absl::Status Opened(const PostgresSinkConfig& config, Schema schema) {
    return Start(config, Open(1, std::move(schema)))->opened().status();
  }
  static std::string Text(const absl::Status& status) {
    return std::string(status.message());
  }
};

const Column kId = {.name = "id", .type = SqlType::kBigint, .nullable = false};
const Column kLabel = {.name = "label", .type = SqlType::kVarchar};

TEST_F(PostgresCatalogTest, TableAndProgressAreMadeFromTheSchema) {
  PostgresSinkConfig config = Config();
  config.table = "Sales.orders";
  Column price = {.name = "price", .type = SqlType::kDecimal};
  price.precision = 8;
  price.scale = 2;
  const auto writer = Start(config, Open(1, Schema{{kId, kLabel, price}}));
  ASSERT_OK(writer->opened());
  ASSERT_OK(writer->Write({0, 1}, {{{Value::Int64(7), Value::String("x"),
                                     Value::Decimal("9.99")}}}));
  EXPECT_THAT(Query("SELECT * FROM \"Sales\".orders"), ElementsAre("7|x|9.99"));
  EXPECT_EQ(Scalar("SELECT attnotnull FROM pg_attribute WHERE attrelid ="
                   " '\"Sales\".orders'::regclass AND attname = 'id'"),
            "t");
  EXPECT_THAT(Query("SELECT incarnation, pipeline, connector, shard, epoch,"
                    " open_number, steps FROM penstock.progress"),
              ElementsAre("1234abcd|p|c|0|1|1|1"));
}

TEST_F(PostgresCatalogTest, RightForTheSchemasAloneIsEnough) {
  Run("CREATE ROLE limited LOGIN; CREATE SCHEMA penstock;"
      "GRANT CREATE, USAGE ON SCHEMA public, penstock TO limited");
  PostgresSinkConfig config = Config();
  config.url += " user=limited";
  EXPECT_OK(Opened(config, Schema{{kId}}));
}

TEST_F(PostgresCatalogTest, NothingIsMadeUnlessAskedFor) {
  PostgresSinkConfig config = Config();
  config.create_table = false;
  const absl::Status no_progress = Opened(config, Schema{{kId}});
  EXPECT_THAT(no_progress, HasReason(Reason::NOT_FOUND));
  EXPECT_THAT(
      Text(no_progress),
      HasSubstr("CREATE TABLE IF NOT EXISTS \"penstock\".\"progress\""));
  Run("CREATE SCHEMA penstock");
  const std::string made = Text(no_progress);
  Run(made.substr(made.find("CREATE TABLE IF")));
  EXPECT_THAT(Text(Opened(config, Schema{{kId}})),
              HasSubstr("there is no table public.t"));
}

TEST_F(PostgresCatalogTest, TableOfOtherColumnsIsNoProgressTable) {
  Run("CREATE SCHEMA penstock; CREATE TABLE penstock.progress (pipeline text,"
      " connector text, shard int, incarnation text, epoch int,"
      " open_number int, steps int)");
  const absl::Status refused = Opened(Config(), Schema{{kId}});
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(Text(refused), HasSubstr("penstock.progress is not a progress "
                                       "table of this version"));
}

TEST_F(PostgresCatalogTest, TypeMismatchIsFoundBeforeAnyRow) {
  Run("CREATE TABLE t (id text)");
  const absl::Status refused = Opened(Config(), Schema{{kId}});
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(
      Text(refused),
      AllOf(HasSubstr("column \"id\" of public.t is text"),
            HasSubstr("declares it bigint"), HasSubstr("declare it varchar")));
}

// The server would cut it, and make another column.
TEST_F(PostgresCatalogTest, NameThatWouldBeCutIsRefused) {
  Column long_name = kLabel;
  long_name.name = std::string(64, 'n');
  EXPECT_THAT(Text(Opened(Config(), Schema{{long_name}})),
              HasSubstr("names have 1 to 63 bytes"));
  EXPECT_EQ(Scalar("SELECT to_regclass('t')"), "(null)");
  long_name.name.pop_back();
  EXPECT_OK(Opened(Config(), Schema{{long_name}}));
}

TEST_F(PostgresCatalogTest, TypesThatRoundAreRefused) {
  Run("CREATE DOMAIN price AS money;"
      "CREATE TABLE t (a money, b price[], c interval year, d interval)");
  for (const char* const name : {"a", "c"}) {
    Column column = kLabel;
    column.name = name;
    EXPECT_THAT(Text(Opened(Config(), Schema{{column}})),
                HasSubstr("keeps not every value as it is"))
        << name;
  }
  const Column prices = {
      .name = "b", .type = SqlType::kArray, .children = {kLabel}};
  EXPECT_THAT(Text(Opened(Config(), Schema{{prices}})), HasSubstr("numeric"));
  Column interval = kLabel;
  interval.name = "d";
  EXPECT_OK(Opened(Config(), Schema{{interval}}));
}

TEST_F(PostgresCatalogTest, DeclaredColumnMustBeThere) {
  Run("CREATE TABLE t (a int, b int)");
  EXPECT_THAT(Text(Opened(Config(), Schema{{kId}})),
              HasSubstr("its columns are: a, b"));
}

TEST_F(PostgresCatalogTest, ColumnThatNeedsAValueMustBeDeclared) {
  Run("CREATE TABLE t (id bigint, must int NOT NULL,"
      " own bigint GENERATED ALWAYS AS IDENTITY, dflt int NOT NULL DEFAULT 1)");
  EXPECT_THAT(Text(Opened(Config(), Schema{{kId}})), HasSubstr("\"must\""));
  Run("ALTER TABLE t ALTER must DROP NOT NULL");
  EXPECT_OK(Opened(Config(), Schema{{kId}}));
}

TEST_F(PostgresCatalogTest, GeneratedColumnTakesNoValue) {
  Run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY)");
  EXPECT_THAT(Text(Opened(Config(), Schema{{kId}})),
              HasSubstr("makes its values itself"));
}

TEST_F(PostgresCatalogTest, WithoutASchemaARecordGoesIntoTheOneColumn) {
  Run("CREATE TABLE t (loaded timestamptz DEFAULT now(), body jsonb)");
  const auto writer = Start(Schema());
  ASSERT_OK(writer->PushRecords({0, 1}, {R"({"a": 1})", "[2]"}));
  ASSERT_OK(writer->End());
  EXPECT_THAT(Query("SELECT body FROM t"), ElementsAre(R"({"a": 1})", "[2]"));
}

TEST_F(PostgresCatalogTest, WithoutASchemaAnyBytesGoIntoBytea) {
  Run("CREATE TABLE t (body bytea)");
  const auto writer = Start(Schema());
  ASSERT_OK(writer->PushRecords({0, 1}, {std::string("\0\xff\n", 3)}));
  ASSERT_OK(writer->End());
  EXPECT_THAT(Query("SELECT body FROM t"), ElementsAre("\\x00ff0a"));
}

TEST_F(PostgresCatalogTest, WithoutASchemaTwoColumnsAreOneTooMany) {
  Run("CREATE TABLE t (a text, b text)");
  EXPECT_THAT(Text(Opened(Config(), Schema())), HasSubstr("declare a schema"));
}

TEST_F(PostgresCatalogTest, UpsertNeedsAUniqueIndexOnItsKey) {
  Run("CREATE TABLE t (id bigint, label text, UNIQUE (id, label))");
  PostgresSinkConfig config = Config();
  config.mode = PostgresMode::kUpsert;
  config.key = {"id"};
  EXPECT_THAT(Text(Opened(config, Schema{{kId, kLabel}})),
              HasSubstr("CREATE UNIQUE INDEX ON \"public\".\"t\" (\"id\")"));
  config.key = {"label", "id"};
  EXPECT_OK(Opened(config, Schema{{kId, kLabel}}));
}

TEST_F(PostgresCatalogTest, PasswordInPlainTextIsRefused) {
  PostgresSinkConfig config = Config();
  config.url += " password=hush";
  const absl::Status refused = CheckPostgresConfig(config);
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(Text(refused), testing::Not(HasSubstr("hush")));
  config.url = conninfo_ + " password=${env:PGPASS}";
  EXPECT_OK(CheckPostgresConfig(config));
}

}  // namespace
}  // namespace penstock::core
