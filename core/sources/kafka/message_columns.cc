#include "core/sources/kafka/message_columns.h"

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/record/record.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <string>

namespace penstock::core {
namespace {

absl::Status BadColumn(absl::string_view field, absl::string_view problem) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("source kafka: columns.", field, ": ", problem),
                   {{"field", absl::StrCat("source.kafka.columns.", field)}});
}

}  // namespace

absl::StatusOr<std::optional<size_t>> MessageColumns::AddCell(
    absl::string_view field, const std::string& name, const Schema& schema,
    std::span<const SqlType> types) {
  if (name.empty()) return std::optional<size_t>();
  const std::optional<size_t> column = schema.Find(name);
  if (!column.has_value()) {
    return BadColumn(field, absl::StrCat("the schema has no column '", name,
                                         "'; add it, as nullable"));
  }
  const SqlType type = schema.columns[*column].type;
  if (std::find(types.begin(), types.end(), type) == types.end()) {
    std::string names;
    for (const SqlType one : types) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", SqlTypeName(one));
    }
    return BadColumn(field,
                     absl::StrCat("column '", name, "' is ",
                                  ColumnTypeText(schema.columns[*column]),
                                  ", must be one of: ", names));
  }
  cells_.push_back({static_cast<uint32_t>(*column), Value::Null()});
  return std::optional<size_t>(cells_.size() - 1);
}

absl::StatusOr<MessageColumns> MessageColumns::Make(const KafkaColumns& columns,
                                                    const Schema& schema) {
  static constexpr std::array kText = {SqlType::kVarchar};
  static constexpr std::array kInt = {SqlType::kInteger, SqlType::kBigint};
  static constexpr std::array kBigint = {SqlType::kBigint};
  static constexpr std::array kTimes = {SqlType::kTimestamptz,
                                        SqlType::kTimestamp, SqlType::kBigint};
  static constexpr std::array kBytes = {SqlType::kVarbinary, SqlType::kVarchar};
  static constexpr std::array kMaps = {SqlType::kMap};
  MessageColumns made;
  ASSIGN_OR_RETURN(made.topic_,
                   made.AddCell("topic", columns.topic, schema, kText));
  ASSIGN_OR_RETURN(made.partition_,
                   made.AddCell("partition", columns.partition, schema, kInt));
  ASSIGN_OR_RETURN(made.offset_,
                   made.AddCell("offset", columns.offset, schema, kBigint));
  ASSIGN_OR_RETURN(made.timestamp_, made.AddCell("timestamp", columns.timestamp,
                                                 schema, kTimes));
  ASSIGN_OR_RETURN(made.key_, made.AddCell("key", columns.key, schema, kBytes));
  ASSIGN_OR_RETURN(made.headers_,
                   made.AddCell("headers", columns.headers, schema, kMaps));
  const auto column_of = [&](size_t cell) -> const Column& {
    return schema.columns[made.cells_[cell].first];
  };
  if (made.timestamp_.has_value()) {
    const SqlType type = column_of(*made.timestamp_).type;
    made.time_ = type == SqlType::kBigint      ? Time::kMillis
                 : type == SqlType::kTimestamp ? Time::kTimestamp
                                               : Time::kTimestamptz;
  }
  if (made.key_.has_value()) {
    made.key_is_text_ = column_of(*made.key_).type == SqlType::kVarchar;
  }
  if (made.headers_.has_value()) {
    const Column& map = column_of(*made.headers_);
    if (map.children.size() != 2 || map.children[0].type != SqlType::kVarchar ||
        map.children[1].type != SqlType::kVarbinary) {
      return BadColumn(
          "headers",
          absl::StrCat("column '", map.name, "' is ", ColumnTypeText(map),
                       ", must be map(varchar, varbinary)"));
    }
  }
  return made;
}

void MessageColumns::SetPartition(absl::string_view topic, int32_t partition,
                                  ValueArena& arena) {
  if (topic_.has_value()) {
    cells_[*topic_].second = Value::String(arena.Copy(topic));
  }
  if (partition_.has_value()) {
    cells_[*partition_].second = Value::Int64(partition);
  }
}

bool MessageColumns::SetMessage(const KafkaEvent& event,
                                std::optional<absl::string_view> key,
                                std::span<const KafkaHeader> headers,
                                ValueArena& arena) {
  if (offset_.has_value()) cells_[*offset_].second = Value::Int64(event.offset);
  if (timestamp_.has_value()) {
    Value& time = cells_[*timestamp_].second;
    const int64_t ms = event.timestamp_ms;
    if (ms == RecordMeta::kNoEventTime) {
      time = Value::Null();
    } else if (time_ == Time::kMillis) {
      time = Value::Int64(ms);
    } else if (time_ == Time::kTimestamp) {
      time = Value::Timestamp(ms * 1'000);
    } else {
      time = Value::Timestamptz(ms * 1'000);
    }
  }
  if (key_.has_value()) {
    if (key.has_value() && key_is_text_ && !IsUtf8(*key)) return false;
    cells_[*key_].second = !key.has_value() ? Value::Null()
                           : key_is_text_   ? Value::String(*key)
                                            : Value::Binary(*key);
  }
  if (headers_.has_value()) {
    const std::span<Value> pairs = arena.Values(2 * headers.size());
    for (size_t i = 0; i < headers.size(); ++i) {
      pairs[2 * i] = Value::String(arena.Copy(headers[i].name));
      if (headers[i].value.has_value()) {
        pairs[2 * i + 1] = Value::Binary(arena.Copy(*headers[i].value));
      }
    }
    cells_[*headers_].second = Value::Map(pairs);
  }
  return true;
}

}  // namespace penstock::core
