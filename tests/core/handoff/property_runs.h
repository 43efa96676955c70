// How long a property test looks.
#pragma once

#include <cstdlib>
#include <string>

namespace penstock::core {

// PENSTOCK_PROPERTY_RUNS if set, otherwise `runs`.
inline int PropertyRuns(int runs) {
  // NOLINTNEXTLINE(penstock-banned-call): a test's own setting
  const char* const text = std::getenv("PENSTOCK_PROPERTY_RUNS");
  return text == nullptr ? runs : std::stoi(text);
}

}  // namespace penstock::core
