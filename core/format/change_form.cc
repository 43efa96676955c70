#include "core/format/change_form.h"

#include "core/base/error.h"
#include "core/contract/message_frame.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {

OpColumn FindOpColumn(absl::string_view name, const Schema& schema) {
  return name.empty() ? std::nullopt : schema.Find(name);
}

absl::Status CheckChangeIsSaid(const Record& record, OpColumn op_column) {
  if (op_column.has_value() && *op_column < record.row.size() &&
      !record.row[*op_column].is_null()) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::UNSUPPORTED,
      absl::StrCat("encode a record as a row: it is ",
                   record.meta.op == Op::kDelete ? "a deletion" : "an update",
                   ", which its row does not say; let a column say it "
                   "(envelope_columns.op), or write to a sink that applies "
                   "changes"));
}

absl::Status AppendDeletion(const Record& record, FrameBuffer& out) {
  if (!record.key.has_value() && record.value.has_value()) {
    return MakeError(Reason::UNSUPPORTED,
                     "encode a record as a message: it is a deletion without a "
                     "key, so that no reader could tell of what; set the "
                     "format's key");
  }
  AppendMessage(record.key, std::nullopt, {}, out);
  return absl::OkStatus();
}

}  // namespace penstock::core
