// A wire between a client and a worker that a test can cut, or make a black
// hole of.
#pragma once

#include "core/base/thread.h"
#include "tests/support/temp_dir.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace penstock {

// Forwards bytes between Unix sockets, both ways.
//
// Owner:     a test. Threads: thread-safe; one thread of its own.
// Bound:     64 KiB each way of a connection.
class SocketProxy {
 public:
  // `target`: unix:/path.
  explicit SocketProxy(const std::string& target);
  SocketProxy(const SocketProxy&) = delete;
  SocketProxy& operator=(const SocketProxy&) = delete;
  ~SocketProxy();

  // What to connect to: unix:/path.
  std::string target() const;
  // Nothing passes any more, nothing is closed, nothing new is answered; or all
  // is as before.
  void SetBlackHole(bool is_one) { is_black_hole_ = is_one; }
  // Connections break when so many bytes more have passed, both ways. Once.
  void CutAfter(int64_t bytes) { cut_after_ = bytes; }
  // How many connections were cut.
  int cuts() const { return cuts_; }

 private:
  struct Way {
    int from = -1;
    int to = -1;
    std::vector<char> held;
  };
  struct Wire {
    int client = -1;
    int worker = -1;
    Way up;
    Way down;
  };

  void Loop(const std::stop_token& stop);
  void Accept();
  // False: the connection is over.
  bool Forward(Way& way);
  static void Close(Wire& wire);

  const core::TempDir directory_;
  const std::string worker_path_;
  int listener_ = -1;
  std::atomic<bool> is_black_hole_{false};
  // Negative: never.
  std::atomic<int64_t> cut_after_{-1};
  std::atomic<int> cuts_{0};
  // Confined to the thread.
  std::list<Wire> wires_;
  std::unique_ptr<core::Thread> thread_;
};

}  // namespace penstock
