#include "tests/core/format/parsed_rows.h"

#include "core/base/check.h"
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/random_rows.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

std::unique_ptr<Parser> ParserOf(absl::string_view format,
                                 const Schema& schema) {
  if (format == "csv") return *MakeCsvParser(CsvConfig(), schema);
  if (format == "msgpack") return *MakeMsgpackParser(MsgpackConfig(), schema);
  return *MakeNdjsonParser(NdjsonConfig(), schema);
}

}  // namespace

std::vector<RecordBatch> BatchesOf(Parser& parser, absl::string_view text) {
  auto block = std::make_shared<Block>(text.size());
  std::memcpy(block->data(), text.data(), text.size());
  Fragment fragment = {.block = std::move(block),
                       .size = static_cast<uint32_t>(text.size()),
                       .is_last = true};
  std::vector<RecordBatch> batches;
  while (fragment.size > 0) {
    ParseResult result = parser.Parse(fragment);
    fragment.RemovePrefix(result.bytes);
    if (!result.batch.IsEmpty()) batches.push_back(std::move(result.batch));
  }
  return batches;
}

std::vector<RecordBatch> BatchesOf(absl::string_view format,
                                   const Schema& schema,
                                   absl::string_view text) {
  return BatchesOf(*ParserOf(format, schema), text);
}

std::vector<RecordBatch> BatchesOfRandomRows(Random& random,
                                             const Schema& schema) {
  MsgpackEncoder packer(schema, FrameKind::kConcatenated);
  CsvEncoder writer(CsvConfig(), schema.columns.size());
  const bool is_flat = absl::c_all_of(schema.columns, [](const Column& column) {
    return column.children.empty();
  });
  FrameBuffer packed;
  FrameBuffer fields;
  std::string lines;
  ValueArena arena;
  const size_t rows = 1 + random.Uniform(5);
  for (size_t i = 0; i < rows; ++i) {
    const std::vector<Value> row = RandomRow(random, schema, arena);
    CHECK(packer.Encode(Record{.row = row}, packed).ok());
    absl::StrAppend(&lines, RowJson(schema, row), "\n");
    const Record record = {.value = "", .row = row};
    const size_t before = fields.size();
    if (is_flat && !writer.Encode(record, fields).ok()) {
      fields.Truncate(before);
    }
  }
  std::vector<RecordBatch> batches =
      BatchesOf("msgpack", schema, packed.view());
  for (RecordBatch& batch : BatchesOf("ndjson", schema, lines)) {
    batches.push_back(std::move(batch));
  }
  if (is_flat && fields.size() > 0) {
    for (RecordBatch& batch : BatchesOf("csv", schema, fields.view())) {
      batches.push_back(std::move(batch));
    }
  }
  return batches;
}

Schema ArrayOfStructs() {
  Column item = {.name = "element", .type = SqlType::kStruct};
  for (const char* const name : {"a_long_name", "another_\"one"}) {
    item.children.push_back({.name = name});
  }
  return {{{.name = "a", .type = SqlType::kArray, .children = {item}}}};
}

std::string PackedEmptyStructs() {
  return "\x81\xa1"
         "a\xdc\x03\xe8" +
         std::string(1000, '\x80');
}

int PropertyRuns(int usual) {
  const char* const runs = std::getenv("PENSTOCK_PROPERTY_RUNS");
  return runs == nullptr ? usual : std::atoi(runs);
}

}  // namespace penstock::core
