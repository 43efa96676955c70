#include "core/base/piped_input.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>

namespace penstock::core {
namespace {

// What a pipe may hold where the system lets it: whoever writes is woken less
// often.
constexpr int kPipeBytes = 1 << 20;

}  // namespace

PipedInput::PipedInput(int fd, DescriptorWatcher& watcher)
    : fd_(fd), watcher_(watcher) {}

absl::Status PipedInput::Claim() {
  if (::isatty(fd_) == 1) {
    return MakeError(Reason::INVALID_CONFIG,
                     "read the standard input: it is a terminal; pipe "
                     "something into it, as in: cat file | penstock run ...");
  }
  MutexLock lock(mu_);
  if (is_begun_) {
    return MakeError(
        Reason::POSITION_EXPIRED,
        "read the standard input: something was read of it before, which "
        "cannot be read again; run again with the whole input, or read a "
        "file, which can be read again");
  }
  if (is_claimed_) {
    return MakeError(Reason::INVALID_CONFIG,
                     "read the standard input: another connector reads it; "
                     "only one can");
  }
  is_claimed_ = true;
  // No pipe, or not allowed: it is read all the same.
  (void)::fcntl(fd_, F_SETPIPE_SZ, kPipeBytes);
  return absl::OkStatus();
}

void PipedInput::Release() {
  watcher_.Forget(fd_);
  MutexLock lock(mu_);
  is_claimed_ = false;
}

absl::StatusOr<std::optional<size_t>> PipedInput::Read(std::span<char> out) {
  while (true) {
    // It is not made non-blocking: that would be so for everybody who has it.
    pollfd look = {.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&look, 1, 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return std::nullopt;
    const ssize_t got = ::read(fd_, out.data(), out.size());
    if (got >= 0) {
      MutexLock lock(mu_);
      if (got > 0) is_begun_ = true;
      return static_cast<size_t>(got);
    }
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR) return MakeFileError(errno, "read", "standard input");
  }
}

size_t PipedInput::Available() const {
  int bytes = 0;
  if (::ioctl(fd_, FIONREAD, &bytes) != 0 || bytes < 0) return 0;
  return static_cast<size_t>(bytes);
}

}  // namespace penstock::core
