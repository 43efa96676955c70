// How long a property test looks.
#pragma once

#include <cstdlib>
#include <string>

namespace penstock::core {

// PENSTOCK_PROPERTY_RUNS if set, otherwise `runs`, or a tenth of that under a
// sanitizer, which makes each run about ten times longer.
inline int PropertyRuns(int runs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  runs /= 10;
#endif
  // NOLINTNEXTLINE(penstock-banned-call): a test's own setting
  const char* const text = std::getenv("PENSTOCK_PROPERTY_RUNS");
  return text == nullptr ? runs : std::stoi(text);
}

}  // namespace penstock::core
