#include "client/conformance/line.h"

#include <array>
#include <chrono>

namespace penstock::conformance {
namespace {

constexpr std::array kAll = {LineFault::kNone, LineFault::kLose,
                             LineFault::kCut, LineFault::kRepeat,
                             LineFault::kLate};
// Most calls are answered by then, some are not.
constexpr uint64_t kCutUsMax = 4000;

}  // namespace

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoMilliseconds(kCheckCallMax));
}

std::span<const LineFault> AllLineFaults() { return kAll; }

absl::string_view LineFaultName(LineFault fault) {
  switch (fault) {
    case LineFault::kNone:
      return "none";
    case LineFault::kLose:
      return "lose";
    case LineFault::kCut:
      return "cut";
    case LineFault::kRepeat:
      return "repeat";
    case LineFault::kLate:
      return "late";
  }
  return "";
}

std::optional<LineFault> ParseLineFault(absl::string_view name) {
  for (const LineFault fault : kAll) {
    if (LineFaultName(fault) == name) return fault;
  }
  return std::nullopt;
}

void Line::SetDeadlineOfCut(grpc::ClientContext& context) {
  core::MutexLock lock(mu_);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::microseconds(random_.Uniform(kCutUsMax)));
}

void Line::Keep(std::function<void()> deliver) {
  core::MutexLock lock(mu_);
  kept_.push_back(std::move(deliver));
  if (kept_.size() > kKeptMax) kept_.pop_front();
}

void Line::DeliverLate() {
  std::function<void()> deliver;
  {
    core::MutexLock lock(mu_);
    if (kept_.empty()) return;
    deliver = kept_[random_.Uniform(kept_.size())];
  }
  deliver();
}

}  // namespace penstock::conformance
