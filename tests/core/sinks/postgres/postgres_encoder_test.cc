#include "core/sinks/postgres/postgres_encoder.h"

#include "core/contract/batch_estimate.h"
#include "tests/core/format/parsed_rows.h"
#include "tests/core/format/random_rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

std::shared_ptr<RowPlan> PlanOf(std::vector<PgColumn> columns) {
  auto plan = std::make_shared<RowPlan>();
  plan->has_schema = true;
  for (PgColumn& column : columns) {
    plan->is_binary = plan->is_binary && column.layout != PgLayout::kOther;
    plan->columns.push_back({.column = std::move(column)});
  }
  return plan;
}

size_t EncodedBytes(PostgresEncoder& encoder, const std::vector<Value>& row) {
  FrameBuffer frame;
  EXPECT_OK(encoder.Encode({.row = row}, frame));
  return frame.size();
}

// The shortest JSON for the longest bytes: then whatever lies between fits.
TEST(PostgresEncoderTest, EstimateCoversWhatComes) {
  const PgColumn whole = {.name = "n", .layout = PgLayout::kInt8};
  const PgColumn text = {.name = "s", .layout = PgLayout::kText};
  const PgColumn tags = {
      .name = "a", .layout = PgLayout::kText, .is_array = true};
  const PgColumn numbers = {
      .name = "b", .layout = PgLayout::kNumeric, .is_array = true};
  const PgColumn host = {.name = "h", .layout = PgLayout::kOther};
  const std::vector<Value> empty(1000, Value::String(""));
  const std::vector<Value> ones(1000, Value::Decimal("1"));
  const std::string tabs(500, '\t');

  PostgresEncoder scalars(PlanOf({whole, text}));
  EXPECT_GE(scalars.EstimateBytes(1, 6),
            EncodedBytes(scalars, {Value::Int64(1), Value::String("")}));
  PostgresEncoder texts(PlanOf({tags}));
  EXPECT_GE(texts.EstimateBytes(1, 1000) + 1000 * texts.NestedValueBytes(),
            EncodedBytes(texts, {Value::Array(empty)}));
  PostgresEncoder decimals(PlanOf({numbers}));
  EXPECT_GE(
      decimals.EstimateBytes(1, 1000) + 1000 * decimals.NestedValueBytes(),
      EncodedBytes(decimals, {Value::Array(ones)}));
  PostgresEncoder escaped(PlanOf({text, host}));
  EXPECT_GE(escaped.EstimateBytes(1, tabs.size()),
            EncodedBytes(escaped, {Value::String(tabs), Value::String("::1")}));
}

TEST(PostgresEncoderTest, EstimateCoversMembersThatDidNotCome) {
  auto plan = PlanOf({{.name = "c", .layout = PgLayout::kJsonb}});
  plan->columns[0].as_json = true;
  plan->columns[0].declared = {.name = "c", .type = SqlType::kStruct};
  for (const char* const name : {"a_long_name", "another_one"}) {
    plan->columns[0].declared.children.push_back({.name = name});
  }
  PostgresEncoder encoder(plan);
  const std::vector<Value> absent(2);
  EXPECT_GE(encoder.EstimateBytes(1, 2),
            EncodedBytes(encoder, {Value::Struct(absent)}));
}

PgLayout LayoutOf(SqlType type) {
  switch (type) {
    case SqlType::kBoolean:
      return PgLayout::kBool;
    case SqlType::kTinyint:
    case SqlType::kSmallint:
    case SqlType::kTinyintUnsigned:
      return PgLayout::kInt2;
    case SqlType::kInteger:
      return PgLayout::kInt4;
    case SqlType::kBigint:
      return PgLayout::kInt8;
    case SqlType::kReal:
      return PgLayout::kFloat4;
    case SqlType::kDouble:
      return PgLayout::kFloat8;
    case SqlType::kVarbinary:
      return PgLayout::kBytea;
    case SqlType::kDate:
      return PgLayout::kDate;
    case SqlType::kTime:
      return PgLayout::kTime;
    case SqlType::kTimestamp:
      return PgLayout::kTimestamp;
    case SqlType::kTimestamptz:
      return PgLayout::kTimestamptz;
    case SqlType::kUuid:
      return PgLayout::kUuid;
    case SqlType::kVarchar:
      return PgLayout::kText;
    default:
      return PgLayout::kNumeric;
  }
}

// Arrays of single values as arrays, whatever else is nested as JSON.
std::shared_ptr<RowPlan> PlanOf(const Schema& schema, bool is_binary) {
  auto plan = std::make_shared<RowPlan>();
  plan->has_schema = true;
  plan->is_binary = is_binary;
  for (const Column& column : schema.columns) {
    PlannedColumn planned = {
        .column = {.name = column.name, .layout = LayoutOf(column.type)},
        .declared = column};
    if (column.type == SqlType::kArray && column.children[0].children.empty()) {
      planned.column.layout = LayoutOf(column.children[0].type);
      planned.column.is_array = true;
    } else if (!column.children.empty()) {
      planned.column.layout = PgLayout::kJsonb;
      planned.as_json = true;
    }
    plan->columns.push_back(std::move(planned));
  }
  return plan;
}

void ExpectCovers(PostgresEncoder encoder, const Schema& schema,
                  const RecordBatch& batch) {
  FrameBuffer frame;
  for (size_t i = 0; i < batch.record_count(); ++i) {
    const size_t before = frame.size();
    // What PostgreSQL has no value for is not there.
    if (!encoder.Encode(batch.At(i), frame).ok()) frame.Truncate(before);
  }
  EXPECT_LE(frame.size(), EstimateBatch(encoder, NestedSizer(schema), batch));
}

TEST(PostgresEncoderPropertyTest, EstimateCoversRowsOfEveryType) {
  Random random = TestRandom();
  for (int run = 0; run < PropertyRuns(200); ++run) {
    const Schema schema = RandomSchema(random, 5, run % 4);
    for (const RecordBatch& batch : BatchesOfRandomRows(random, schema)) {
      ExpectCovers(PostgresEncoder(PlanOf(schema, true)), schema, batch);
      ExpectCovers(PostgresEncoder(PlanOf(schema, false)), schema, batch);
    }
  }
}

// As short as they come: a byte each in MessagePack, their names in jsonb.
TEST(PostgresEncoderTest, EstimateCoversArraysOfStructsInJson) {
  const Schema schema = ArrayOfStructs();
  for (const RecordBatch& batch :
       BatchesOf("msgpack", schema, PackedEmptyStructs())) {
    ExpectCovers(PostgresEncoder(PlanOf(schema, true)), schema, batch);
    ExpectCovers(PostgresEncoder(PlanOf(schema, false)), schema, batch);
  }
}

// What is reserved and not used makes steps, and so transactions, small.
TEST(PostgresEncoderTest, EstimateOfRowsWithTextArraysIsNotManyTimesTheirSize) {
  const PostgresEncoder encoder(
      PlanOf({{.name = "id", .layout = PgLayout::kInt8},
              {.name = "message", .layout = PgLayout::kText},
              {.name = "tags", .layout = PgLayout::kText, .is_array = true}}));
  EXPECT_LE(encoder.EstimateBytes(4000, 1 << 20), size_t{5} << 19);
}

}  // namespace
}  // namespace penstock::core
