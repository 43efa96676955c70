#include "client/cli/local_worker.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::Duration kPauseMin = absl::Milliseconds(100);
constexpr absl::Duration kPauseMax = absl::Seconds(5);
// A worker that lived this long starts with the shortest pause again.
constexpr absl::Duration kSettled = absl::Seconds(10);
constexpr absl::Duration kStopMax = absl::Seconds(10);
// How long the first start may take before the worker is dialled all the same.
constexpr absl::Duration kListenMax = absl::Seconds(1);
// Exit codes of penstock-worker that say why it cannot start, and the code of a
// child that could not be made to run it.
constexpr int kWorkerUsage = 2;
constexpr int kWorkerStateDamaged = 3;
constexpr int kNoProgram = 127;

absl::Status SystemError(const std::string& what, int error) {
  return core::MakeError(core::Reason::UNAVAILABLE,
                         absl::StrCat(what, ": ", std::strerror(error)));
}

// Beside this program, if it is there; otherwise the name, for PATH.
std::string FindProgram() {
  core::FileSystem& files = core::PosixFileSystem();
  if (const auto self = files.RealPath("/proc/self/exe"); self.ok()) {
    std::string beside =
        core::JoinPath(core::DirectoryOf(*self), "penstock-worker");
    if (files.Stat(beside).ok()) return beside;
  }
  return "penstock-worker";
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void RunChild(const char* program, char* const* arguments,
                           pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNoProgram);  // It died before prctl.
  // Not in the terminal's group: Ctrl-C is the controller's to handle.
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(program, arguments);
  _exit(kNoProgram);
}

// So that whoever writes it learns at once when its reader is gone.
void LetGoOfStandardInput() {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) return;
  dup2(nothing, STDIN_FILENO);
  close(nothing);
}

// Not OK: it would end so again.
absl::Status CheckExit(int wait_status, const std::string& program,
                       const std::string& state_dir) {
  if (!WIFEXITED(wait_status)) return absl::OkStatus();
  switch (WEXITSTATUS(wait_status)) {
    case kWorkerStateDamaged:
      return core::MakeError(
          core::Reason::STATE_DAMAGED,
          absl::StrCat("starting the local worker: its state in ", state_dir,
                       " is damaged; its own words above say what to do"));
    case kWorkerUsage:
      return core::MakeError(
          core::Reason::INVALID_CONFIG,
          absl::StrCat("starting the local worker: ", program,
                       " does not take its options; is it of another "
                       "version?"));
    case kNoProgram:
      return core::MakeError(
          core::Reason::UNAVAILABLE,
          absl::StrCat("starting the local worker: cannot run ", program,
                       "; name it with --worker-program"));
    default:
      return absl::OkStatus();
  }
}

}  // namespace

LocalWorker::LocalWorker(std::string program, std::string state_dir,
                         std::unique_ptr<SocketDirectory> socket_dir,
                         StandardInput input)
    : program_(std::move(program)),
      state_dir_(std::move(state_dir)),
      socket_dir_(std::move(socket_dir)),
      input_(input),
      pause_(kPauseMin) {}

absl::StatusOr<std::unique_ptr<LocalWorker>> LocalWorker::Start(
    const std::string& program, const std::string& state_dir,
    StandardInput input) {
  ASSIGN_OR_RETURN(std::unique_ptr<SocketDirectory> socket_dir,
                   SocketDirectory::Make("/tmp"));
  auto worker = std::unique_ptr<LocalWorker>(
      new LocalWorker(program.empty() ? FindProgram() : program, state_dir,
                      std::move(socket_dir), input));
  RETURN_IF_ERROR(worker->Spawn());
  worker->AwaitSocket();
  return worker;
}

LocalWorker::~LocalWorker() { Stop(); }

std::string LocalWorker::target() const {
  return absl::StrCat("unix:", socket_dir_->socket());
}

absl::Status LocalWorker::Spawn() {
  const std::string listen = target();
  unlink(socket_dir_->socket().c_str());
  const char* arguments[] = {program_.c_str(),
                             "--listen",
                             listen.c_str(),
                             "--admin-listen",
                             "",
                             "--state-dir",
                             state_dir_.c_str(),
                             "--share-state-dir",
                             "--log-level",
                             "warning",
                             nullptr,
                             nullptr};
  if (input_ == StandardInput::kGiven) {
    *std::find(std::begin(arguments), std::end(arguments), nullptr) =
        "--standard-input";
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return SystemError("starting the worker", errno);
  if (pid == 0) {
    RunChild(program_.c_str(), const_cast<char* const*>(arguments), parent);
  }
  if (std::exchange(input_, StandardInput::kKept) == StandardInput::kGiven) {
    LetGoOfStandardInput();
  }
  pid_ = pid;
  started_ = core::RealClock().SteadyNow();
  return absl::OkStatus();
}

void LocalWorker::AwaitSocket() const {
  const std::string& socket = socket_dir_->socket();
  const absl::Time deadline = core::RealClock().SteadyNow() + kListenMax;
  while (access(socket.c_str(), F_OK) != 0 &&
         core::RealClock().SteadyNow() < deadline) {
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == pid_) return;
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    nanosleep(&pause, nullptr);
  }
}

absl::Status LocalWorker::Look(absl::Time steady_now) {
  if (!hopeless_.ok()) return hopeless_;
  if (pid_ != 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return absl::OkStatus();
    const bool killed = WIFSIGNALED(status);
    LOG(WARNING)
            .With("pid", pid_)
            .With(killed ? "signal" : "exit_code",
                  killed ? WTERMSIG(status) : WEXITSTATUS(status))
        << "the local worker ended";
    pid_ = 0;
    hopeless_ = CheckExit(status, program_, state_dir_);
    if (!hopeless_.ok()) return hopeless_;
    if (steady_now - started_ > kSettled) pause_ = kPauseMin;
    next_start_ = steady_now + pause_;
    pause_ = std::min(pause_ * 2, kPauseMax);
  }
  if (steady_now < next_start_) return absl::OkStatus();
  if (const absl::Status status = Spawn(); !status.ok()) {
    LOG(ERROR) << status.message();
    next_start_ = steady_now + pause_;
    return absl::OkStatus();
  }
  ++restarts_;
  return absl::OkStatus();
}

void LocalWorker::Kill() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void LocalWorker::Stop() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  const absl::Time deadline = core::RealClock().SteadyNow() + kStopMax;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (core::RealClock().SteadyNow() > deadline) return Kill();
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
  }
  pid_ = 0;
}

}  // namespace penstock::client
