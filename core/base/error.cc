#include "core/base/error.h"

#include "core/base/byte_order.h"
#include "core/base/check.h"

#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kErrorInfoUrl = "penstock/error_info";
constexpr absl::string_view kRetryDelayUrl = "penstock/retry_delay";
// Metadata of WithCause.
constexpr absl::string_view kCause = "cause";
constexpr absl::string_view kCauseReason = "cause_reason";
// First byte of an encoded ErrorInfo.
constexpr char kEncodingVersion = 1;

struct ReasonEntry {
  Reason reason;
  absl::string_view name;
  absl::StatusCode code;
};

// The one list: a reason, its published name and its code.
#define PENSTOCK_REASON(reason, code) \
  ReasonEntry { Reason::reason, #reason, absl::StatusCode::code }
constexpr std::array kReasons = {
    PENSTOCK_REASON(INVALID_CONFIG, kInvalidArgument),
    PENSTOCK_REASON(INVALID_REQUEST, kInvalidArgument),
    PENSTOCK_REASON(MALFORMED_FRAME, kInvalidArgument),
    PENSTOCK_REASON(RECORD_TOO_LARGE, kInvalidArgument),
    PENSTOCK_REASON(REQUEST_ID_REUSED, kInvalidArgument),
    PENSTOCK_REASON(ROW_REFUSED, kInvalidArgument),
    PENSTOCK_REASON(NO_SUCH_CONNECTOR, kNotFound),
    PENSTOCK_REASON(NOT_FOUND, kNotFound),
    PENSTOCK_REASON(ALREADY_EXISTS, kAlreadyExists),
    PENSTOCK_REASON(ILLEGAL_TRANSITION, kFailedPrecondition),
    PENSTOCK_REASON(POSITION_MISMATCH, kFailedPrecondition),
    PENSTOCK_REASON(STALE_EPOCH, kFailedPrecondition),
    PENSTOCK_REASON(EPOCH_TAKEN, kFailedPrecondition),
    PENSTOCK_REASON(SUPERSEDED, kFailedPrecondition),
    PENSTOCK_REASON(INSTANCE_MISMATCH, kFailedPrecondition),
    PENSTOCK_REASON(STEP_GAP, kFailedPrecondition),
    PENSTOCK_REASON(STEP_RELEASED, kFailedPrecondition),
    PENSTOCK_REASON(QUEUE_RUNNING, kFailedPrecondition),
    PENSTOCK_REASON(RELEASE_AHEAD, kFailedPrecondition),
    PENSTOCK_REASON(NOT_COMPLETED, kFailedPrecondition),
    PENSTOCK_REASON(PROGRESS_BEHIND, kFailedPrecondition),
    PENSTOCK_REASON(PROGRESS_AHEAD, kFailedPrecondition),
    PENSTOCK_REASON(PROGRESS_LOST, kFailedPrecondition),
    PENSTOCK_REASON(FOREIGN_PROGRESS, kFailedPrecondition),
    PENSTOCK_REASON(WRITER_FENCED, kFailedPrecondition),
    PENSTOCK_REASON(LEVEL_REFUSED, kFailedPrecondition),
    PENSTOCK_REASON(CONNECTOR_FAILED, kFailedPrecondition),
    PENSTOCK_REASON(TOO_MANY_BAD_ROWS, kFailedPrecondition),
    PENSTOCK_REASON(NOT_OWNER, kPermissionDenied),
    PENSTOCK_REASON(PATH_NOT_ALLOWED, kPermissionDenied),
    PENSTOCK_REASON(PERMISSION_DENIED, kPermissionDenied),
    PENSTOCK_REASON(UNAUTHENTICATED, kUnauthenticated),
    PENSTOCK_REASON(POSITION_EXPIRED, kOutOfRange),
    PENSTOCK_REASON(SEQUENCE_EXPIRED, kOutOfRange),
    PENSTOCK_REASON(BUDGET_EXCEEDED, kResourceExhausted),
    PENSTOCK_REASON(RETAINED_FULL, kResourceExhausted),
    PENSTOCK_REASON(STEPS_OUTSTANDING, kResourceExhausted),
    PENSTOCK_REASON(MEMORY_REFUSED, kResourceExhausted),
    PENSTOCK_REASON(SLOW_WATCHER, kResourceExhausted),
    PENSTOCK_REASON(STORAGE_FULL, kResourceExhausted),
    PENSTOCK_REASON(REPLAY_MISMATCH, kDataLoss),
    PENSTOCK_REASON(STATE_DAMAGED, kDataLoss),
    PENSTOCK_REASON(UNSUPPORTED, kUnimplemented),
    PENSTOCK_REASON(UNAVAILABLE, kUnavailable),
    PENSTOCK_REASON(SHUTTING_DOWN, kUnavailable),
    PENSTOCK_REASON(DEADLINE, kDeadlineExceeded),
    PENSTOCK_REASON(CANCELLED, kCancelled),
    PENSTOCK_REASON(IO_ERROR, kInternal),
    PENSTOCK_REASON(INTERNAL, kInternal),
};
#undef PENSTOCK_REASON

// The table is indexed by reason, so it must be whole and in order.
constexpr bool TableIsInOrder() {
  for (size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<size_t>(kReasons[i].reason) != i) return false;
  }
  return kReasons.size() == static_cast<size_t>(Reason::INTERNAL) + 1;
}
static_assert(TableIsInOrder());

const ReasonEntry& EntryOf(Reason reason) {
  const auto index = static_cast<size_t>(reason);
  CHECK_LT(index, kReasons.size());
  return kReasons[index];
}

void AppendText(absl::string_view text, std::string& to) {
  AppendLe32(static_cast<uint32_t>(text.size()), to);
  to.append(text.data(), text.size());
}

bool ConsumeText(absl::string_view& from, std::string& text) {
  uint32_t size = 0;
  if (!ConsumeLe(from, size) || from.size() < size) return false;
  text.assign(from.data(), size);
  from.remove_prefix(size);
  return true;
}

// Shape: version byte, reason's name, domain, u32 count, then key and value of
// each metadata entry; a text is a u32 length and its bytes.
std::string EncodeErrorInfo(const ErrorInfo& info) {
  std::string bytes(1, kEncodingVersion);
  AppendText(ReasonName(info.reason), bytes);
  AppendText(info.domain, bytes);
  AppendLe32(static_cast<uint32_t>(info.metadata.size()), bytes);
  for (const auto& [key, value] : info.metadata) {
    AppendText(key, bytes);
    AppendText(value, bytes);
  }
  return bytes;
}

std::optional<ErrorInfo> DecodeErrorInfo(absl::string_view bytes) {
  if (bytes.empty() || bytes[0] != kEncodingVersion) return std::nullopt;
  bytes.remove_prefix(1);
  ErrorInfo info;
  std::string name;
  uint32_t count = 0;
  if (!ConsumeText(bytes, name) || !ConsumeText(bytes, info.domain) ||
      !ConsumeLe(bytes, count)) {
    return std::nullopt;
  }
  const std::optional<Reason> reason = ParseReason(name);
  if (!reason.has_value()) return std::nullopt;
  info.reason = *reason;
  for (uint32_t i = 0; i < count; ++i) {
    std::string key;
    std::string value;
    if (!ConsumeText(bytes, key) || !ConsumeText(bytes, value)) {
      return std::nullopt;
    }
    info.metadata.insert_or_assign(std::move(key), std::move(value));
  }
  if (!bytes.empty()) return std::nullopt;
  return info;
}

// What a person cannot see in `path`: from where it was looked for, and who was
// refused.
std::string WhereOrWho(int error_number, absl::string_view path) {
  if (error_number == EACCES || error_number == EPERM) {
    return absl::StrCat(" for user ", geteuid());
  }
  if (error_number != ENOENT || path.empty() || path[0] == '/') return "";
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) == nullptr) return "";
  return absl::StrCat(" in ", directory);
}

Reason ReasonOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
      return Reason::NOT_FOUND;
    case EEXIST:
      return Reason::ALREADY_EXISTS;
    case ENOSPC:
    case EDQUOT:
      return Reason::STORAGE_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
      return Reason::PERMISSION_DENIED;
    // The name itself is wrong: no retry makes it right.
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return Reason::INVALID_CONFIG;
    default:
      return Reason::IO_ERROR;
  }
}

}  // namespace

std::span<const Reason> AllReasons() {
  static constexpr auto kAll = [] {
    std::array<Reason, kReasons.size()> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = kReasons[i].reason;
    return all;
  }();
  return kAll;
}

absl::string_view ReasonName(Reason reason) { return EntryOf(reason).name; }

std::optional<Reason> ParseReason(absl::string_view name) {
  const auto found =
      std::find_if(kReasons.begin(), kReasons.end(),
                   [name](const ReasonEntry& e) { return e.name == name; });
  if (found == kReasons.end()) return std::nullopt;
  return found->reason;
}

absl::StatusCode CodeOf(Reason reason) { return EntryOf(reason).code; }

absl::Status MakeError(Reason reason, absl::string_view message,
                       ErrorMetadata metadata) {
  ErrorInfo info;
  info.reason = reason;
  info.metadata = std::move(metadata);
  return WithErrorInfo(absl::Status(CodeOf(reason), message), info);
}

absl::Status WithErrorInfo(absl::Status status, const ErrorInfo& info) {
  if (status.ok()) return status;
  status.SetPayload(kErrorInfoUrl, absl::Cord(EncodeErrorInfo(info)));
  return status;
}

std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrorInfoUrl);
  if (!payload.has_value()) return std::nullopt;
  return DecodeErrorInfo(std::string(*payload));
}

bool HasReason(const absl::Status& status, Reason reason) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() && info->reason == reason;
}

std::string ErrorText(const absl::Status& status) {
  if (status.ok()) return "OK";
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return absl::StrCat(info.has_value()
                          ? std::string(ReasonName(info->reason))
                          : absl::StatusCodeToString(status.code()),
                      ": ", status.message());
}

absl::Status WithRetryDelay(absl::Status status, absl::Duration delay) {
  if (status.ok()) return status;
  const int64_t ns = std::max<int64_t>(0, absl::ToInt64Nanoseconds(delay));
  std::string bytes;
  AppendLe64(static_cast<uint64_t>(ns), bytes);
  status.SetPayload(kRetryDelayUrl, absl::Cord(bytes));
  return status;
}

std::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryDelayUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string bytes(*payload);
  if (bytes.size() != sizeof(uint64_t)) return std::nullopt;
  return absl::Nanoseconds(static_cast<int64_t>(LoadLe64(bytes.data())));
}

absl::Status WithCause(const absl::Status& error, const absl::Status& cause) {
  std::optional<ErrorInfo> info = GetErrorInfo(error);
  const std::optional<ErrorInfo> cause_info = GetErrorInfo(cause);
  CHECK(info.has_value() && cause_info.has_value());
  info->metadata.insert_or_assign(std::string(kCause),
                                  std::string(cause.message()));
  info->metadata.insert_or_assign(std::string(kCauseReason),
                                  std::string(ReasonName(cause_info->reason)));
  return WithErrorInfo(
      WithContext(error, absl::StrCat("it follows from ", ErrorText(cause))),
      *info);
}

std::optional<absl::Status> CauseOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return std::nullopt;
  const auto text = info->metadata.find(std::string(kCause));
  const auto name = info->metadata.find(std::string(kCauseReason));
  if (text == info->metadata.end() || name == info->metadata.end()) {
    return std::nullopt;
  }
  const std::optional<Reason> reason = ParseReason(name->second);
  if (!reason.has_value()) return std::nullopt;
  return MakeError(*reason, text->second);
}

absl::Status WithContext(const absl::Status& status,
                         absl::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(),
                      absl::StrCat(status.message(), "; ", context));
  status.ForEachPayload(
      [&result](absl::string_view url, const absl::Cord& payload) {
        result.SetPayload(url, payload);
      });
  return result;
}

absl::Status MakeFileError(int error_number, absl::string_view operation,
                           absl::string_view path) {
  return MakeError(
      ReasonOfErrno(error_number),
      absl::StrCat(operation, " ", path, ": ",
                   std::generic_category().message(error_number),
                   WhereOrWho(error_number, path)),
      {{"path", std::string(path)}, {"errno", absl::StrCat(error_number)}});
}

absl::Status MakeAppendError(int error_number, absl::string_view path,
                             uint64_t written, uint64_t total) {
  return MakeError(ReasonOfErrno(error_number),
                   absl::StrCat("append to ", path, ": ",
                                std::generic_category().message(error_number),
                                " after ", written, " of ", total, " bytes"),
                   {{"path", std::string(path)},
                    {"errno", absl::StrCat(error_number)},
                    {"written", absl::StrCat(written)}});
}

}  // namespace penstock::core
