#include "core/format/rows/whole_record.h"

#include "core/base/error.h"
#include "core/format/bad_record.h"
#include "core/format/change_form.h"
#include "core/format/message_encoder.h"
#include "core/format/rows/row_json.h"

#include <absl/strings/str_cat.h>

#include <cstdint>

namespace penstock::core {

ParseError MakeRecordError(absl::string_view tag, std::string description,
                           absl::string_view suggestion) {
  ParseError error;
  error.tag = std::string(tag);
  error.description = std::move(description);
  error.suggestion = std::string(suggestion);
  return error;
}

ParseResult ParseWholeRecord(
    const Fragment& fragment, ParseProgress& progress, const RowReader& rows,
    size_t record_bytes_max,
    absl::FunctionRef<std::optional<ParseError>(absl::string_view record,
                                                ResultBuilder& result)>
        add) {
  const absl::string_view record(fragment.block->data() + fragment.begin,
                                 fragment.size);
  ResultBuilder result(fragment, progress,
                       static_cast<uint32_t>(rows.row().size()));
  if (record.empty()) return std::move(result).Build(0);
  std::optional<ParseError> error;
  if (fragment.is_cut || record.size() > record_bytes_max) {
    error = RecordTooLarge(record, record_bytes_max);
  } else if ((error = add(record, result)).has_value()) {
    error->invalid_text = CutInvalidText(record);
  }
  if (error.has_value()) result.AddError(0, *std::move(error));
  return std::move(result).Build(fragment.size);
}

absl::Status CheckHasColumns(absl::string_view format, const Schema& schema) {
  if (!schema.IsEmpty()) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("format ", format,
                   ": there are no columns to read it into; declare a "
                   "`schema`, or pass bytes with the format raw"),
      {{"field", "schema"}});
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeWholeRecordEncoder(
    absl::string_view format, const EnvelopeConfig& envelope, FrameKind frames,
    const Schema& schema) {
  switch (frames) {
    case FrameKind::kConcatenated:
      return std::make_unique<RowJsonEncoder>(
          schema, frames, FindOpColumn(envelope.op, schema));
    case FrameKind::kMessages:
      return std::make_unique<MessageEncoder>(
          MessageEncoder::Deletions::kAsTheyStand);
  }
  return MakeError(Reason::INTERNAL,
                   absl::StrCat("make format ", format, ": unknown frames"));
}

}  // namespace penstock::core
