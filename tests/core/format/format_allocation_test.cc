// A parser allocates for fragments, never for records or values. This program
// counts every allocation, so it holds no other test.
#include "core/format/csv/csv_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/record/block.h"
#include "tests/support/count_allocations.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace penstock::core {
namespace {

// A column of every family.
Schema Columns() {
  return {
      {{.name = "id", .type = SqlType::kBigint, .nullable = false},
       {.name = "price", .type = SqlType::kDecimal, .precision = 9, .scale = 2},
       {.name = "share", .type = SqlType::kDouble},
       {.name = "note"},
       {.name = "at", .type = SqlType::kTimestamptz, .precision = 6},
       {.name = "ref", .type = SqlType::kUuid},
       {.name = "raw", .type = SqlType::kVarbinary},
       {.name = "more", .type = SqlType::kVariant},
       {.name = "tags",
        .type = SqlType::kArray,
        .children = {{.name = "element"}}},
       {.name = "counts",
        .type = SqlType::kMap,
        .children = {{.name = "key", .nullable = false},
                     {.name = "value", .type = SqlType::kInteger}}},
       {.name = "geo",
        .type = SqlType::kStruct,
        .children = {{.name = "lat", .type = SqlType::kReal}}}}};
}

Fragment FragmentOf(const std::string& text) {
  auto block = std::make_shared<Block>(text.size() + 64);
  std::memcpy(block->data(), text.data(), text.size());
  return {.block = std::move(block),
          .size = static_cast<uint32_t>(text.size()),
          .is_last = true};
}

Fragment MakeFragment(size_t records) {
  std::string text;
  for (size_t i = 0; i < records; ++i) {
    absl::StrAppend(
        &text, R"({"id":)", i, R"(,"price":12.50,"share":0.1e-3,)",
        R"("note":"a rather long note with a \"quoted\" word, \u00e9",)",
        R"("unknown":[{"a":1}],"at":"2026-01-31T23:59:59.5Z",)",
        R"("ref":"00112233-4455-6677-8899-aabbccddeeff","raw":"\\x00ff",)",
        R"("more":{"a":[1]},"tags":["x","y"],"counts":{"a":1,"b":2,"a":3},)",
        R"("geo":{"lat":1.5}})", "\n");
  }
  return FragmentOf(text);
}

size_t Allocations(Parser& parser, const Fragment& fragment, size_t records) {
  const size_t before = AllocationsSoFar();
  const ParseResult result = parser.Parse(fragment);
  EXPECT_EQ(result.batch.record_count(), records);
  return AllocationsSoFar() - before;
}

TEST(FormatAllocationTest, RowsCostNoAllocationEach) {
  constexpr size_t kRecords = 1'000;
  const std::unique_ptr<Parser> parser =
      *MakeNdjsonParser(NdjsonConfig{}, Columns());
  const Fragment fragment = MakeFragment(kRecords);
  // The first one learns how many records and which members there are.
  Allocations(*parser, fragment, kRecords);
  // The batch, its vectors and the slabs of its arena.
  EXPECT_LT(Allocations(*parser, fragment, kRecords), 30u);
}

TEST(FormatAllocationTest, RowsOfCsvCostNoAllocationEach) {
  constexpr size_t kRecords = 1'000;
  // The first six of the columns, and escapes that are copied.
  Schema schema = Columns();
  schema.columns.resize(6);
  const std::unique_ptr<Parser> parser = *MakeCsvParser(CsvConfig{}, schema);
  std::string text;
  for (size_t i = 0; i < kRecords; ++i) {
    absl::StrAppend(&text, i, R"(,12.50,0.1e-3,"a rather ""long"" note",)",
                    "2026-01-31T23:59:59.5Z,",
                    "00112233-4455-6677-8899-aabbccddeeff\n");
  }
  const Fragment fragment = FragmentOf(text);
  Allocations(*parser, fragment, kRecords);
  EXPECT_LT(Allocations(*parser, fragment, kRecords), 30u);
}

}  // namespace
}  // namespace penstock::core
