// Every type that the server has by itself is exact, or refused.
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::HasSubstr;

struct Example {
  SqlType declared = SqlType::kVarchar;
  Value value;
  // As the server prints it; or, where it begins with "!", what the refusal
  // says.
  std::string outcome;
};

Example Same(absl::string_view text) {
  return {.value = Value::String(text), .outcome = std::string(text)};
}
// Its values are made by the server alone.
Example Internal() {
  return {.value = Value::String("x"),
          .outcome = "!cannot accept a value of type"};
}

std::map<std::string, Example> Typed() {
  return {{"bool", {SqlType::kBoolean, Value::Bool(false), "false"}},
          {"int2", {SqlType::kSmallint, Value::Int64(32'767), "32767"}},
          {"int4", {SqlType::kInteger, Value::Int64(-7), "-7"}},
          {"int8",
           {SqlType::kBigint, Value::Int64(INT64_MAX), "9223372036854775807"}},
          {"float4", {SqlType::kReal, Value::Double(1.5), "1.5"}},
          {"float8", {SqlType::kDouble, Value::Double(0.1), "0.1"}},
          {"numeric", {SqlType::kDecimal, Value::Decimal("1.00"), "1.00"}},
          {"bytea", {SqlType::kVarbinary, Value::Binary("a"), "\\x61"}},
          {"uuid",
           {SqlType::kUuid, Value::Uuid("0123456789abcdef"),
            "30313233-3435-3637-3839-616263646566"}},
          {"date", {SqlType::kDate, Value::Date(1), "1970-01-02"}},
          {"time", {SqlType::kTime, Value::Time(1000), "00:00:00.000001"}},
          {"timestamp",
           {SqlType::kTimestamp, Value::Timestamp(0), "1970-01-01 00:00:00"}},
          {"timestamptz",
           {SqlType::kTimestamptz, Value::Timestamptz(0),
            "1970-01-01 00:00:00+00"}},
          {"json", {SqlType::kVariant, Value::Variant("{ }"), "{ }"}},
          {"jsonb", {SqlType::kVariant, Value::Variant("{ }"), "{}"}}};
}

std::map<std::string, Example> InText() {
  std::map<std::string, Example> examples = {
      {"text", Same("a")},
      {"varchar", Same("a")},
      {"bpchar", Same("a")},
      {"name", Same("a")},
      {"char", Same("a")},
      {"xml", Same("<a/>")},
      {"aclitem", Same("=r/postgres")},
      {"bit", Same("1")},
      {"varbit", Same("101")},
      {"box", Same("(2,2),(1,1)")},
      {"cid", Same("7")},
      {"cidr", Same("10.0.0.0/8")},
      {"circle", Same("<(1,2),3>")},
      {"inet", Same("10.0.0.1/24")},
      {"int2vector", Same("1 2")},
      {"interval", Same("P1DT0.5S")},
      {"jsonpath", Same("$.\"a\"")},
      {"line", Same("{1,2,3}")},
      {"lseg", Same("[(1,2),(3,4)]")},
      {"macaddr", Same("08:00:2b:01:02:03")},
      {"macaddr8", Same("08:00:2b:01:02:03:04:05")},
      {"oid", Same("7")},
      {"oidvector", Same("1 2")},
      {"path", Same("((1,2),(3,4))")},
      {"pg_lsn", Same("16/B374D848")},
      {"pg_snapshot", Same("10:20:10,14")},
      {"txid_snapshot", Same("10:20:10,14")},
      {"point", Same("(1,2)")},
      {"polygon", Same("((1,2),(3,4))")},
      {"refcursor", Same("c")},
      {"regclass", Same("pg_class")},
      {"regcollation", Same("\"C\"")},
      {"regconfig", Same("simple")},
      {"regdictionary", Same("simple")},
      {"regnamespace", Same("pg_catalog")},
      {"regoper", Same("||/")},
      {"regoperator", Same("+(integer,integer)")},
      {"regproc", Same("now")},
      {"regprocedure", Same("now()")},
      {"regrole", Same("postgres")},
      {"regtype", Same("integer")},
      {"tid", Same("(1,2)")},
      {"timetz", Same("12:00:00.5+02")},
      {"tsquery", Same("'a' & 'b'")},
      {"tsvector", Same("'a':1 'b':2")},
      {"xid", Same("7")},
      {"xid8", Same("7")},
      {"int4range", Same("[1,5)")},
      {"int8range", Same("[1,5)")},
      {"numrange", Same("(1.50,2.25]")},
      {"daterange", Same("[2024-02-28,2024-03-01)")},
      {"tsrange", Same("[\"2024-02-29 00:00:00.000001\",)")},
      {"tstzrange", Same("(,\"2024-02-29 00:00:00+00\")")},
      {"int4multirange", Same("{[1,5),[7,9)}")},
      {"int8multirange", Same("{}")},
      {"nummultirange", Same("{(1.50,2.25]}")},
      {"datemultirange", Same("{[2024-02-28,2024-03-01)}")},
      {"tsmultirange", Same("{[\"2024-02-29 00:00:00\",)}")},
      {"tstzmultirange", Same("{(,\"2024-02-29 00:00:00+00\")}")},
      {"money",
       {.value = Value::String("1.00"),
        .outcome = "!keeps not every value as it is: it rounds"}}};
  examples.emplace("gtsvector", Example{.value = Value::String("x"),
                                        .outcome = "!not implemented"});
  for (const std::string internal :
       {"pg_brin_bloom_summary", "pg_brin_minmax_multi_summary",
        "pg_dependencies", "pg_mcv_list", "pg_ndistinct", "pg_node_tree"}) {
    examples.emplace(internal, Internal());
  }
  return examples;
}

class PostgresEveryTypeTest : public PostgresSinkTest {
 protected:
  // What the server then prints, or "!" and the refusal.
  std::string Outcome(const std::string& type, const Example& example) {
    const std::string table = absl::StrCat("t_", type);
    Run(absl::StrCat("CREATE TABLE ", table, " (c pg_catalog.\"", type, "\")"));
    PostgresSinkConfig config = Config();
    config.table = table;
    OutputOpen open =
        Open(1, Schema{{{.name = "c", .type = example.declared}}});
    open.connector = type;
    const auto writer = Start(config, open);
    absl::Status status = writer->opened().status();
    if (status.ok()) status = writer->Write({0, 1}, {{{example.value}}});
    if (!status.ok()) return absl::StrCat("!", status.message());
    return Scalar(absl::StrCat("SELECT c::text FROM ", table));
  }
};

TEST_F(PostgresEveryTypeTest, IsExactOrRefused) {
  std::map<std::string, Example> examples = Typed();
  examples.merge(InText());
  const std::vector<std::string> types = Query(
      "SELECT t.typname FROM pg_type t"
      " WHERE t.typtype IN ('b', 'r', 'm')"
      "   AND t.typnamespace = 'pg_catalog'::regnamespace"
      "   AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)"
      " ORDER BY t.typname");
  EXPECT_GT(types.size(), 60u);
  for (const std::string& type : types) {
    SCOPED_TRACE(type);
    const auto example = examples.find(type);
    if (example == examples.end()) {
      ADD_FAILURE() << "a type of which this test knows no example";
      continue;
    }
    const std::string& expected = example->second.outcome;
    const std::string outcome = Outcome(type, example->second);
    if (absl::StartsWith(expected, "!")) {
      EXPECT_THAT(outcome, HasSubstr(expected.substr(1)));
    } else {
      EXPECT_EQ(outcome, expected);
    }
  }
}

}  // namespace
}  // namespace penstock::core
