#include "server/end_of_process.h"

#include "server/options.h"

#include <sys/time.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstring>

namespace penstock::server {
namespace {

constexpr char kText[] =
    "penstock-worker: a call to a source or sink has not returned; ended "
    "without it\n";
constexpr char kJson[] =
    "{\"severity\":\"error\",\"message\":\"a call to a source or sink has not "
    "returned; ended without it\"}\n";

// What the handler says: it may make no text.
std::atomic<const char*> g_farewell = kText;

void Interrupt(int /*signal*/) {
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

void EndNow(int /*signal*/) {
  const char* const farewell = g_farewell.load();
  // Nobody is left to tell if it fails.
  (void)!write(STDERR_FILENO, farewell, std::strlen(farewell));
  _exit(static_cast<int>(ExitCode::kCallHangs));
}

}  // namespace

void EndOnSignals() {
  std::signal(SIGTERM, Interrupt);
  std::signal(SIGINT, Interrupt);
}

void EndAtTheLatestAfter(absl::Duration delay, bool as_json) {
  itimerval timer{};
  getitimer(ITIMER_REAL, &timer);
  const absl::Duration left = absl::DurationFromTimeval(timer.it_value);
  if (left > absl::ZeroDuration() && left < delay) return;
  g_farewell = as_json ? kJson : kText;
  std::signal(SIGALRM, EndNow);
  timer.it_value = absl::ToTimeval(delay);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace penstock::server
