// Preloaded into a worker: its fdatasync calls never return as long as the file
// that PENSTOCK_TEST_HANG names is there, as on a disk that has died.
// See tests/chaos/worker_process.py.
#include <dlfcn.h>
#include <unistd.h>
#include <cstdlib>

extern "C" int fdatasync(int descriptor) {
  using Call = int (*)(int);
  static const auto call =
      reinterpret_cast<Call>(dlsym(RTLD_NEXT, "fdatasync"));
  const char* const hang = std::getenv("PENSTOCK_TEST_HANG");
  while (hang != nullptr && access(hang, F_OK) == 0) usleep(10'000);
  return call(descriptor);
}
