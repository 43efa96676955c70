#include "core/base/directory_events.h"

#include "core/base/log.h"
#include "core/base/mutex.h"

#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr uint32_t kEvents = IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
                             IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                             IN_MOVE_SELF | IN_ONLYDIR;
// After these the directory's path may be another's.
constexpr uint32_t kEndings = IN_IGNORED | IN_MOVE_SELF | IN_UNMOUNT;
constexpr size_t kReadBytes = size_t{64} << 10;
// Reads before somebody else has a turn on the watcher's thread.
constexpr int kReadsMax = 16;

// Numbers of file systems that only this kernel writes to, as statfs gives
// them; those of the last line have no name in linux/magic.h.
constexpr std::array<uint32_t, 14> kLocal = {
    EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
    OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
    RAMFS_MAGIC,           MSDOS_SUPER_MAGIC,
    EXFAT_SUPER_MAGIC,     NILFS_SUPER_MAGIC,
    0x2fc12fc1 /* ZFS */,  0xca451a4e /* bcachefs */,
    0x3153464a /* JFS */,  0x7366746e /* NTFS3 */};

bool IsLocal(const std::string& directory) {
  struct statfs stat;
  if (::statfs(directory.c_str(), &stat) != 0) return false;
  return std::find(kLocal.begin(), kLocal.end(),
                   static_cast<uint32_t>(stat.f_type)) != kLocal.end();
}

}  // namespace

// Threads: thread-safe. The inotify calls that are made under the lock do no
// more than look up a path on a local disk.
class DirectoryEvents::Hub : public std::enable_shared_from_this<Hub> {
 public:
  Hub(DescriptorWatcher& watcher, Executor& executor, Options options)
      : watcher_(watcher),
        executor_(executor),
        options_(options),
        fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (fd_ < 0) TellFull("inotify cannot be had", errno);
  }
  ~Hub() {
    if (fd_ >= 0) ::close(fd_);
  }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void Listen() {
    if (fd_ < 0) return;
    watcher_.WatchOnce(fd_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnReadable();
    });
  }
  void Stop() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      is_stopped_ = true;
      directories_.clear();
    }
    if (fd_ >= 0) watcher_.Forget(fd_);
  }

  // What HubWatch::IsAlive tells, by whoever watches.
  struct Watcher {
    std::shared_ptr<Callback> callback;
    std::shared_ptr<std::atomic<bool>> is_alive;
  };
  // By the name that is watched, and a number.
  using Key = std::pair<std::string, uint64_t>;

  // Returns: the number of the kernel's watch, -1 if there is none.
  std::pair<int, Key> Add(const std::string& directory, const std::string& name,
                          Watcher watcher) ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(int watch, const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Watchers = std::map<Key, Watcher>;
  using Callbacks = std::vector<std::shared_ptr<Callback>>;

  void OnReadable() ABSL_LOCKS_EXCLUDED(mu_);
  void Take(const inotify_event& event, Callbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void TakeAll(const Watchers& watchers, Callbacks& callbacks);
  void TellFull(const char* what, int error);

  DescriptorWatcher& watcher_;
  Executor& executor_;
  const Options options_;
  const int fd_;
  std::atomic<bool> is_full_told_{false};

  Mutex mu_;
  bool is_stopped_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int, Watchers> directories_ ABSL_GUARDED_BY(mu_);
};

class DirectoryEvents::HubWatch final : public Watch {
 public:
  HubWatch(std::shared_ptr<Hub> hub, int watch, Hub::Key key,
           std::shared_ptr<std::atomic<bool>> is_alive)
      : hub_(std::move(hub)),
        watch_(watch),
        key_(std::move(key)),
        is_alive_(std::move(is_alive)) {}
  ~HubWatch() override { hub_->Remove(watch_, key_); }
  bool IsAlive() const override { return is_alive_->load(); }

 private:
  const std::shared_ptr<Hub> hub_;
  const int watch_;
  const Hub::Key key_;
  const std::shared_ptr<std::atomic<bool>> is_alive_;
};

std::pair<int, DirectoryEvents::Hub::Key> DirectoryEvents::Hub::Add(
    const std::string& directory, const std::string& name, Watcher watcher) {
  int error = 0;
  {
    MutexLock lock(mu_);
    if (fd_ < 0 || is_stopped_) return {-1, {}};
    const int watch =
        ::inotify_add_watch(fd_, directory.c_str(), kEvents | IN_MASK_ADD);
    if (watch < 0) {
      error = errno;
    } else if (directories_.size() >= options_.watches_max &&
               directories_.count(watch) == 0) {
      (void)::inotify_rm_watch(fd_, watch);
      error = ENOSPC;
    } else {
      Key key(name, next_++);
      directories_[watch].emplace(key, std::move(watcher));
      return {watch, std::move(key)};
    }
  }
  if (error == ENOSPC || error == ENOMEM) TellFull("no watch is left", error);
  return {-1, {}};
}

void DirectoryEvents::Hub::Remove(int watch, const Key& key) {
  MutexLock lock(mu_);
  const auto it = directories_.find(watch);
  if (it == directories_.end() || it->second.erase(key) == 0) return;
  if (!it->second.empty()) return;
  directories_.erase(it);
  (void)::inotify_rm_watch(fd_, watch);
}

void DirectoryEvents::Hub::OnReadable() {
  alignas(inotify_event) std::array<char, kReadBytes> bytes;
  Callbacks callbacks;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
    if (got <= 0) break;
    MutexLock lock(mu_);
    for (const char* at = bytes.data(); at < bytes.data() + got;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(at);
      Take(event, callbacks);
      at += sizeof(inotify_event) + event.len;
    }
  }
  std::sort(callbacks.begin(), callbacks.end());
  callbacks.erase(std::unique(callbacks.begin(), callbacks.end()),
                  callbacks.end());
  for (const std::shared_ptr<Callback>& callback : callbacks) (*callback)();
  executor_.ScheduleAfter(kPause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Listen();
  });
}

void DirectoryEvents::Hub::Take(const inotify_event& event,
                                Callbacks& callbacks) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (const auto& [watch, watchers] : directories_) {
      TakeAll(watchers, callbacks);
    }
    return;
  }
  const auto it = directories_.find(event.wd);
  if (it == directories_.end()) return;
  Watchers& watchers = it->second;
  if ((event.mask & kEndings) != 0) {
    TakeAll(watchers, callbacks);
    for (const auto& [key, watcher] : watchers) watcher.is_alive->store(false);
    directories_.erase(it);
    (void)::inotify_rm_watch(fd_, event.wd);
    return;
  }
  if (event.len == 0) return TakeAll(watchers, callbacks);
  for (const std::string& name : {std::string(event.name), std::string()}) {
    for (auto at = watchers.lower_bound(Key(name, 0));
         at != watchers.end() && at->first.first == name; ++at) {
      callbacks.push_back(at->second.callback);
    }
  }
}

void DirectoryEvents::Hub::TakeAll(const Watchers& watchers,
                                   Callbacks& callbacks) {
  for (const auto& [key, watcher] : watchers) {
    callbacks.push_back(watcher.callback);
  }
}

void DirectoryEvents::Hub::TellFull(const char* what, int error) {
  if (is_full_told_.exchange(true)) return;
  LOG(WARNING).With("error", std::strerror(error))
      << what
      << ": more directories are looked at from time to time only; raise "
         "fs.inotify.max_user_watches or max_user_instances to hear of changes "
         "at once";
}

DirectoryEvents::DirectoryEvents(DescriptorWatcher& watcher, Executor& executor,
                                 Options options)
    : hub_(std::make_shared<Hub>(watcher, executor, options)) {
  hub_->Listen();
}

DirectoryEvents::~DirectoryEvents() { hub_->Stop(); }

std::unique_ptr<DirectoryEvents::Watch> DirectoryEvents::WatchDirectory(
    const std::string& directory, const std::string& name, Callback callback) {
  if (!IsLocal(directory)) return nullptr;
  auto is_alive = std::make_shared<std::atomic<bool>>(true);
  auto [watch, key] =
      hub_->Add(directory, name,
                {.callback = std::make_shared<Callback>(std::move(callback)),
                 .is_alive = is_alive});
  if (watch < 0) return nullptr;
  return std::make_unique<HubWatch>(hub_, watch, std::move(key),
                                    std::move(is_alive));
}

}  // namespace penstock::core
