#include "core/sinks/postgres/postgres_encoder.h"

#include "tests/support/status_matchers.h"

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
  EXPECT_GE(texts.EstimateBytes(1, 3 * 1000),
            EncodedBytes(texts, {Value::Array(empty)}));
  PostgresEncoder decimals(PlanOf({numbers}));
  EXPECT_GE(decimals.EstimateBytes(1, 2 * 1000),
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
