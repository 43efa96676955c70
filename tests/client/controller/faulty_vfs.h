// SQLite's file layer with a fault: syncs or writes of log files fail.
#pragma once

#include <string>

namespace penstock::client {

// Registers itself under name() and forwards to the default layer.
// Owner:   the test. Threads: confined to the thread that uses SQLite.
// Lifecycle: outlives every database opened through it.
class FaultyVfs {
 public:
  FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs();

  const std::string& name() const;
  // The next `count` syncs of a "-wal" file do nothing and fail.
  void FailSyncs(int count);
  // The next `count` writes to a "-wal" file find no space.
  void FailWrites(int count);
  // How many syncs of "-wal" files succeeded.
  int syncs() const;
};

}  // namespace penstock::client
