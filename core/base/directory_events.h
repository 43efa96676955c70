// Hints from the kernel that something happened in a directory.
#pragma once

#include "core/base/descriptor_watcher.h"
#include "core/base/executor.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstddef>
#include <memory>
#include <string>

namespace penstock::core {

// One inotify descriptor for all who watch. A hint may be missed, come late or
// mean nothing: whoever watches must look from time to time all the same.
//
// Owner:     the application; outlives those who watch.
// Threads:   thread-safe. Callbacks run on the watcher's thread, at most every
//            kPause, without a lock, and must not block.
// Lifecycle: after the destructor no callback runs.
// Bound:     Options::watches_max directories; an entry for each who watches.
class DirectoryEvents {
 public:
  struct Options {
    // Together with others of this user they may be fewer: the kernel has
    // bounds of its own (fs.inotify).
    size_t watches_max = 8192;
  };
  using Callback = absl::AnyInvocable<void() const>;

  // Changes that come closer together are one hint.
  static constexpr absl::Duration kPause = absl::Milliseconds(10);

  // Somebody who watches, until it is destroyed; its callback may run once more
  // after that. Threads: thread-compatible.
  class Watch {
   public:
    virtual ~Watch() = default;
    // False: the directory is gone or was moved, or its disk was taken away.
    virtual bool IsAlive() const = 0;
  };

  DirectoryEvents(DescriptorWatcher& watcher, Executor& executor,
                  Options options);
  ~DirectoryEvents();
  DirectoryEvents(const DirectoryEvents&) = delete;
  DirectoryEvents& operator=(const DirectoryEvents&) = delete;

  // Calls `callback` when something called `name`, or, if that is empty,
  // anything in `directory`, is made, removed, renamed, written to or changed
  // in its attributes, and when the directory itself is.
  // Blocks: as the disk does.
  // Returns: null if there will be no hints: the directory is not there or may
  // not be read, others than this kernel may write to its file system (a
  // network's), or there are too many watches, which is logged once.
  std::unique_ptr<Watch> WatchDirectory(const std::string& directory,
                                        const std::string& name,
                                        Callback callback);

 private:
  class Hub;
  class HubWatch;
  // Shared by: this, its watches, and the timer for the next hints.
  const std::shared_ptr<Hub> hub_;
};

}  // namespace penstock::core
