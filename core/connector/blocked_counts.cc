#include "core/connector/blocked_counts.h"

#include <absl/time/time.h>

#include <optional>

namespace penstock::core {

void BlockedCounts::Begin(Step step, absl::Time now) {
  if (is_open()) return;
  spans_.push_back({.begin = step, .end = UINT64_MAX, .since = now});
  if (spans_.size() > kSpansMax) spans_.pop_front();
}

void BlockedCounts::End(Step step) {
  if (is_open()) spans_.back().end = step;
}

std::optional<BlockedCounts::Span> BlockedCounts::Find(Step count) const {
  for (const Span& span : spans_) {
    if (span.begin < count && count <= span.end) return span;
  }
  return std::nullopt;
}

void BlockedCounts::Forget(Step count) {
  while (!spans_.empty() && spans_.front().end <= count) spans_.pop_front();
}

}  // namespace penstock::core
