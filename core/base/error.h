// Errors as values: the published reasons, the code each one has, and the only
// factories of absl::Status in Penstock.
//
// A Status carries one ErrorInfo payload (the shape of google.rpc.ErrorInfo).
// Programs test the reason; the message is for people: lower case, what was
// being done to what, and what to do next. Secrets appear in neither (INV-10).
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// The published reasons. The enumerators are spelled as they travel, so that
// one word finds a reason in the proto, in code, in a log and in a runbook.
// Never renamed; new ones go before INTERNAL and into the table in error.cc.
enum class Reason {
  // InvalidArgument: fix the request; a retry cannot help.
  INVALID_CONFIG,     // a configuration field is wrong or unknown
  INVALID_REQUEST,    // a request is malformed or contradicts itself
  MALFORMED_FRAME,    // bytes that do not decode as what they claim to be
  RECORD_TOO_LARGE,   // one record or file is above its limit
  REQUEST_ID_REUSED,  // same request_id, other body
  ROW_REFUSED,        // a target refuses a row, and always will
  // NotFound, AlreadyExists.
  NO_SUCH_CONNECTOR,
  NOT_FOUND,  // a file, a type or another named thing
  ALREADY_EXISTS,
  // FailedPrecondition: the state forbids it; a retry alone cannot help.
  ILLEGAL_TRANSITION,
  POSITION_MISMATCH,
  STALE_EPOCH,
  EPOCH_TAKEN,
  SUPERSEDED,
  INSTANCE_MISMATCH,
  STEP_GAP,
  STEP_RELEASED,
  QUEUE_RUNNING,
  RELEASE_AHEAD,
  NOT_COMPLETED,
  PROGRESS_BEHIND,
  PROGRESS_AHEAD,
  PROGRESS_LOST,
  FOREIGN_PROGRESS,
  WRITER_FENCED,
  LEVEL_REFUSED,      // the connector cannot give the delivery level asked
  CONNECTOR_FAILED,   // the connector is FAILED; reopen it
  TOO_MANY_BAD_ROWS,  // more rows were refused than the limits let pass
  // PermissionDenied, Unauthenticated.
  NOT_OWNER,          // the connector belongs to another pipeline
  PATH_NOT_ALLOWED,   // outside of every --allow-path root
  PERMISSION_DENIED,  // the operating system or a role says no
  UNAUTHENTICATED,
  // OutOfRange: it was there once.
  POSITION_EXPIRED,  // the source no longer holds the position
  SEQUENCE_EXPIRED,  // a watch was asked to resume from a dropped event
  // ResourceExhausted: ask again after the retry delay.
  BUDGET_EXCEEDED,
  RETAINED_FULL,
  STEPS_OUTSTANDING,
  MEMORY_REFUSED,  // memory_max does not fit into the worker's
  SLOW_WATCHER,    // a watch's bounded queue overflowed
  STORAGE_FULL,    // ENOSPC, EDQUOT
  // DataLoss: stop; a person decides.
  REPLAY_MISMATCH,
  STATE_DAMAGED,  // stored state fails its checksum or is missing
  // Others.
  UNSUPPORTED,    // Unimplemented: ask Describe first
  UNAVAILABLE,    // Unavailable: retry with back-off
  SHUTTING_DOWN,  // Unavailable: this process is going away
  DEADLINE,       // DeadlineExceeded
  CANCELLED,      // Cancelled
  IO_ERROR,       // Internal: the operating system failed a file operation
  INTERNAL,       // Internal: a surprise from a library; report it
};

inline constexpr absl::string_view kErrorDomain = "penstock";

using ErrorMetadata = std::map<std::string, std::string>;

struct ErrorInfo {
  Reason reason = Reason::INTERNAL;
  std::string domain = std::string(kErrorDomain);
  ErrorMetadata metadata;

  friend bool operator==(const ErrorInfo&, const ErrorInfo&) = default;
};

// Every reason, in declaration order.
std::span<const Reason> AllReasons();
// Lifetime: the view is of static storage.
absl::string_view ReasonName(Reason reason);
// Inverse of ReasonName; nullopt for any other text.
std::optional<Reason> ParseReason(absl::string_view name);
// The one code of `reason`; never kOk.
absl::StatusCode CodeOf(Reason reason);

// Makes the error of `reason`, with the reason's code and domain "penstock".
// Ensures: GetErrorInfo of the result gives reason and metadata back.
absl::Status MakeError(Reason reason, absl::string_view message,
                       ErrorMetadata metadata = {});

// Attaches `info` to an existing error, replacing an ErrorInfo it had; for
// rebuilding what a peer sent, whose code may not be CodeOf(info.reason).
// OK statuses are returned unchanged.
absl::Status WithErrorInfo(absl::Status status, const ErrorInfo& info);

// nullopt: OK, or not made here, or the payload does not decode.
std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status);
bool HasReason(const absl::Status& status, Reason reason);
// For people: "REASON: message" (the code's name if there is no reason), "OK".
// Unlike ToString it prints no payload's bytes.
std::string ErrorText(const absl::Status& status);

// How long the caller should wait before it asks again. OK statuses are
// returned unchanged. Negative delays count as zero.
absl::Status WithRetryDelay(absl::Status status, absl::Duration delay);
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

// Says what `error` follows from, for one whose own reason is not the last
// word: at the end of the message, and as metadata "cause" and "cause_reason".
// Requires: neither is OK, and both have a reason.
absl::Status WithCause(const absl::Status& error, const absl::Status& cause);
// The cause that WithCause gave, as an error of its own without metadata; its
// text may have been cut on the wire. nullopt: there is none.
std::optional<absl::Status> CauseOf(const absl::Status& status);

// Appends "; `context`" to the message; keeps code and every payload.
// OK statuses are returned unchanged.
absl::Status WithContext(const absl::Status& status, absl::string_view context);

// Makes the error of a failed system call on `path`: the message is
// "`operation` `path`: <errno text>", the reason follows `error_number`
// (ENOENT NOT_FOUND, EEXIST ALREADY_EXISTS, ENOSPC and EDQUOT STORAGE_FULL,
// EACCES, EPERM and EROFS PERMISSION_DENIED, others IO_ERROR); metadata has
// "path" and "errno".
absl::Status MakeFileError(int error_number, absl::string_view operation,
                           absl::string_view path);

// As MakeFileError, of an append that wrote `written` of `total` bytes; the
// message says so and metadata has "written".
absl::Status MakeAppendError(int error_number, absl::string_view path,
                             uint64_t written, uint64_t total);

}  // namespace penstock::core
