#include "client/cli/progress_meter.h"

#include "client/cli/text_table.h"
#include "core/base/clock.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <unistd.h>
#include <algorithm>
#include <iostream>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(250);
// A rate of less time would only jump.
constexpr absl::Duration kSettled = absl::Milliseconds(500);
constexpr uint64_t kLookBytes = uint64_t{1} << 20;

}  // namespace

std::string ProgressText(absl::string_view what, uint64_t done, uint64_t total,
                         absl::Duration elapsed) {
  std::string text =
      absl::StrCat(what, ": ", ShortNumber(static_cast<double>(done)), "B");
  // What grows meanwhile may become more than it was.
  if (total > 0) {
    const double share =
        std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    absl::StrAppend(&text, " of ", ShortNumber(static_cast<double>(total)),
                    "B (", absl::StrFormat("%.0f%%", share * 100), ")");
  }
  if (elapsed < kSettled || done == 0) return text;
  const double rate =
      static_cast<double>(done) / absl::ToDoubleSeconds(elapsed);
  absl::StrAppend(&text, ", ", ShortNumber(rate), "B/s");
  if (total > done) {
    absl::StrAppend(
        &text, ", about ",
        ShortDuration(absl::Seconds(static_cast<double>(total - done) / rate)),
        " left");
  }
  return text;
}

ProgressMeter::ProgressMeter(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      is_shown_(isatty(STDERR_FILENO) == 1),
      started_(core::RealClock().SteadyNow()) {}

ProgressMeter::~ProgressMeter() {
  if (shown_ != absl::InfinitePast()) std::cerr << "\r\033[K" << std::flush;
}

void ProgressMeter::Show() {
  look_again_ = done_ + kLookBytes;
  const absl::Time now = core::RealClock().SteadyNow();
  if (now - std::max(shown_, started_) < kInterval) return;
  shown_ = now;
  std::cerr << "\r\033[K" << ProgressText(what_, done_, total_, now - started_)
            << std::flush;
}

}  // namespace penstock::client
