#include "core/sinks/postgres/postgres_encoder.h"

#include "core/base/error.h"
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
    case PgLayout::kJson:
    case PgLayout::kJsonb:
    case PgLayout::kBytea:
    case PgLayout::kOther:
      return kLength + 1;
  }
  return kLength;
}

// How many bytes come of one of JSON in an array: of "" and a comma, or of a
// digit and a comma.
size_t ElementFactor(const PgColumn& column) {
  switch (column.layout) {
    case PgLayout::kInt2:
    case PgLayout::kInt4:
    case PgLayout::kFloat4:
      return 4;
    case PgLayout::kInt8:
    case PgLayout::kFloat8:
      return 6;
    case PgLayout::kNumeric:
      return 7;
    default:
      return 2;
  }
}

// Of the text form: times are the longest, a tab or a comma behind each.
constexpr size_t kTextValue = 32;

// Of a value as JSON: members are named, also those that did not come.
size_t JsonBytes(const Column& declared) {
  size_t bytes = kTextValue;
  for (const Column& child : declared.children) {
    bytes += child.name.size() + JsonBytes(child);
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

size_t PayloadFactor(const RowPlan& plan) {
  // Escapes double text; without them a value has the bytes that came.
  size_t factor = plan.is_binary ? 1 : 2;
  for (const PlannedColumn& planned : plan.columns) {
    if (!planned.column.is_array) continue;
    factor = std::max(factor, ElementFactor(planned.column));
  }
  return factor;
}

}  // namespace

PostgresEncoder::PostgresEncoder(std::shared_ptr<const RowPlan> plan)
    : plan_(std::move(plan)),
      record_bytes_(RecordBytes(*plan_)),
      payload_factor_(PayloadFactor(*plan_)) {}

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
