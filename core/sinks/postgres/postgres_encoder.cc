#include "core/sinks/postgres/postgres_encoder.h"

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/binary_field.h"
#include "core/sinks/postgres/binary_value.h"
#include "core/sinks/postgres/json_value.h"
#include "core/sinks/postgres/text_value.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

bool IsDeletion(const Record& record) { return record.meta.op == Op::kDelete; }

absl::Status AppendBinary(const PlannedColumn& planned, const Value& value,
                          FrameBuffer& out) {
  if (!planned.as_json || value.is_null()) {
    return AppendBinaryValue(planned.column, value, out);
  }
  std::string json;
  RETURN_IF_ERROR(
      AppendJsonValue(planned.declared, planned.column, value, json));
  return AppendBinaryBytes(planned.column, json, out);
}

absl::Status AppendText(const PlannedColumn& planned, const Value& value,
                        FrameBuffer& out) {
  if (!planned.as_json || value.is_null()) {
    return AppendTextValue(planned.column, value, out);
  }
  std::string json;
  RETURN_IF_ERROR(
      AppendJsonValue(planned.declared, planned.column, value, json));
  return AppendTextValue(planned.column, Value::Variant(json), out);
}

// What a value takes whatever its text is: the length, and bytes of fixed size,
// or those that begin the others.
size_t FixedBytes(const PgColumn& column) {
  constexpr size_t kLength = 4;
  if (column.is_array) return kLength + 12 + 8;
  switch (column.layout) {
    case PgLayout::kBool:
    case PgLayout::kInt2:
    case PgLayout::kInt4:
    case PgLayout::kFloat4:
    case PgLayout::kDate:
      return kLength + 4;
    case PgLayout::kInt8:
    case PgLayout::kFloat8:
    case PgLayout::kTime:
    case PgLayout::kTimestamp:
    case PgLayout::kTimestamptz:
      return kLength + 8;
    case PgLayout::kNumeric:
    case PgLayout::kUuid:
      return kLength + 16;
    case PgLayout::kText:
      // A number may be longer as text.
      return kLength + 16;
    case PgLayout::kJson:
    case PgLayout::kJsonb:
    case PgLayout::kBytea:
    case PgLayout::kOther:
      return kLength + 1;
  }
  return kLength;
}

// Of the text form: moments are the longest, quotes and a comma about each.
constexpr size_t kTextValue = 44;

// A name in JSON that is text of COPY: backslashes are doubled there.
size_t NameBytes(const Column& declared) {
  std::string json;
  AppendJsonString(declared.name, json);
  return json.size() +
         static_cast<size_t>(std::count(json.begin(), json.end(), '\\'));
}

// Of a value as JSON: members are named, also those that did not come. What is
// in arrays and maps counts by itself.
size_t JsonBytes(const Column& declared) {
  size_t bytes = kTextValue;
  if (declared.type != SqlType::kStruct) return bytes;
  for (const Column& child : declared.children) {
    bytes += NameBytes(child) + JsonBytes(child);
  }
  return bytes;
}

// The longest of the values inside of `declared`.
size_t NestedJsonBytes(const Column& declared) {
  size_t bytes = 0;
  for (const Column& child : declared.children) {
    bytes = std::max(
        {bytes, NameBytes(child) + kTextValue, NestedJsonBytes(child)});
  }
  return bytes;
}

size_t RecordBytes(const RowPlan& plan) {
  size_t bytes = 8;
  for (const PlannedColumn& planned : plan.columns) {
    if (planned.as_json) bytes += JsonBytes(planned.declared);
    bytes += plan.is_binary ? FixedBytes(planned.column) : kTextValue;
  }
  return bytes;
}

size_t NestedBytes(const RowPlan& plan) {
  size_t bytes = 0;
  for (const PlannedColumn& planned : plan.columns) {
    size_t own = 0;
    if (planned.as_json) {
      own = NestedJsonBytes(planned.declared);
    } else if (planned.column.is_array) {
      PgColumn element = planned.column;
      element.is_array = false;
      own = plan.is_binary ? FixedBytes(element) : kTextValue;
    }
    bytes = std::max(bytes, own);
  }
  return bytes;
}

// Escapes double text, and bytes as text; otherwise a value has the bytes that
// came.
size_t PayloadFactor(const RowPlan& plan) {
  const bool has_json =
      std::any_of(plan.columns.begin(), plan.columns.end(),
                  [](const PlannedColumn& planned) { return planned.as_json; });
  return plan.is_binary && !has_json ? 1 : 2;
}

}  // namespace

PostgresEncoder::PostgresEncoder(std::shared_ptr<const RowPlan> plan)
    : plan_(std::move(plan)),
      record_bytes_(RecordBytes(*plan_)),
      payload_factor_(PayloadFactor(*plan_)),
      nested_bytes_(NestedBytes(*plan_)) {}

absl::Status PostgresEncoder::Encode(const Record& record, FrameBuffer& out) {
  RETURN_IF_ERROR(CheckRecord(record));
  return plan_->is_binary ? EncodeBinary(record, out) : EncodeText(record, out);
}

absl::Status PostgresEncoder::CheckRecord(const Record& record) const {
  if (plan_->mode == PostgresMode::kAppend && record.meta.op != Op::kInsert) {
    return MakeError(Reason::UNSUPPORTED,
                     "a sink that appends takes no updates and no deletions; "
                     "set mode to upsert");
  }
  if (!plan_->has_schema) {
    if (record.value.has_value()) return absl::OkStatus();
    return MakeError(Reason::UNSUPPORTED, "a record without a value is no row");
  }
  if (record.row.size() != plan_->columns.size()) {
    return MakeError(
        Reason::INTERNAL,
        absl::StrCat("a row of ", record.row.size(), " values for ",
                     plan_->columns.size(), " declared columns"));
  }
  for (size_t i = 0; i < record.row.size(); ++i) {
    const PlannedColumn& planned = plan_->columns[i];
    if (!planned.is_key || !record.row[i].is_null()) continue;
    return MakeRowRefused(absl::StrCat("column \"", planned.column.name,
                                       "\" of the key is null"));
  }
  return absl::OkStatus();
}

absl::Status PostgresEncoder::EncodeBinary(const Record& record,
                                           FrameBuffer& out) const {
  const bool upsert = plan_->mode == PostgresMode::kUpsert;
  AppendBig(static_cast<uint16_t>(plan_->columns.size() + (upsert ? 1 : 0)),
            out);
  if (!plan_->has_schema) {
    return AppendBinaryBytes(plan_->columns[0].column, *record.value, out);
  }
  for (size_t i = 0; i < record.row.size(); ++i) {
    RETURN_IF_ERROR(AppendBinary(plan_->columns[i], record.row[i], out));
  }
  if (upsert) AppendField<uint8_t>(IsDeletion(record) ? 1 : 0, out);
  return absl::OkStatus();
}

absl::Status PostgresEncoder::EncodeText(const Record& record,
                                         FrameBuffer& out) const {
  for (size_t i = 0; i < record.row.size(); ++i) {
    if (i > 0) out.PushBack('\t');
    RETURN_IF_ERROR(AppendText(plan_->columns[i], record.row[i], out));
  }
  if (plan_->mode == PostgresMode::kUpsert) {
    out.Append(IsDeletion(record) ? "\tt" : "\tf");
  }
  out.PushBack('\n');
  return absl::OkStatus();
}

size_t PostgresEncoder::EstimateBytes(size_t records,
                                      size_t payload_bytes) const {
  return records * record_bytes_ + payload_factor_ * payload_bytes;
}

std::unique_ptr<RowEncoder> PostgresEncoder::Clone() const {
  return std::make_unique<PostgresEncoder>(plan_);
}

}  // namespace penstock::core
