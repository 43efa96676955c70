// The entry point of libFuzzer for one format, PENSTOCK_FUZZED_FORMAT.
#include "tests/fuzz/fuzz_format.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  penstock::core::FuzzFormat(PENSTOCK_FUZZED_FORMAT,
                             {reinterpret_cast<const char*>(data), size});
  return 0;
}
