// Randomness for tests that a failure can be repeated with.
#pragma once

#include "core/base/random.h"

#include <cstdint>

namespace penstock::core {

// PENSTOCK_TEST_SEED if set (decimal), otherwise a new seed at every call.
// Prints it, and records it as the test's property "seed".
uint64_t TestSeed();

// Random(TestSeed()).
Random TestRandom();

}  // namespace penstock::core
