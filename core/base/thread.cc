#include "core/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// TASK_COMM_LEN of Linux, less the NUL.
constexpr size_t kNameBytesMax = 15;

}  // namespace

Thread::Thread(std::string name, Body body)
    : name_(std::move(name)),
      thread_([short_name = name_.substr(0, kNameBytesMax),
               run = std::move(body)](std::stop_token token) mutable {
        // Only a name for people: it may fail.
        (void)pthread_setname_np(pthread_self(), short_name.c_str());
        run(std::move(token));
      }) {}

Thread::~Thread() = default;

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

int HardwareThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace penstock::core
