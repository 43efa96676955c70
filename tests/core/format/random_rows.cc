#include "tests/core/format/random_rows.h"

#include "core/base/json_text.h"
#include "core/format/value_text/number_text.h"
#include "core/format/value_text/value_print.h"

#include <absl/strings/str_cat.h>

#include <cmath>

namespace penstock::core {
namespace {

constexpr SqlType kSingles[] = {SqlType::kBoolean,
                                SqlType::kTinyint,
                                SqlType::kSmallint,
                                SqlType::kInteger,
                                SqlType::kBigint,
                                SqlType::kTinyintUnsigned,
                                SqlType::kSmallintUnsigned,
                                SqlType::kIntegerUnsigned,
                                SqlType::kBigintUnsigned,
                                SqlType::kReal,
                                SqlType::kDouble,
                                SqlType::kDecimal,
                                SqlType::kVarchar,
                                SqlType::kVarbinary,
                                SqlType::kDate,
                                SqlType::kTime,
                                SqlType::kTimestamp,
                                SqlType::kTimestamptz,
                                SqlType::kUuid};
constexpr SqlType kContainers[] = {SqlType::kArray, SqlType::kMap,
                                   SqlType::kStruct};

// Few different ones, so that they are equal in some records.
std::string RandomText(Random& random) {
  constexpr absl::string_view kTexts[] = {
      "",         "a",    "007", "5",  "1.50",       "x,y\n\"z\"",
      "NaN",      "true", "\\N", "\\", "\t\x01\x1f", "2026-01-31",
      "\xc3\xa9", "null", "1e5", "-0", " b "};
  std::string text(kTexts[random.Uniform(std::size(kTexts))]);
  if (random.Bernoulli(0.1)) text.append(random.Uniform(300), 'x');
  return text;
}

// As they stand in a record: blanks, exact numbers and escapes are kept. Not
// null, which in JSON is no variant.
absl::string_view RandomVariant(Random& random) {
  constexpr absl::string_view kTexts[] = {"true",
                                          "-0",
                                          "1.50",
                                          "12345678901234567890.5",
                                          "\"\"",
                                          R"("caf\u00e9\n\"")",
                                          "[]",
                                          "{ }",
                                          R"([1, {"a":"x,y"},[[]]])",
                                          R"({"b": null, "a":1.0,"b":2})"};
  return kTexts[random.Uniform(std::size(kTexts))];
}

Value RandomInteger(Random& random, SqlType type) {
  const IntegerRange range = IntegerRangeOf(type);
  if (!range.is_signed) {
    const uint64_t shifted = random.Next64() >> random.Uniform(64);
    return Value::Uint64(random.Bernoulli(0.1) ? range.max
                                               : shifted % (range.max / 2 + 1));
  }
  const auto max = static_cast<int64_t>(range.max);
  if (random.Bernoulli(0.1)) return Value::Int64(range.min);
  const auto shifted =
      static_cast<int64_t>(random.Next64() >> (1 + random.Uniform(63)));
  return Value::Int64(shifted % max * (random.Bernoulli(0.5) ? 1 : -1));
}

double RandomReal(Random& random) {
  if (random.Bernoulli(0.05)) return std::nan("");
  if (random.Bernoulli(0.05)) return -HUGE_VAL;
  if (random.Bernoulli(0.3)) return std::ldexp(random.Double(), 90);
  return static_cast<double>(random.UniformIn(-999, 999)) / 4;
}

Value RandomMoment(Random& random, const Column& column) {
  if (random.Bernoulli(0.05)) {
    return column.type == SqlType::kTimestamp
               ? Value::Timestamp(Value::kInfinity)
               : Value::Timestamptz(Value::kMinusInfinity);
  }
  const int64_t micros =
      random.UniformIn(-9'000'000'000'000'000, 9'000'000'000'000'000) /
      (random.Bernoulli(0.5) ? 1 : 1'000'000);
  const auto nanos = column.precision == 9
                         ? static_cast<uint32_t>(random.Uniform(1'000))
                         : uint32_t{0};
  return column.type == SqlType::kTimestamp ? Value::Timestamp(micros, nanos)
                                            : Value::Timestamptz(micros, nanos);
}

Value RandomSingle(Random& random, const Column& column, ValueArena& arena) {
  switch (column.type) {
    case SqlType::kBoolean:
      return Value::Bool(random.Bernoulli(0.5));
    case SqlType::kReal:
      return Value::Double(double{static_cast<float>(RandomReal(random))});
    case SqlType::kDouble:
      return Value::Double(RandomReal(random));
    case SqlType::kDecimal:
      return Value::Decimal(arena.Copy(absl::StrCat(
          random.UniformIn(-99'999, 99'999),
          random.Bernoulli(0.2) ? std::string(random.Uniform(30), '7') : "",
          random.Bernoulli(0.5) ? ".50" : "")));
    case SqlType::kVarchar:
      return Value::String(arena.Copy(RandomText(random)));
    case SqlType::kVarbinary:
      return Value::Binary(arena.Copy(RandomText(random)));
    case SqlType::kDate:
      return Value::Date(random.Bernoulli(0.05)
                             ? Value::kInfinity
                             : random.UniformIn(-999'999, 99'999));
    case SqlType::kTime:
      return Value::Time(random.UniformIn(0, 86'400'000'000) *
                         (column.precision == 9 ? 1'000 - 1 : 1'000));
    case SqlType::kTimestamp:
    case SqlType::kTimestamptz:
      return RandomMoment(random, column);
    case SqlType::kUuid:
      return Value::Uuid(arena.Copy(RandomId(random).substr(0, 16)));
    case SqlType::kVariant:
      return Value::Variant(RandomVariant(random));
    default:
      return RandomInteger(random, column.type);
  }
}

void AppendJson(const Column& column, const Value& value, std::string& json);

void AppendMembers(std::span<const Column> columns,
                   std::span<const Value> values, std::string& json) {
  const char* separator = "{";
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    json += separator;
    separator = ",";
    AppendJsonString(columns[i].name, json);
    json += ':';
    AppendJson(columns[i], values[i], json);
  }
  json += *separator == '{' ? "{}" : "}";
}

void AppendJsonSingle(const Column& column, const Value& value,
                      std::string& json) {
  std::string text;
  PrintValue(value, text);
  const bool is_finite =
      value.kind() != ValueKind::kDouble || std::isfinite(value.AsDouble());
  const bool is_token = value.kind() == ValueKind::kBool ||
                        IsIntegerType(column.type) ||
                        value.kind() == ValueKind::kDouble ||
                        value.kind() == ValueKind::kDecimal ||
                        value.kind() == ValueKind::kVariant;
  if (is_token && is_finite) {
    json += text;
  } else {
    AppendJsonString(text, json);
  }
}

void AppendJson(const Column& column, const Value& value, std::string& json) {
  switch (value.kind()) {
    case ValueKind::kNull:
      json += "null";
      return;
    case ValueKind::kStruct:
      return AppendMembers(column.children, value.AsStruct(), json);
    case ValueKind::kArray: {
      json += '[';
      const char* separator = "";
      for (const Value& element : value.AsArray()) {
        json += separator;
        separator = ",";
        AppendJson(column.children[0], element, json);
      }
      json += ']';
      return;
    }
    case ValueKind::kMap: {
      const std::span<const Value> pairs = value.AsMap();
      json += '{';
      for (size_t i = 0; i < pairs.size(); i += 2) {
        if (i > 0) json += ',';
        std::string key;
        PrintValue(pairs[i], key);
        AppendJsonString(key, json);
        json += ':';
        AppendJson(column.children[1], pairs[i + 1], json);
      }
      json += '}';
      return;
    }
    default:
      return AppendJsonSingle(column, value, json);
  }
}

}  // namespace

Column RandomColumnOf(Random& random, SqlType type, std::string name,
                      uint32_t depth) {
  Column column = {
      .name = std::move(name), .type = type, .nullable = random.Bernoulli(0.5)};
  if (type == SqlType::kTime || type == SqlType::kTimestamp ||
      type == SqlType::kTimestamptz) {
    column.precision = random.Bernoulli(0.5) ? 9 : 6;
  }
  if (type == SqlType::kArray) {
    column.children = {RandomColumn(random, "element", depth - 1)};
  } else if (type == SqlType::kMap) {
    Column key = RandomColumn(random, "key", 0);
    key.nullable = false;
    column.children = {key, RandomColumn(random, "value", depth - 1)};
  } else if (type == SqlType::kStruct) {
    const size_t fields = 1 + random.Uniform(3);
    for (size_t i = 0; i < fields; ++i) {
      column.children.push_back(RandomColumn(
          random, absl::StrCat("field\"", i, std::string(i * 9, 'n')),
          depth - 1));
    }
  }
  return column;
}

Column RandomColumn(Random& random, std::string name, uint32_t depth) {
  const SqlType type = depth > 0 && random.Bernoulli(0.6)
                           ? kContainers[random.Uniform(std::size(kContainers))]
                           : kSingles[random.Uniform(std::size(kSingles))];
  return RandomColumnOf(random, type, std::move(name), depth);
}

Schema RandomSchema(Random& random, size_t columns_max, uint32_t depth) {
  Schema schema;
  const size_t columns = 1 + random.Uniform(columns_max);
  for (size_t i = 0; i < columns; ++i) {
    schema.columns.push_back(
        RandomColumn(random, absl::StrCat("col", i), depth));
  }
  return schema;
}

Value RandomValue(Random& random, const Column& column, ValueArena& arena) {
  if (column.nullable && random.Bernoulli(0.1)) return Value();
  const bool is_map = column.type == SqlType::kMap;
  if (column.type == SqlType::kStruct) {
    const std::span<Value> fields = arena.Values(column.children.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      fields[i] = RandomValue(random, column.children[i], arena);
    }
    return Value::Struct(fields);
  }
  if (column.type != SqlType::kArray && !is_map) {
    return RandomSingle(random, column, arena);
  }
  const size_t count = random.Bernoulli(0.1) ? 40 : random.Uniform(4);
  // One key at most: of equal keys only the last would come back.
  const std::span<Value> values =
      arena.Values(is_map ? 2 * (count % 2) : count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = RandomValue(random, column.children[is_map ? i % 2 : 0], arena);
  }
  return is_map ? Value::Map(values) : Value::Array(values);
}

std::vector<Value> RandomRow(Random& random, const Schema& schema,
                             ValueArena& arena) {
  std::vector<Value> row;
  for (const Column& column : schema.columns) {
    row.push_back(RandomValue(random, column, arena));
  }
  return row;
}

std::string RowJson(const Schema& schema, std::span<const Value> row) {
  std::string json;
  AppendMembers(schema.columns, row, json);
  return json;
}

}  // namespace penstock::core
