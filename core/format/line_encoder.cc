#include "core/format/line_encoder.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/change_form.h"
#include "core/format/message_encoder.h"

#include <absl/strings/str_cat.h>

#include <cstring>

namespace penstock::core {

absl::Status LineEncoder::Encode(const Record& record, FrameBuffer& out) {
  if (!record.value.has_value()) {
    return MakeError(Reason::UNSUPPORTED,
                     "encode a record as a line: its value is null, and lines "
                     "have no form for that; choose a format that does");
  }
  RETURN_IF_ERROR(CheckRowForm(record));
  const absl::string_view value = *record.value;
  const void* const newline =
      value.empty() ? nullptr : std::memchr(value.data(), '\n', value.size());
  if (newline != nullptr) {
    return MakeError(
        Reason::MALFORMED_FRAME,
        absl::StrCat("encode a record as a line: its value has a line end at "
                     "byte ",
                     static_cast<const char*>(newline) - value.data(),
                     "; choose a format that quotes it"));
  }
  char* const row = out.Reserve(value.size() + 1);
  if (!value.empty()) std::memcpy(row, value.data(), value.size());
  row[value.size()] = '\n';
  out.Commit(value.size() + 1);
  return absl::OkStatus();
}

std::unique_ptr<RowEncoder> MakeTextEncoder(FrameKind frames) {
  switch (frames) {
    case FrameKind::kConcatenated:
      return std::make_unique<LineEncoder>();
    case FrameKind::kMessages:
      return std::make_unique<MessageEncoder>();
  }
  return nullptr;
}

}  // namespace penstock::core
