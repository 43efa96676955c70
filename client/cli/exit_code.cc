#include "client/cli/exit_code.h"

#include "core/base/error.h"

namespace penstock::client {

CliExit CliExitOf(const absl::Status& status) {
  using core::Reason;
  if (status.ok()) return CliExit::kOk;
  const auto info = core::GetErrorInfo(status);
  if (!info.has_value()) return CliExit::kFailed;
  switch (info->reason) {
    case Reason::INVALID_CONFIG:
    case Reason::INVALID_REQUEST:
    case Reason::UNSUPPORTED:
    case Reason::LEVEL_REFUSED:
    case Reason::PATH_NOT_ALLOWED:
      return CliExit::kUsage;
    case Reason::STATE_DAMAGED:
      return CliExit::kStateDamaged;
    case Reason::UNAVAILABLE:
    case Reason::DEADLINE:
      return CliExit::kUnreachable;
    case Reason::STALE_EPOCH:
    case Reason::EPOCH_TAKEN:
    case Reason::SUPERSEDED:
      return CliExit::kSuperseded;
    case Reason::REPLAY_MISMATCH:
    case Reason::POSITION_EXPIRED:
    case Reason::POSITION_MISMATCH:
    case Reason::PROGRESS_BEHIND:
    case Reason::PROGRESS_AHEAD:
    case Reason::PROGRESS_LOST:
    case Reason::FOREIGN_PROGRESS:
    case Reason::WRITER_FENCED:
    case Reason::ROW_REFUSED:
    case Reason::TOO_MANY_BAD_ROWS:
      return CliExit::kNeedsDecision;
    case Reason::NOT_COMPLETED:
      return CliExit::kNotCheckpointed;
    default:
      return CliExit::kFailed;
  }
}

}  // namespace penstock::client
