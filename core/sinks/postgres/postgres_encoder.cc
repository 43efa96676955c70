#include "core/sinks/postgres/postgres_encoder.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/binary_field.h"
#include "core/sinks/postgres/binary_value.h"
#include "core/sinks/postgres/text_value.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace penstock::core {
namespace {

bool IsDeletion(const Record& record) { return record.meta.op == Op::kDelete; }

}  // namespace

PostgresEncoder::PostgresEncoder(std::shared_ptr<const RowPlan> plan)
    : plan_(std::move(plan)),
      has_array_(std::any_of(plan_->columns.begin(), plan_->columns.end(),
                             [](const PlannedColumn& planned) {
                               return planned.column.is_array;
                             })) {}

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
    RETURN_IF_ERROR(
        AppendBinaryValue(plan_->columns[i].column, record.row[i], out));
  }
  if (upsert) AppendField<uint8_t>(IsDeletion(record) ? 1 : 0, out);
  return absl::OkStatus();
}

absl::Status PostgresEncoder::EncodeText(const Record& record,
                                         FrameBuffer& out) const {
  for (size_t i = 0; i < record.row.size(); ++i) {
    if (i > 0) out.PushBack('\t');
    RETURN_IF_ERROR(
        AppendTextValue(plan_->columns[i].column, record.row[i], out));
  }
  if (plan_->mode == PostgresMode::kUpsert) {
    out.Append(IsDeletion(record) ? "\tt" : "\tf");
  }
  out.PushBack('\n');
  return absl::OkStatus();
}

size_t PostgresEncoder::EstimateBytes(size_t records,
                                      size_t payload_bytes) const {
  // The widest of fixed size is 20 bytes with its length. A number in an array
  // takes two bytes of JSON at least, 14 here at most; escapes double text.
  const size_t fixed = 4 + 24 * (plan_->columns.size() + 1);
  const size_t factor = !plan_->has_schema ? 1 : has_array_ ? 7 : 2;
  return records * fixed + factor * payload_bytes;
}

std::unique_ptr<RowEncoder> PostgresEncoder::Clone() const {
  return std::make_unique<PostgresEncoder>(plan_);
}

}  // namespace penstock::core
