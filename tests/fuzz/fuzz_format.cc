#include "tests/fuzz/fuzz_format.h"

#include "core/base/check.h"
#include "core/format/avro/avro_format.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/protobuf/protobuf_format.h"
#include "core/format/raw/raw_format.h"
#include "tests/core/format/parse_text.h"

#include <functional>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

using MakeParser = std::function<std::unique_ptr<Parser>(size_t)>;

constexpr size_t kNoneIsTooLong = size_t{1} << 20;

// Columns of every way to read a value.
Schema Columns() {
  return {{{.name = "a", .type = SqlType::kVariant},
           {.name = "b", .type = SqlType::kDecimal, .precision = 9, .scale = 2},
           {.name = "c",
            .type = SqlType::kArray,
            .children = {{.name = "element", .type = SqlType::kDouble}}},
           {.name = "d",
            .type = SqlType::kMap,
            .children = {{.name = "key", .type = SqlType::kInteger},
                         {.name = "value", .type = SqlType::kTimestamptz}}},
           {.name = "e",
            .type = SqlType::kStruct,
            .children = {{.name = "a", .type = SqlType::kVarbinary},
                         {.name = "b", .type = SqlType::kUuid}}}}};
}

template <typename Config>
Config WithKey(size_t record_bytes_max) {
  Config config;
  config.record_bytes_max = record_bytes_max;
  config.key = "a.b";
  return config;
}

std::unique_ptr<Parser> MakeDebezium(size_t record_bytes_max) {
  auto config = WithKey<NdjsonConfig>(record_bytes_max);
  config.key = "b";
  config.envelope = {.kind = EnvelopeKind::kDebezium,
                     .op = "o",
                     .timestamp = "t",
                     .source = "a",
                     .before = "w"};
  Schema schema = Columns();
  schema.columns.push_back({.name = "o"});
  schema.columns.push_back({.name = "t", .type = SqlType::kTimestamptz});
  schema.columns.push_back({.name = "w", .type = SqlType::kVariant});
  return *MakeNdjsonParser(config, schema);
}

std::unique_ptr<Parser> MakeMsgpackChanges(size_t record_bytes_max) {
  auto config = WithKey<MsgpackConfig>(record_bytes_max);
  config.envelope = {.kind = EnvelopeKind::kDebezium};
  return *MakeMsgpackParser(config, Columns());
}

// Every type, by the names of the columns; a record may be in itself.
std::unique_ptr<Parser> MakeAvro(size_t record_bytes_max) {
  auto config = WithKey<AvroConfig>(record_bytes_max);
  config.key = "e.a";
  config.schema =
      R"({"type":"record","name":"r","fields":[{"name":"a","type":["null",)"
      R"("boolean","int","long","float","double","bytes","string","r",)"
      R"({"type":"enum","name":"n","symbols":["A","B"]}]},{"name":"b","type":)"
      R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},)"
      R"({"name":"c","type":{"type":"array","items":["double","null"]}},)"
      R"({"name":"d","type":{"type":"map","values":{"type":"long",)"
      R"("logicalType":"timestamp-micros"}}},{"name":"e","type":["null",)"
      R"({"type":"record","name":"s","fields":[{"name":"a","type":"bytes"},)"
      R"({"name":"b","type":{"type":"fixed","name":"f","size":16}}]}]}]})";
  return *MakeAvroParser(config, Columns(), nullptr);
}

// Every kind of value, by the names of the columns; a record may be in itself.
std::unique_ptr<Parser> MakeProtobuf(size_t record_bytes_max) {
  using enum ProtobufShape;
  std::vector<ProtobufField> fields = {
      {.number = 1, .name = "a", .type = ProtobufType::kSint64, .oneof = 0},
      {.number = 2, .name = "b", .type = ProtobufType::kDouble},
      {.number = 3,
       .name = "c",
       .type = ProtobufType::kInt32,
       .shape = kRepeated},
      {.number = 4,
       .name = "d",
       .type = ProtobufType::kMessage,
       .shape = kMap,
       .of = 1},
      {.number = 5,
       .name = "e",
       .type = ProtobufType::kMessage,
       .has_presence = true,
       .of = 0},
      {.number = 7,
       .name = "f",
       .type = ProtobufType::kString,
       .is_utf8 = true},
      {.number = 9, .name = "g", .type = ProtobufType::kEnum, .of = 0},
      {.number = 90,
       .name = "a",
       .type = ProtobufType::kGroup,
       .oneof = 0,
       .of = 2}};
  fields.back().has_presence = fields.front().has_presence = true;
  std::vector<ProtobufMessage> messages = {
      {.name = "M", .oneofs = 1, .fields = std::move(fields)},
      {.name = "E",
       .fields = {{.number = 1, .name = "key", .type = ProtobufType::kString},
                  {.number = 2,
                   .name = "value",
                   .type = ProtobufType::kMessage,
                   .of = 2}}},
      {.name = "google.protobuf.Timestamp",
       .well_known = ProtobufWellKnown::kTimestamp,
       .fields = {{.number = 1, .type = ProtobufType::kInt64},
                  {.number = 2, .type = ProtobufType::kInt32}}}};
  std::vector<ProtobufEnum> enums = {
      {.is_closed = true, .values = {{1, "ONE"}}}};
  ProtobufParser::Options options{
      .record_bytes_max = record_bytes_max,
      .key = *KeyPath::Parse("e.a"),
      .schema = Columns(),
      .written_with = std::make_shared<ProtobufSchema>(
          std::move(messages), std::move(enums), std::vector<uint32_t>{0})};
  return std::make_unique<ProtobufParser>(std::move(options));
}

std::unique_ptr<Parser> MakeCsv(size_t record_bytes_max) {
  CsvConfig config;
  config.record_bytes_max = record_bytes_max;
  config.flexible = true;
  config.key_column = 1;
  return *MakeCsvParser(
      config,
      {{{.name = "a"},
        {.name = "b", .type = SqlType::kDecimal, .precision = 9, .scale = 2},
        {.name = "c", .type = SqlType::kVariant}}});
}

// All that the other one leaves out.
std::unique_ptr<Parser> MakeCsvWithHeader(size_t record_bytes_max) {
  CsvConfig config;
  config.record_bytes_max = record_bytes_max;
  config.header = true;
  config.dialect = {.delimiter = ';',
                    .escape = CsvEscape::kBackslash,
                    .comment = '#',
                    .trim = true};
  config.null_tokens = {"NULL"};
  config.key = "b";
  return *MakeCsvParser(config, {{{.name = "a"}}});
}

const std::vector<std::pair<std::string, MakeParser>>& Formats() {
  static const auto& formats =
      *new std::vector<std::pair<std::string, MakeParser>>{
          {"raw",
           [](size_t record_bytes_max) {
             RawConfig config;
             config.record_bytes_max = record_bytes_max;
             return *MakeRawParser(config);
           }},
          {"blob",
           [](size_t record_bytes_max) {
             RawConfig config;
             config.record_bytes_max = record_bytes_max;
             config.is_blob = true;
             return *MakeRawParser(config);
           }},
          {"ndjson",
           [](size_t record_bytes_max) {
             return *MakeNdjsonParser(WithKey<NdjsonConfig>(record_bytes_max),
                                      Columns());
           }},
          {"json",
           [](size_t record_bytes_max) {
             return *MakeJsonParser(WithKey<JsonConfig>(record_bytes_max),
                                    Columns());
           }},
          {"debezium", MakeDebezium},
          {"msgpack_changes", MakeMsgpackChanges},
          {"avro", MakeAvro},
          {"protobuf", MakeProtobuf},
          {"csv", MakeCsv},
          {"csv_header", MakeCsvWithHeader},
          {"msgpack", [](size_t record_bytes_max) {
             return *MakeMsgpackParser(WithKey<MsgpackConfig>(record_bytes_max),
                                       Columns());
           }}};
  return formats;
}

// Without the text of bad records, of which one that was cut has less.
ParsedText Shown(ParsedText parsed) {
  for (ParseError& error : parsed.errors) error.invalid_text.clear();
  return parsed;
}

}  // namespace

std::vector<std::string> FuzzedFormats() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Formats()) names.push_back(name);
  return names;
}

void FuzzFormat(absl::string_view format, absl::string_view data) {
  const MakeParser* make = nullptr;
  for (const auto& [name, of] : Formats()) {
    if (name == format) make = &of;
  }
  CHECK(make != nullptr) << format;
  if (data.empty()) return;
  const size_t choice = static_cast<unsigned char>(data.front());
  const absl::string_view text = data.substr(1);
  const ParsedText whole = ParseWhole(*(*make)(kNoneIsTooLong), text);
  CHECK_EQ(whole.records.size() + whole.errors.size(), whole.record_count);
  CHECK(ParseInReads(*(*make)(kNoneIsTooLong), text, 1 + choice % 64) == whole);
  const size_t split = text.size() * choice / 255;
  CHECK(ParseResumed(*(*make)(kNoneIsTooLong), text, split) == whole);
  const size_t few = 1 + choice % 16;
  CHECK(Shown(ParseInReads(*(*make)(few), text, 1 + choice % 7)) ==
        Shown(ParseWhole(*(*make)(few), text)));
}

}  // namespace penstock::core
