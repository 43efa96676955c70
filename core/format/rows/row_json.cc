#include "core/format/rows/row_json.h"

#include "core/base/check.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/contract/message_frame.h"
#include "core/format/rows/column_bytes.h"
#include "core/format/value_text/value_print.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace penstock::core {
namespace {

void AppendPrinted(const Value& value, bool is_quoted, std::string& json) {
  if (is_quoted) json += '"';
  PrintValue(value, json);
  if (is_quoted) json += '"';
}

// NaN and infinities.
bool IsNoNumber(absl::string_view decimal) {
  return decimal.find_first_of("NnIi") != absl::string_view::npos;
}

void AppendFields(const std::vector<Column>& columns,
                  std::span<const Value> values, std::string& json) {
  json += '{';
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) json += ',';
    AppendJsonString(columns[i].name, json);
    json += ':';
    AppendValueJson(columns[i], values[i], json);
  }
  json += '}';
}

void AppendMap(const Column& column, std::span<const Value> pairs,
               std::string& json) {
  json += '{';
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (i > 0) json += ',';
    std::string key;
    PrintValue(pairs[i], key);
    AppendJsonString(key, json);
    json += ':';
    AppendValueJson(column.children[1], pairs[i + 1], json);
  }
  json += '}';
}

// A member with its name, besides the text that came: of a number or a time
// that was a few bytes there is more.
size_t OwnBytes(const Column& column) {
  constexpr size_t kValueBytes = 44;
  std::string name;
  AppendJsonString(column.name, name);
  return name.size() + kValueBytes;
}

}  // namespace

void AppendValueJson(const Column& column, const Value& value,
                     std::string& json) {
  switch (value.kind()) {
    case ValueKind::kNull:
      json += "null";
      return;
    case ValueKind::kString:
      return AppendJsonString(value.AsString(), json);
    case ValueKind::kVariant:
      json.append(value.AsVariant().data(), value.AsVariant().size());
      return;
    case ValueKind::kArray: {
      json += '[';
      bool is_first = true;
      for (const Value& element : value.AsArray()) {
        if (!is_first) json += ',';
        is_first = false;
        AppendValueJson(column.children[0], element, json);
      }
      json += ']';
      return;
    }
    case ValueKind::kMap:
      return AppendMap(column, value.AsMap(), json);
    case ValueKind::kStruct:
      return AppendFields(column.children, value.AsStruct(), json);
    case ValueKind::kBool:
    case ValueKind::kInt64:
    case ValueKind::kUint64:
      return AppendPrinted(value, false, json);
    case ValueKind::kDouble:
      return AppendPrinted(value, !std::isfinite(value.AsDouble()), json);
    case ValueKind::kDecimal:
      return AppendPrinted(value, IsNoNumber(value.AsDecimal()), json);
    case ValueKind::kBinary: {
      // Its backslash has to be escaped.
      std::string text;
      PrintValue(value, text);
      return AppendJsonString(text, json);
    }
    case ValueKind::kDate:
    case ValueKind::kTime:
    case ValueKind::kTimestamp:
    case ValueKind::kTimestamptz:
    case ValueKind::kUuid:
      return AppendPrinted(value, true, json);
  }
}

RowJsonEncoder::RowJsonEncoder(Schema schema, FrameKind frames,
                               OpColumn op_column)
    : schema_(std::move(schema)), frames_(frames), op_column_(op_column) {
  const ColumnBytes bytes = ColumnBytesOf(schema_, OwnBytes);
  record_bytes_ += bytes.record;
  nested_bytes_ = bytes.nested;
}

absl::Status RowJsonEncoder::Encode(const Record& record, FrameBuffer& out) {
  DCHECK_EQ(record.row.size(), schema_.columns.size());
  const bool is_message = frames_ == FrameKind::kMessages;
  if (is_message && record.meta.op == Op::kDelete) {
    return AppendDeletion(record, out);
  }
  if (!is_message) {
    RETURN_IF_ERROR(CheckRowForm(record, op_column_));
  }
  line_.clear();
  AppendFields(schema_.columns, record.row, line_);
  if (is_message) {
    AppendMessage(record.key, line_, {}, out);
    return absl::OkStatus();
  }
  line_ += '\n';
  out.Append(line_);
  return absl::OkStatus();
}

size_t RowJsonEncoder::EstimateBytes(size_t records,
                                     size_t payload_bytes) const {
  // What escapes a byte has six.
  constexpr size_t kEscapedBytes = 6;
  return records * record_bytes_ + kEscapedBytes * payload_bytes;
}

}  // namespace penstock::core
