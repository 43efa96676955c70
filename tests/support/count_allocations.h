// Counts every allocation of the program that links it: operator new is
// replaced, so such a program holds no other test.
#pragma once

#include <cstddef>

namespace penstock::core {

// Of all threads, since the program began.
size_t AllocationsSoFar();

}  // namespace penstock::core
