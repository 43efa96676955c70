#include "tests/integration/hanging_disk.h"

#include "core/base/check.h"
#include "core/base/mutex.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <dlfcn.h>
#include <unistd.h>
#include <climits>
#include <cstddef>
#include <string>

namespace penstock {
namespace {

struct Hanging {
  core::Mutex mu;
  core::CondVar changed;
  // Empty: nothing hangs.
  std::string part ABSL_GUARDED_BY(mu);
  int held ABSL_GUARDED_BY(mu) = 0;
};

Hanging& State() {
  static auto& state = *new Hanging;
  return state;
}

std::string PathOf(int descriptor) {
  char path[PATH_MAX];
  const ssize_t length = readlink(
      absl::StrCat("/proc/self/fd/", descriptor).c_str(), path, sizeof(path));
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

void Hang(int descriptor) {
  Hanging& state = State();
  core::MutexLock lock(state.mu);
  if (state.part.empty() ||
      !absl::StrContains(PathOf(descriptor), state.part)) {
    return;
  }
  ++state.held;
  state.changed.NotifyAll();
  state.changed.Wait(state.mu, [&] {
    state.mu.AssertHeld();
    return state.part.empty();
  });
  --state.held;
}

}  // namespace

HangingDisk::HangingDisk(absl::string_view part) {
  core::MutexLock lock(State().mu);
  CHECK(State().part.empty() && !part.empty());
  State().part = std::string(part);
}

HangingDisk::~HangingDisk() {
  core::MutexLock lock(State().mu);
  State().part.clear();
  State().changed.NotifyAll();
}

void HangingDisk::AwaitOne() {
  Hanging& state = State();
  core::MutexLock lock(state.mu);
  state.changed.Wait(state.mu, [&] {
    state.mu.AssertHeld();
    return state.held > 0;
  });
}

int HangingDisk::held() const {
  core::MutexLock lock(State().mu);
  return State().held;
}

}  // namespace penstock

extern "C" int fdatasync(int descriptor) {
  using Call = int (*)(int);
  static const auto call =
      reinterpret_cast<Call>(dlsym(RTLD_NEXT, "fdatasync"));
  penstock::Hang(descriptor);
  return call(descriptor);
}
