#include "core/base/descriptor_watcher.h"

#include "core/base/check.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::core {

DescriptorWatcher::DescriptorWatcher()
    : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK_GE(wake_fd_, 0) << "no eventfd can be had";
}

DescriptorWatcher::~DescriptorWatcher() {
  std::unique_ptr<Thread> thread;
  {
    MutexLock lock(mu_);
    thread = std::move(thread_);
  }
  if (thread != nullptr) {
    thread->RequestStop();
    Wake();
    thread->Join();
  }
  ::close(wake_fd_);
}

void DescriptorWatcher::WatchOnce(int fd, Callback callback) {
  Callback replaced;
  {
    MutexLock lock(mu_);
    replaced = std::exchange(waiting_[fd], std::move(callback));
    if (thread_ == nullptr) {
      thread_ = std::make_unique<Thread>(
          "fd-watcher", [this](const std::stop_token& stop) { Run(stop); });
    }
  }
  Wake();
}

void DescriptorWatcher::Forget(int fd) {
  Callback dropped;
  MutexLock lock(mu_);
  const auto it = waiting_.find(fd);
  if (it != waiting_.end()) {
    dropped = std::move(it->second);
    waiting_.erase(it);
  }
  called_.Wait(mu_, [this, fd] {
    mu_.AssertHeld();
    return calling_ != fd;
  });
}

void DescriptorWatcher::Wake() const {
  const uint64_t one = 1;
  // It fails only where the thread is to be woken already.
  (void)!::write(wake_fd_, &one, sizeof(one));
}

void DescriptorWatcher::Run(const std::stop_token& stop) {
  std::vector<pollfd> watched;
  while (!stop.stop_requested()) {
    watched.assign(1, {.fd = wake_fd_, .events = POLLIN, .revents = 0});
    {
      MutexLock lock(mu_);
      for (const auto& [fd, callback] : waiting_) {
        watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
    }
    if (::poll(watched.data(), watched.size(), -1) <= 0) continue;
    if (watched[0].revents != 0) {
      uint64_t wakes = 0;
      (void)!::read(wake_fd_, &wakes, sizeof(wakes));
    }
    for (size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents != 0) CallIfWatched(watched[i].fd);
    }
  }
}

void DescriptorWatcher::CallIfWatched(int fd) {
  Callback callback;
  {
    MutexLock lock(mu_);
    const auto it = waiting_.find(fd);
    if (it == waiting_.end()) return;
    callback = std::move(it->second);
    waiting_.erase(it);
    calling_ = fd;
  }
  callback();
  callback = nullptr;
  MutexLock lock(mu_);
  calling_ = -1;
  called_.NotifyAll();
}

}  // namespace penstock::core
