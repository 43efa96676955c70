#include "client/cli/crash_point.h"

#include "core/base/error.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <csignal>

namespace penstock::client {
namespace {

struct NamedPoint {
  const char* name;
  FaultPoint point;
};

constexpr NamedPoint kPoints[] = {
    {"result_received", FaultPoint::kResultReceived},
    {"before_journal", FaultPoint::kBeforeJournal},
    {"after_journal", FaultPoint::kAfterJournal},
    {"before_release", FaultPoint::kBeforeRelease},
    {"after_release", FaultPoint::kAfterRelease},
    {"before_prepare", FaultPoint::kBeforePrepare},
    {"after_prepare", FaultPoint::kAfterPrepare},
    {"after_checkpoint_stored", FaultPoint::kAfterCheckpointStored},
    {"after_commit_checkpoint", FaultPoint::kAfterCommitCheckpoint},
};

}  // namespace

absl::StatusOr<CrashPoint> ParseCrashPoint(const std::string& text,
                                           const std::string& how) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  CrashPoint crash;
  crash.signal = how == "stop" ? SIGSTOP : SIGKILL;
  std::string names;
  for (const NamedPoint& known : kPoints) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
    if (name != known.name) continue;
    crash.point = known.point;
    if (colon == std::string::npos ||
        (absl::SimpleAtoi(text.substr(colon + 1), &crash.count) &&
         crash.count > 0)) {
      return crash;
    }
  }
  return core::MakeError(core::Reason::INVALID_CONFIG,
                         absl::StrCat("reading --crash-at `", text,
                                      "`: give POINT or POINT:N with POINT "
                                      "one of ",
                                      names));
}

}  // namespace penstock::client
