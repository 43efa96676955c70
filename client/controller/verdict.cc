#include "client/controller/verdict.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <optional>

namespace penstock::client {
namespace {

using core::Reason;

Verdict JudgeReason(Reason reason) {
  switch (reason) {
    case Reason::UNAVAILABLE:
    case Reason::SHUTTING_DOWN:
    case Reason::DEADLINE:
    case Reason::CANCELLED:
      return Verdict::kAskAgain;
    case Reason::BUDGET_EXCEEDED:
    case Reason::RETAINED_FULL:
    case Reason::STEPS_OUTSTANDING:
    case Reason::SLOW_WATCHER:
      return Verdict::kAskLater;
    case Reason::NO_SUCH_CONNECTOR:
    case Reason::ALREADY_EXISTS:
    case Reason::INSTANCE_MISMATCH:
    case Reason::CONNECTOR_FAILED:
    case Reason::WRITER_FENCED:
    // Ours or the worker's mistake: a new life starts from what is durable.
    case Reason::ILLEGAL_TRANSITION:
    case Reason::STEP_GAP:
    case Reason::STEP_RELEASED:
    case Reason::QUEUE_RUNNING:
    case Reason::RELEASE_AHEAD:
    case Reason::NOT_COMPLETED:
    case Reason::REQUEST_ID_REUSED:
    case Reason::STORAGE_FULL:
    case Reason::IO_ERROR:
    case Reason::INTERNAL:
      return Verdict::kReopen;
    case Reason::STALE_EPOCH:
    case Reason::EPOCH_TAKEN:
    case Reason::SUPERSEDED:
      return Verdict::kAskStore;
    case Reason::INVALID_CONFIG:
    case Reason::INVALID_REQUEST:
    case Reason::MALFORMED_FRAME:
    case Reason::RECORD_TOO_LARGE:
    // A new life would meet the same rows, and count them from zero.
    case Reason::ROW_REFUSED:
    case Reason::TOO_MANY_BAD_ROWS:
    case Reason::NOT_FOUND:
    case Reason::POSITION_MISMATCH:
    case Reason::PROGRESS_BEHIND:
    case Reason::PROGRESS_AHEAD:
    case Reason::PROGRESS_LOST:
    case Reason::FOREIGN_PROGRESS:
    case Reason::LEVEL_REFUSED:
    case Reason::NOT_OWNER:
    case Reason::PATH_NOT_ALLOWED:
    case Reason::PERMISSION_DENIED:
    case Reason::UNAUTHENTICATED:
    case Reason::POSITION_EXPIRED:
    case Reason::SEQUENCE_EXPIRED:
    case Reason::MEMORY_REFUSED:
    case Reason::REPLAY_MISMATCH:
    case Reason::STATE_DAMAGED:
    case Reason::UNSUPPORTED:
      return Verdict::kEnd;
  }
  return Verdict::kEnd;
}

// Of errors that no part of Penstock made: a proxy's, a library's.
Verdict JudgeCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return Verdict::kAskAgain;
    case absl::StatusCode::kResourceExhausted:
      return Verdict::kAskLater;
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kAborted:
      return Verdict::kReopen;
    default:
      return Verdict::kEnd;
  }
}

}  // namespace

bool MayBeMendedOutside(const absl::Status& status) {
  for (const Reason reason :
       {Reason::NOT_FOUND, Reason::PERMISSION_DENIED, Reason::UNAUTHENTICATED,
        Reason::INVALID_CONFIG, Reason::MEMORY_REFUSED, Reason::NOT_OWNER}) {
    if (core::HasReason(status, reason)) return true;
  }
  return false;
}

Verdict Judge(const absl::Status& status) {
  CHECK(!status.ok());
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(status);
  return info.has_value() ? JudgeReason(info->reason)
                          : JudgeCode(status.code());
}

bool IsConnectorsFault(const absl::Status& status) {
  return Judge(status) != Verdict::kAskAgain &&
         !core::HasReason(status, Reason::NO_SUCH_CONNECTOR) &&
         !core::HasReason(status, Reason::ALREADY_EXISTS) &&
         !core::HasReason(status, Reason::INSTANCE_MISMATCH) &&
         !core::HasReason(status, Reason::STORAGE_FULL) &&
         !core::HasReason(status, Reason::WRITER_FENCED);
}

}  // namespace penstock::client
