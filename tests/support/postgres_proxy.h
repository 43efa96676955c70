// A wire between a client of PostgreSQL and its server that a test can cut and
// hold.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "tests/support/temp_dir.h"

#include <absl/base/thread_annotations.h>
#include <absl/functional/any_invocable.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace penstock::core {

// Forwards sessions on a Unix socket of its own to a server's. It knows where a
// client's statements and a server's answers end, and no more of the protocol:
// no TLS.
//
// Threads:   thread-safe; the script runs on the proxy's own thread.
// Lifecycle: open from construction to destruction.
// Bound:     what a statement and its answer hold.
class PostgresProxy {
 public:
  enum class Deed {
    kForward,
    // The statement never reaches the server.
    kCut,
    // The server carries it out, and the client never hears of it.
    kCutAnswer,
    // It is on its way until ReleaseHeld, whatever the client does meanwhile.
    kHold,
    // The server has the first half of it until ReleaseHeld.
    kHoldHalf,
    // Neither side hears of the other until ReleaseHeld: the client's process
    // is stopped just before it.
    kStop,
  };
  struct Statement {
    // Of all sessions since SetScript, from 1.
    uint64_t number = 0;
    // The process id of the session's backend.
    int32_t backend = 0;
  };
  using Script = absl::AnyInvocable<Deed(const Statement&)>;

  // `server_directory`: where the server's socket is.
  explicit PostgresProxy(const std::string& server_directory);
  PostgresProxy(const PostgresProxy&) = delete;
  PostgresProxy& operator=(const PostgresProxy&) = delete;
  ~PostgresProxy();

  // The host to connect to.
  const std::string& directory() const { return directory_.path(); }

  // What is asked before each statement; null: all are forwarded.
  void SetScript(Script script) ABSL_LOCKS_EXCLUDED(mu_);
  // How many statements came since SetScript.
  uint64_t statements() const ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: until a statement is held.
  void WaitForHeld() ABSL_LOCKS_EXCLUDED(mu_);
  // Sends on what is held. Blocks: until the server has answered it, except
  // where the client was stopped and hears the answer itself.
  void ReleaseHeld() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // One session.
  struct Wire;

  void Loop(const std::stop_token& stop);
  void Accept();
  void ReadClient(Wire& wire);
  void ReadServer(Wire& wire);
  // Sends on the statement of `bytes` bytes that `wire` has whole.
  void PassStatement(Wire& wire, size_t bytes);
  void Release();
  void Wake();

  const TempDir directory_;
  const std::string server_path_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};

  mutable Mutex mu_;
  CondVar changed_;
  Script script_ ABSL_GUARDED_BY(mu_);
  uint64_t statements_ ABSL_GUARDED_BY(mu_) = 0;
  int held_ ABSL_GUARDED_BY(mu_) = 0;
  bool release_ ABSL_GUARDED_BY(mu_) = false;

  // Confined to the thread.
  std::list<Wire> wires_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace penstock::core
