#include "core/contract/sink_error.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {
namespace {

constexpr absl::string_view kRow = "row";

SinkErrorKind KindOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
      return SinkErrorKind::kRetryable;
    case absl::StatusCode::kInvalidArgument:
      return SinkErrorKind::kBadRow;
    default:
      return SinkErrorKind::kFatal;
  }
}

}  // namespace

SinkErrorKind KindOfSinkError(const absl::Status& error) {
  CHECK(!error.ok());
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value()) return KindOfCode(error.code());
  switch (info->reason) {
    case Reason::WRITER_FENCED:
      return SinkErrorKind::kFenced;
    // Of kInvalidArgument these three are about rows, the others about us.
    case Reason::ROW_REFUSED:
    case Reason::RECORD_TOO_LARGE:
    case Reason::MALFORMED_FRAME:
      return SinkErrorKind::kBadRow;
    case Reason::INVALID_CONFIG:
    case Reason::INVALID_REQUEST:
    case Reason::REQUEST_ID_REUSED:
      return SinkErrorKind::kFatal;
    default:
      return KindOfCode(error.code());
  }
}

absl::Status MakeRowRefused(absl::string_view message,
                            std::optional<uint64_t> row) {
  ErrorMetadata metadata;
  if (row.has_value()) metadata[std::string(kRow)] = absl::StrCat(*row);
  return MakeError(Reason::ROW_REFUSED, message, std::move(metadata));
}

std::optional<uint64_t> RefusedRow(const absl::Status& error) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value() || info->reason != Reason::ROW_REFUSED) {
    return std::nullopt;
  }
  const auto found = info->metadata.find(std::string(kRow));
  uint64_t row = 0;
  if (found == info->metadata.end() || !absl::SimpleAtoi(found->second, &row)) {
    return std::nullopt;
  }
  return row;
}

}  // namespace penstock::core
