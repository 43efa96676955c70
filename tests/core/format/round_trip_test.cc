// What an encoder writes of a row, each parser that reads its format reads as
// that row: values of every type, their extremes among them. The encoder of
// PostgreSQL's COPY is held by a server (tests/core/sinks/postgres), those of
// ClickHouse by golden bytes and a server (clickhouse/).
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/rows/row_json.h"
#include "tests/core/format/parse_text.h"
#include "tests/core/format/parsed_rows.h"
#include "tests/core/format/random_rows.h"
#include "tests/core/format/row_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

struct TripCase {
  std::string name;
  std::function<std::unique_ptr<RowEncoder>(const Schema&)> make_encoder;
  std::function<std::unique_ptr<Parser>(const Schema&)> make_parser;
  // Arrays, maps and structs have a form.
  bool takes_nested = true;
  // A variant comes back as one, not as a string of JSON.
  bool takes_variants = true;

  friend std::ostream& operator<<(std::ostream& out, const TripCase& trip) {
    return out << trip.name;
  }
};

// A column of each type that the format has a form for.
Schema EveryType(Random& random, const TripCase& trip) {
  Schema schema;
  for (int i = 0; i <= static_cast<int>(SqlType::kVariant); ++i) {
    const auto type = static_cast<SqlType>(i);
    const bool is_nested = type == SqlType::kArray || type == SqlType::kMap ||
                           type == SqlType::kStruct;
    if (is_nested && !trip.takes_nested) continue;
    if (type == SqlType::kVariant && !trip.takes_variants) continue;
    schema.columns.push_back(
        RandomColumnOf(random, type, std::string(SqlTypeName(type)), 3));
  }
  return schema;
}

class RoundTripTest : public testing::TestWithParam<TripCase> {};

TEST_P(RoundTripTest, RowsOfEveryTypeComeBackAsTheyWere) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(200); ++run) {
    const Schema schema = EveryType(random, GetParam());
    const std::unique_ptr<RowEncoder> encoder = GetParam().make_encoder(schema);
    FrameBuffer frame;
    ValueArena arena;
    std::vector<std::string> rows;
    for (int i = 0; i < 5; ++i) {
      const std::vector<Value> row = RandomRow(random, schema, arena);
      rows.push_back(RowText(row));
      ASSERT_OK(encoder->Encode(Record{.value = "", .row = row}, frame));
    }
    const ParsedText parsed =
        ParseWhole(*GetParam().make_parser(schema), frame.view());
    ASSERT_EQ(parsed.rows, rows) << absl::CHexEscape(frame.view());
    ASSERT_THAT(parsed.errors, testing::IsEmpty());
  }
}

std::unique_ptr<RowEncoder> MakeRowJson(const Schema& schema) {
  return std::make_unique<RowJsonEncoder>(schema, FrameKind::kConcatenated,
                                          std::nullopt);
}

// What the default leaves out.
CsvConfig OtherCsv() {
  CsvConfig config;
  config.dialect = {.delimiter = '\t',
                    .quote = '\'',
                    .escape = CsvEscape::kBackslash,
                    .comment = '-',
                    .trim = true};
  config.empty_is_null = false;
  config.null_tokens = {"\\N", "null"};
  return config;
}

TripCase CsvCase(std::string name, const CsvConfig& config) {
  return {.name = std::move(name),
          .make_encoder =
              [config](const Schema& schema) {
                return std::make_unique<CsvEncoder>(config,
                                                    schema.columns.size());
              },
          .make_parser =
              [config](const Schema& schema) {
                return *MakeCsvParser(config, schema);
              },
          .takes_nested = false};
}

INSTANTIATE_TEST_SUITE_P(
    All, RoundTripTest,
    testing::Values(CsvCase("Csv", CsvConfig()),
                    CsvCase("CsvOfAnotherDialect", OtherCsv()),
                    TripCase{"Ndjson", MakeRowJson,
                             [](const Schema& schema) {
                               return *MakeNdjsonParser(NdjsonConfig(), schema);
                             }},
                    TripCase{"Json", MakeRowJson,
                             [](const Schema& schema) {
                               return *MakeJsonParser(JsonConfig(), schema);
                             }},
                    TripCase{.name = "Msgpack",
                             .make_encoder =
                                 [](const Schema& schema) {
                                   return std::make_unique<MsgpackEncoder>(
                                       schema, FrameKind::kConcatenated);
                                 },
                             .make_parser =
                                 [](const Schema& schema) {
                                   return *MakeMsgpackParser(MsgpackConfig(),
                                                             schema);
                                 },
                             .takes_variants = false}),
    [](const testing::TestParamInfo<TripCase>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
