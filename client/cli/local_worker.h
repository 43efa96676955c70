// A worker of the command's own, as a child process.
#pragma once

#include "client/cli/socket_directory.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <sys/types.h>
#include <memory>
#include <string>

namespace penstock::client {

// Starts `penstock-worker` on a Unix socket and starts it again whenever it
// dies, with a growing pause.
//
// Owner:     the run command. Threads: confined to its thread.
// Lifecycle: running from Start; Stop (or destruction) ends it with SIGTERM,
//            then SIGKILL. If this process dies, the kernel ends the worker.
class LocalWorker {
 public:
  // kGiven: the first worker may read this process' standard input, which then
  // is no longer this one's. No later one: it would miss what that had read.
  enum class StandardInput { kKept, kGiven };

  // `state_dir`: where the worker keeps its fence. `program`: its path; empty:
  // beside this program, else on PATH. Errors: UNAVAILABLE.
  // Blocks: until it listens, at most a second.
  static absl::StatusOr<std::unique_ptr<LocalWorker>> Start(
      const std::string& program, const std::string& state_dir,
      StandardInput input = StandardInput::kKept);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // The gRPC target.
  std::string target() const;
  pid_t pid() const { return pid_; }
  // How often it had to be started again.
  int restarts() const { return restarts_; }
  // Looks whether it lives; starts it again if it is time. Blocks: never.
  // Errors: STATE_DAMAGED, INVALID_CONFIG, UNAVAILABLE: it ended with an exit
  // code that another start cannot change. Nothing is started after that.
  absl::Status Look(absl::Time steady_now);
  void Stop();
  // With SIGKILL, at once.
  void Kill();

 private:
  LocalWorker(std::string program, std::string state_dir,
              std::unique_ptr<SocketDirectory> socket_dir, StandardInput input);
  absl::Status Spawn();
  // Waits for the worker to listen, or end, at most a second: dialled before it
  // does, it would look as if it were in trouble.
  void AwaitSocket() const;

  const std::string program_;
  const std::string state_dir_;
  const std::unique_ptr<SocketDirectory> socket_dir_;
  StandardInput input_;
  pid_t pid_ = 0;
  int restarts_ = 0;
  // What makes another start useless.
  absl::Status hopeless_;
  absl::Duration pause_;
  absl::Time next_start_ = absl::InfinitePast();
  absl::Time started_ = absl::InfinitePast();
};

}  // namespace penstock::client
