// A real ClickHouse server reads what the encoders write, where Debian's
// packages clickhouse-server and clickhouse-client are installed.
#include "core/base/filesystem.h"
#include "core/format/clickhouse/clickhouse_encoder.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr char kServer[] = "/usr/sbin/clickhouse-server";
constexpr char kClient[] = "/usr/bin/clickhouse-client";

void WriteText(const std::string& path, absl::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A server of its own, and a client for each query.
class ClickHouse {
 public:
  bool Start() {
    std::filesystem::create_directory(directory_.Path("data"));
    std::filesystem::create_directory(directory_.Path("tmp"));
    WriteText(directory_.Path("users.xml"),
              "<yandex><profiles><default/></profiles><users><default>"
              "<password></password><networks><ip>127.0.0.1</ip></networks>"
              "<profile>default</profile><quota>default</quota></default>"
              "</users><quotas><default/></quotas></yandex>");
    // Another process may have the port.
    for (int attempt = 0; attempt < 5; ++attempt) {
      port_ = 20'000 + (::getpid() * 7 + attempt) % 10'000;
      WriteText(directory_.Path("config.xml"), Config());
      if (process_.Launch(
              {kServer,
               absl::StrCat("--config-file=", directory_.Path("config.xml"))},
              "Ready for connections", absl::Minutes(1))) {
        return true;
      }
    }
    return false;
  }
  std::string log() const { return process_.log(); }

  // What the server answers; its error, if it says no.
  std::string Query(absl::string_view query, absl::string_view input = "") {
    WriteText(directory_.Path("input"), input);
    const std::string command =
        absl::StrCat(kClient, " --host 127.0.0.1 --port ", port_, " --query \"",
                     query, "\" < ", directory_.Path("input"), " > ",
                     directory_.Path("output"), " 2>&1");
    // NOLINTNEXTLINE(cert-env33-c): a test's own command.
    EXPECT_EQ(std::system(command.c_str()), 0) << query;
    return ReadText(directory_.Path("output"));
  }

 private:
  std::string Config() const {
    return absl::StrCat(
        "<yandex><logger><level>information</level><console>1</console>"
        "</logger><tcp_port>",
        port_, "</tcp_port><listen_host>127.0.0.1</listen_host><path>",
        directory_.Path("data"), "/</path><tmp_path>", directory_.Path("tmp"),
        "/</tmp_path><users_config>", directory_.Path("users.xml"),
        "</users_config><default_profile>default</default_profile>"
        "<default_database>default</default_database>"
        "<mark_cache_size>5368709</mark_cache_size></yandex>");
  }

  TempDir directory_;
  int port_ = 0;
  ServerProcess process_;
};

// A column of a table, with its values in two rows and what the server shows of
// them (in TabSeparated).
struct Example {
  std::string type;
  Column column;
  Value first;
  Value second;
  std::string first_text;
  std::string second_text;
};

Column Of(SqlType type) { return {.type = type, .nullable = false}; }
Column OrNull(SqlType type) { return {.type = type}; }
Column DecimalOf(uint32_t precision, int32_t scale) {
  return {.type = SqlType::kDecimal,
          .nullable = false,
          .precision = precision,
          .scale = scale};
}
Column Nested(SqlType type, std::vector<Column> children) {
  for (size_t i = 0; i < children.size(); ++i) {
    children[i].name = absl::StrCat("n", i);
  }
  return {.type = type, .nullable = false, .children = std::move(children)};
}

// Each type that ClickHouse 18.16, which Debian has, knows and that rows are
// written to.
std::vector<Example> Numbers() {
  return {
      {"UInt8", Of(SqlType::kTinyintUnsigned), Value::Uint64(0),
       Value::Uint64(255), "0", "255"},
      {"Int8", Of(SqlType::kTinyint), Value::Int64(-128), Value::Int64(127),
       "-128", "127"},
      {"Int16", Of(SqlType::kSmallint), Value::Int64(-32'768),
       Value::Int64(32'767), "-32768", "32767"},
      {"Int32", Of(SqlType::kInteger), Value::Int64(INT32_MIN),
       Value::Int64(INT32_MAX), "-2147483648", "2147483647"},
      {"Nullable(Int32)", OrNull(SqlType::kInteger), Value::Int64(-5), Value(),
       "-5", "\\N"},
      {"Int64", Of(SqlType::kBigint), Value::Int64(INT64_MIN),
       Value::Int64(INT64_MAX), "-9223372036854775808", "9223372036854775807"},
      {"UInt16", Of(SqlType::kSmallintUnsigned), Value::Uint64(65'535),
       Value::Uint64(0), "65535", "0"},
      {"UInt32", Of(SqlType::kIntegerUnsigned), Value::Uint64(UINT32_MAX),
       Value::Uint64(1), "4294967295", "1"},
      {"UInt64", Of(SqlType::kBigintUnsigned), Value::Uint64(UINT64_MAX),
       Value::Uint64(0), "18446744073709551615", "0"},
      {"UInt8", Of(SqlType::kBoolean), Value::Bool(true), Value::Bool(false),
       "1", "0"},
      {"Float32", Of(SqlType::kReal), Value::Double(1.5), Value::Double(-0.25),
       "1.5", "-0.25"},
      {"Float64", Of(SqlType::kDouble), Value::Double(0.1), Value::Double(-2),
       "0.1", "-2"},
      {"Nullable(Float64)", OrNull(SqlType::kDouble), Value(),
       Value::Double(1e300), "\\N", "1e300"},
      {"Decimal(9, 2)", DecimalOf(9, 2), Value::Decimal("1234567.89"),
       Value::Decimal("-0.5"), "1234567.89", "-0.50"},
      {"Decimal(18, 3)", DecimalOf(18, 3), Value::Decimal("-1.5"),
       Value::Decimal("1e3"), "-1.500", "1000.000"},
      {"Decimal(38, 2)", DecimalOf(38, 2),
       Value::Decimal("123456789012345678901234.5"), Value::Decimal("0"),
       "123456789012345678901234.50", "0.00"},
  };
}

const std::string& UuidBytes() {
  static const std::string& bytes = *new std::string(
      absl::HexStringToBytes("00112233445566778899aabbccddeeff"));
  return bytes;
}

std::vector<Example> TextsAndTimes() {
  const std::string uuid = "00112233-4455-6677-8899-aabbccddeeff";
  return {
      {"String", Of(SqlType::kVarchar), Value::String("caf\xc3\xa9"),
       Value::String(""), "caf\xc3\xa9", ""},
      {"Nullable(String)", OrNull(SqlType::kVarchar), Value::String("\t"),
       Value(), "\\t", "\\N"},
      {"String", Of(SqlType::kVarbinary),
       Value::Binary(absl::string_view("\0\xff", 2)), Value::Binary("b"),
       "\\0\xff", "b"},
      {"String", Of(SqlType::kVariant), Value::Variant("[1, 2.0]"),
       Value::Variant("null"), "[1, 2.0]", "null"},
      {"String", Of(SqlType::kDecimal), Value::Decimal("1.50"),
       Value::Decimal("-1e400"), "1.50", "-1e400"},
      {"String", Of(SqlType::kTime), Value::Time(3'600'000'000'000),
       Value::Time(0), "01:00:00", "00:00:00"},
      {"Date", Of(SqlType::kDate), Value::Date(20'484), Value::Date(1),
       "2026-01-31", "1970-01-02"},
      {"DateTime", Of(SqlType::kTimestamptz),
       Value::Timestamptz(1'769'903'999'000'000), Value::Timestamptz(0),
       "1769903999", "0"},
      {"Nullable(DateTime)", OrNull(SqlType::kTimestamp), Value(),
       Value::Timestamp(86'399'000'000), "\\N", "86399"},
      {"UUID", Of(SqlType::kUuid), Value::Uuid(UuidBytes()),
       Value::Uuid(UuidBytes()), uuid, uuid},
      {"Nullable(UUID)", OrNull(SqlType::kUuid), Value::Uuid(UuidBytes()),
       Value(), uuid, "\\N"},
  };
}

// What nested values hold, which outlives them.
struct Parts {
  std::vector<Value> numbers = {Value::Int64(1), Value(), Value::Int64(-3)};
  std::vector<Value> texts = {Value::String("a"), Value::String("b")};
  std::vector<Value> lists = {Value::Array(texts), Value::Array({})};
  std::vector<Value> pair = {Value::Int64(7), Value::String("y")};
  std::vector<Value> deep = {Value(), Value::Array(numbers)};
};

std::vector<Example> NestedOnes(const Parts& parts) {
  const Column numbers = Nested(SqlType::kArray, {OrNull(SqlType::kTinyint)});
  return {
      {"Array(Nullable(Int8))", numbers, Value::Array(parts.numbers),
       Value::Array({}), "[1,NULL,-3]", "[]"},
      {"Array(Array(String))",
       Nested(SqlType::kArray,
              {Nested(SqlType::kArray, {Of(SqlType::kVarchar)})}),
       Value::Array(parts.lists), Value::Array({}), "[['a','b'],[]]", "[]"},
      {"Tuple(Int8, String)",
       Nested(SqlType::kStruct, {Of(SqlType::kTinyint), Of(SqlType::kVarchar)}),
       Value::Struct(parts.pair), Value::Struct(parts.pair), "(7,'y')",
       "(7,'y')"},
      {"Tuple(Nullable(UInt16), Array(Nullable(Int8)))",
       Nested(SqlType::kStruct, {OrNull(SqlType::kSmallintUnsigned), numbers}),
       Value::Struct(parts.deep), Value::Struct(parts.deep),
       "(NULL,[1,NULL,-3])", "(NULL,[1,NULL,-3])"},
  };
}

// A column for each example; the first one orders the rows.
class Table {
 public:
  Table() {
    for (const std::vector<Example>& some :
         {Numbers(), TextsAndTimes(), NestedOnes(parts_)}) {
      examples_.insert(examples_.end(), some.begin(), some.end());
    }
  }

  std::string Create(absl::string_view name) const {
    std::vector<std::string> columns;
    for (size_t i = 0; i < examples_.size(); ++i) {
      columns.push_back(absl::StrCat("c", i, " ", examples_[i].type));
    }
    return absl::StrCat("CREATE TABLE ", name, " (",
                        absl::StrJoin(columns, ", "), ") ENGINE = Memory");
  }
  // Times as numbers, whatever zone the server is in.
  std::string Select(absl::string_view name) const {
    std::vector<std::string> columns;
    for (size_t i = 0; i < examples_.size(); ++i) {
      const bool is_time = absl::StrContains(examples_[i].type, "DateTime");
      columns.push_back(is_time ? absl::StrCat("toUInt32(c", i, ")")
                                : absl::StrCat("c", i));
    }
    return absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM ", name,
                        " ORDER BY c0 FORMAT TSV");
  }
  std::string Shown() const {
    std::vector<std::string> first;
    std::vector<std::string> second;
    for (const Example& example : examples_) {
      first.push_back(example.first_text);
      second.push_back(example.second_text);
    }
    return absl::StrCat(absl::StrJoin(first, "\t"), "\n",
                        absl::StrJoin(second, "\t"), "\n");
  }

  // Two chunks, one behind the other.
  std::string Frames(ClickHouseLayout layout) const {
    Schema schema;
    std::vector<ClickHouseType> types;
    std::vector<std::vector<Value>> rows(2);
    for (const Example& example : examples_) {
      Column column = example.column;
      column.name = absl::StrCat("c", schema.columns.size());
      schema.columns.push_back(std::move(column));
      types.push_back(*ParseClickHouseType(example.type));
      rows[0].push_back(example.first);
      rows[1].push_back(example.second);
    }
    const std::unique_ptr<RowEncoder> encoder =
        *MakeClickHouseEncoder(layout, schema, std::move(types));
    FrameBuffer out;
    for (const std::vector<Value>& row : rows) {
      EXPECT_OK(encoder->Encode(Record{.row = row}, out));
      if (encoder->AsColumnar() == nullptr) continue;
      EXPECT_OK(encoder->AsColumnar()->FinishChunk(out));
    }
    return std::string(out.view());
  }

 private:
  const Parts parts_;
  std::vector<Example> examples_;
};

TEST(ClickHouseConsumerTest, AServerReadsBothFormats) {
  if (::access(kServer, X_OK) != 0 || ::access(kClient, X_OK) != 0) {
    GTEST_SKIP() << "no ClickHouse is installed: "
                    "deploy/setup/install-deps.sh test";
  }
  ClickHouse server;
  ASSERT_TRUE(server.Start()) << server.log();
  const Table table;
  for (const auto& [name, layout] :
       {std::pair("RowBinary", ClickHouseLayout::kRowBinary),
        std::pair("Native", ClickHouseLayout::kNative)}) {
    EXPECT_EQ(server.Query(table.Create(name)), "");
    EXPECT_EQ(server.Query(absl::StrCat("INSERT INTO ", name, " FORMAT ", name),
                           table.Frames(layout)),
              "");
    EXPECT_EQ(server.Query(table.Select(name)), table.Shown())
        << name << server.log();
  }
}

}  // namespace
}  // namespace penstock::core
