// What an encoder makes of records is never more than was reserved for it
// (INV-6): for every encoder, of rows of every type, whatever they were before.
#include "core/contract/batch_estimate.h"
#include "core/format/avro/avro_format.h"
#include "core/format/clickhouse/clickhouse_encoder.h"
#include "core/format/csv/csv_encoder.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/rows/row_json.h"
#include "tests/core/format/parsed_rows.h"
#include "tests/core/format/random_rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using Encoders =
    std::vector<std::pair<std::string, std::unique_ptr<RowEncoder>>>;

// Those that take rows of the schema.
Encoders EncodersOf(const Schema& schema, bool is_flat) {
  Encoders encoders;
  encoders.emplace_back("msgpack", std::make_unique<MsgpackEncoder>(
                                       schema, FrameKind::kConcatenated));
  encoders.emplace_back("msgpack messages", std::make_unique<MsgpackEncoder>(
                                                schema, FrameKind::kMessages));
  for (const FrameKind frames :
       {FrameKind::kConcatenated, FrameKind::kMessages}) {
    encoders.emplace_back(
        "JSON", std::make_unique<RowJsonEncoder>(schema, frames, std::nullopt));
  }
  for (const ClickHouseLayout layout :
       {ClickHouseLayout::kRowBinary, ClickHouseLayout::kNative}) {
    auto encoder = MakeClickHouseEncoder(layout, schema, {});
    if (encoder.ok()) encoders.emplace_back("ClickHouse", *std::move(encoder));
  }
  if (is_flat) {
    CsvConfig config;
    config.empty_is_null = false;
    config.null_tokens = {"a long text for nothing at all, nil"};
    encoders.emplace_back(
        "csv", std::make_unique<CsvEncoder>(config, schema.columns.size()));
  }
  return encoders;
}

void ExpectCovers(RowEncoder& encoder, const Schema& schema,
                  const RecordBatch& batch) {
  FrameBuffer frame;
  for (size_t i = 0; i < batch.record_count(); ++i) {
    const size_t before = frame.size();
    // What a type does not take is not there.
    if (!encoder.Encode(batch.At(i), frame).ok()) frame.Truncate(before);
  }
  if (ColumnarEncoder* const columnar = encoder.AsColumnar()) {
    ASSERT_OK(columnar->FinishChunk(frame));
  }
  EXPECT_LE(frame.size(), EstimateBatch(encoder, NestedSizer(schema), batch));
}

void ExpectAllCover(Random& random, const Schema& schema, bool is_flat) {
  for (const RecordBatch& batch : BatchesOfRandomRows(random, schema)) {
    for (auto& [name, encoder] : EncodersOf(schema, is_flat)) {
      SCOPED_TRACE(name);
      ExpectCovers(*encoder, schema, batch);
    }
  }
}

TEST(EstimatePropertyTest, CoversRowsOfEveryType) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(200); ++run) {
    ExpectAllCover(random, RandomSchema(random, 5, 3), false);
    ExpectAllCover(random, RandomSchema(random, 5, 0), true);
  }
}

// The shortest that can come: a byte a value.
TEST(EstimateTest, CoversArraysOfNothing) {
  const Schema schema = ArrayOfStructs();
  const std::vector<RecordBatch> batches =
      BatchesOf("msgpack", schema, PackedEmptyStructs());
  ASSERT_EQ(batches.size(), 1u);
  for (auto& [name, encoder] : EncodersOf(schema, false)) {
    SCOPED_TRACE(name);
    ExpectCovers(*encoder, schema, batches[0]);
  }
}

TEST(EstimateTest, CoversVariantsThatAreLongerAsJson) {
  const Schema schema = {{{.name = "a", .type = SqlType::kVariant}}};
  const std::string packed =
      "\x81\xa1"
      "a\xdc\x03\xe8" +
      std::string(1000, '\xc2');
  for (const RecordBatch& batch : BatchesOf("msgpack", schema, packed)) {
    for (auto& [name, encoder] : EncodersOf(schema, true)) {
      SCOPED_TRACE(name);
      ExpectCovers(*encoder, schema, batch);
    }
  }
}

TEST(EstimateTest, CoversControlCharacters) {
  const Schema schema = {{{.name = "a", .type = SqlType::kVarchar}}};
  const std::string packed =
      "\x81\xa1"
      "a\xda\x03\xe8" +
      std::string(1000, '\x01');
  const std::vector<RecordBatch> batches = BatchesOf("msgpack", schema, packed);
  ASSERT_EQ(batches.size(), 1u);
  for (auto& [name, encoder] : EncodersOf(schema, true)) {
    SCOPED_TRACE(name);
    ExpectCovers(*encoder, schema, batches[0]);
  }
}

// A byte becomes the name of a symbol, two a number of as many digits as the
// schema says.
TEST(EstimateTest, CoversTextThatOnlyTheSchemaHas) {
  AvroConfig config;
  config.schema =
      R"({"type":"record","name":"r","fields":[)"
      R"({"name":"a","type":{"type":"enum","name":"e","symbols":[")" +
      std::string(500, 'x') +
      R"("]}},{"name":"b","type":{"type":"bytes","logicalType":"decimal",)"
      R"("precision":200,"scale":199}}]})";
  const Schema schema = {{{.name = "a", .type = SqlType::kVarchar},
                          {.name = "b", .type = SqlType::kVarchar}}};
  const std::unique_ptr<Parser> parser =
      *MakeAvroParser(config, schema, nullptr);
  const std::string message("\0\x02\x01", 3);
  const std::vector<RecordBatch> batches = BatchesOf(*parser, message);
  ASSERT_EQ(batches.size(), 1u);
  for (auto& [name, encoder] : EncodersOf(schema, true)) {
    SCOPED_TRACE(name);
    ExpectCovers(*encoder, schema, batches[0]);
  }
}

}  // namespace
}  // namespace penstock::core
