#include "tests/support/server_process.h"

#include "core/base/check.h"
#include "core/base/clock.h"

#include <absl/strings/match.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace penstock::core {
namespace {

constexpr size_t kLogBytesMax = size_t{64} << 10;

[[noreturn]] void Become(std::vector<std::string> args, int log_fd,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(none, 0);
  ::dup2(log_fd, 1);
  ::dup2(log_fd, 2);
  // A group of its own: ^C is for the test, which then ends the server.
  ::setpgid(0, 0);
  std::vector<char*> raw;
  raw.reserve(args.size() + 1);
  for (std::string& arg : args) raw.push_back(arg.data());
  raw.push_back(nullptr);
  ::execvp(raw.front(), raw.data());
  ::_exit(127);
}

}  // namespace

ServerProcess::~ServerProcess() { Kill(); }

bool ServerProcess::Launch(const std::vector<std::string>& args,
                           absl::string_view ready, absl::Duration time) {
  CHECK_EQ(pid_, 0);
  std::array<int, 2> log = {};
  CHECK_EQ(::pipe2(log.data(), O_CLOEXEC), 0);
  {
    MutexLock lock(mu_);
    log_.clear();
    ready_text_ = std::string(ready);
    ready_ = ended_ = false;
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  CHECK_GE(child, 0);
  if (child == 0) Become(args, log[1], parent);
  pid_ = child;
  ::close(log[1]);
  reader_ = std::make_unique<Thread>(
      "server-log",
      [this, fd = log[0]](const std::stop_token& /*stop*/) { ReadLog(fd); });
  bool is_ready = false;
  {
    MutexLock lock(mu_);
    changed_.WaitUntil(mu_, RealClock().SteadyNow() + time, [this] {
      mu_.AssertHeld();
      return ready_ || ended_;
    });
    is_ready = ready_ && !ended_;
  }
  if (!is_ready) Kill();
  return is_ready;
}

void ServerProcess::ReadLog(int fd) {
  std::array<char, 4096> block = {};
  while (true) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    MutexLock lock(mu_);
    if (got <= 0) break;
    log_.append(block.data(), static_cast<size_t>(got));
    ready_ = ready_ || absl::StrContains(log_, ready_text_);
    if (log_.size() > kLogBytesMax) log_.erase(0, log_.size() - kLogBytesMax);
    changed_.NotifyAll();
  }
  ::close(fd);
  MutexLock lock(mu_);
  ended_ = true;
  changed_.NotifyAll();
}

void ServerProcess::Kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  reader_.reset();
}

void ServerProcess::Freeze() {
  CHECK_NE(pid_, 0);
  ::kill(pid_, SIGSTOP);
}

void ServerProcess::Thaw() {
  CHECK_NE(pid_, 0);
  ::kill(pid_, SIGCONT);
}

std::string ServerProcess::log() const {
  MutexLock lock(mu_);
  return log_;
}

}  // namespace penstock::core
