// A real ClickHouse server reads what the encoders write, where Debian's
// packages clickhouse-server and clickhouse-client are installed.
#include "core/base/filesystem.h"
#include "core/format/clickhouse/clickhouse_encoder.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
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

// Types that ClickHouse 18.16, which Debian has, knows.
struct Table {
  Schema schema = {
      {{.name = "i", .type = SqlType::kInteger},
       {.name = "u", .type = SqlType::kBigintUnsigned, .nullable = false},
       {.name = "f", .type = SqlType::kDouble, .nullable = false},
       {.name = "d",
        .type = SqlType::kDecimal,
        .nullable = false,
        .precision = 18,
        .scale = 3},
       {.name = "w",
        .type = SqlType::kDecimal,
        .nullable = false,
        .precision = 38,
        .scale = 2},
       {.name = "t"},
       {.name = "day", .type = SqlType::kDate, .nullable = false},
       {.name = "at", .type = SqlType::kTimestamptz, .nullable = false},
       {.name = "ref", .type = SqlType::kUuid, .nullable = false},
       {.name = "a",
        .type = SqlType::kArray,
        .nullable = false,
        .children = {{.name = "element", .type = SqlType::kTinyint}}},
       {.name = "s",
        .type = SqlType::kStruct,
        .nullable = false,
        .children = {
            {.name = "x", .type = SqlType::kTinyint, .nullable = false},
            {.name = "y", .nullable = false}}}}};
  std::vector<std::string> types = {"Nullable(Int32)",
                                    "UInt64",
                                    "Float64",
                                    "Decimal(18, 3)",
                                    "Decimal(38, 2)",
                                    "Nullable(String)",
                                    "Date",
                                    "DateTime",
                                    "UUID",
                                    "Array(Nullable(Int8))",
                                    "Tuple(Int8, String)"};
  std::string uuid = absl::HexStringToBytes("00112233445566778899aabbccddeeff");
  std::vector<Value> elements = {Value::Int64(1), Value(), Value::Int64(-3)};
  std::vector<Value> fields = {Value::Int64(7), Value::String("y")};
  std::vector<std::vector<Value>> rows = {
      {Value::Int64(-5), Value::Uint64(UINT64_MAX), Value::Double(0.1),
       Value::Decimal("-1.5"), Value::Decimal("123456789012345678901234.5"),
       Value::String("caf\xc3\xa9"), Value::Date(20'484),
       Value::Timestamptz(1'769'903'999'000'000), Value::Uuid(uuid),
       Value::Array(elements), Value::Struct(fields)},
      {Value(), Value::Uint64(0), Value::Double(-2), Value::Decimal("1e3"),
       Value::Decimal("0"), Value(), Value::Date(1), Value::Timestamptz(0),
       Value::Uuid(uuid), Value::Array({}), Value::Struct(fields)}};
  std::string expected =
      "-5\t18446744073709551615\t0.1\t-1.500\t123456789012345678901234.50\t"
      "caf\xc3\xa9\t2026-01-31\t1769903999\t"
      "00112233-4455-6677-8899-aabbccddeeff\t[1,NULL,-3]\t(7,'y')\n"
      "\\N\t0\t-2\t1000.000\t0.00\t\\N\t1970-01-02\t0\t"
      "00112233-4455-6677-8899-aabbccddeeff\t[]\t(7,'y')\n";

  std::string Create(absl::string_view name) const {
    std::string columns;
    for (size_t i = 0; i < types.size(); ++i) {
      absl::StrAppend(&columns, i > 0 ? ", " : "", schema.columns[i].name, " ",
                      types[i]);
    }
    return absl::StrCat("CREATE TABLE ", name, " (", columns,
                        ") ENGINE = Memory");
  }

  // Two chunks, one behind the other.
  std::string Frames(ClickHouseLayout layout) const {
    std::vector<ClickHouseType> parsed;
    for (const std::string& type : types) {
      parsed.push_back(*ParseClickHouseType(type));
    }
    const std::unique_ptr<RowEncoder> encoder =
        *MakeClickHouseEncoder(layout, schema, std::move(parsed));
    FrameBuffer out;
    for (const std::vector<Value>& row : rows) {
      EXPECT_OK(encoder->Encode(Record{.row = row}, out));
      if (encoder->AsColumnar() == nullptr) continue;
      EXPECT_OK(encoder->AsColumnar()->FinishChunk(out));
    }
    return std::string(out.view());
  }
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
    EXPECT_EQ(server.Query(absl::StrCat(
                  "SELECT i, u, f, d, w, t, day, toUInt32(at), ref, a, s FROM ",
                  name, " ORDER BY u DESC FORMAT TSV")),
              table.expected)
        << name << server.log();
  }
}

}  // namespace
}  // namespace penstock::core
