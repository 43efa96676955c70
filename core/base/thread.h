// A named thread that is joined by its destructor. With ThreadPoolExecutor,
// the only place where threads are made.
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/strings/string_view.h>

#include <stop_token>
#include <string>
#include <thread>

namespace penstock::core {

// Owner:     whoever started it; the body may use what outlives this object.
// Threads:   confined to the owner, except RequestStop and stop_token, which
//            are thread-safe.
// Lifecycle: runs from construction; the destructor requests stop and joins.
class Thread {
 public:
  using Body = absl::AnyInvocable<void(std::stop_token)>;

  // `name` is cut to 15 bytes for the operating system. The body must return
  // soon after its token is stopped.
  Thread(std::string name, Body body);
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  // Blocks: until the body has returned. Requires: not run by the body.
  ~Thread();

  void RequestStop() { thread_.request_stop(); }
  std::stop_token stop_token() const { return thread_.get_stop_token(); }
  // Waits for the body without asking it to stop. Blocks: until it returned.
  // May be called again; then it does nothing.
  void Join();

  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  std::jthread thread_;
};

// The number of hardware threads this process may use, at least 1.
int HardwareThreads();

}  // namespace penstock::core
