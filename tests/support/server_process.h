// A server that a test starts itself, as a child process.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"

#include <absl/base/thread_annotations.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

// Runs a program whose standard error says when it can be used. The child ends
// with this object, and also when the thread that made it dies in whatever way;
// a program that it turns into (exec) is it.
//
// Threads:   confined to the thread that made it, but for log().
// Lifecycle: running from Launch to Kill or the destructor; again after that.
// Bound:     one process; the last 64 KiB of what it said.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  // Starts `args` and waits until it has said `ready`. False: it ended before,
  // or `time` is over; then it is gone, and log() has its last words.
  // Requires: it is not running.
  bool Launch(const std::vector<std::string>& args, absl::string_view ready,
              absl::Duration time);
  // As a crash ends it. Waits until it is gone.
  void Kill();
  // SIGSTOP and SIGCONT.
  void Freeze();
  void Thaw();
  bool is_running() const { return pid_ != 0; }
  std::string log() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void ReadLog(int fd) ABSL_LOCKS_EXCLUDED(mu_);

  int pid_ = 0;

  mutable Mutex mu_;
  CondVar changed_;
  std::string log_ ABSL_GUARDED_BY(mu_);
  std::string ready_text_ ABSL_GUARDED_BY(mu_);
  bool ready_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Ends when nobody can write to the log any more.
  std::unique_ptr<Thread> reader_;
};

}  // namespace penstock::core
