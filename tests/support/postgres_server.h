// A real PostgreSQL server of the test's own.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/pg/pg_connection.h"
#include "tests/support/temp_dir.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <string>

// Ends a test that needs a server where there is none: skips it out loud, or
// fails it if the environment has PENSTOCK_REQUIRE_POSTGRES=1, as test.sh says.
#define PENSTOCK_NEED_POSTGRES()                                        \
  if (const auto penstock_missing =                                     \
          ::penstock::core::PostgresServer::Missing();                  \
      penstock_missing.has_value()) {                                   \
    if (::penstock::core::PostgresServer::IsRequired()) {               \
      FAIL() << *penstock_missing;                                      \
    }                                                                   \
    GTEST_SKIP() << "NO POSTGRESQL, NOT TESTED: " << *penstock_missing; \
  }

namespace penstock::core {

// Listens on a Unix socket in a directory of its own, on no port. Everybody who
// reaches it is its superuser "postgres". It syncs nothing. It ends with this
// object, and also when the thread that made it dies in whatever way.
//
// Threads:   confined to the thread that made it.
// Lifecycle: running from construction to destruction, but for Stop and Start.
// Bound:     one process tree; the last 64 KiB of its log.
class PostgresServer {
 public:
  // Why there can be none here; nullopt: there can.
  static std::optional<std::string> Missing();
  static bool IsRequired();
  // The one of this test program, made when first asked for, ended when the
  // program exits. Requires: Missing() has no value.
  static PostgresServer& Shared();

  // Requires: Missing() has no value. Fails hard, with the server's log, when
  // it does not start within a minute.
  // With a `primary` it is a standby of that one, by streaming replication
  // under the application name "walreceiver", and begins as its copy.
  explicit PostgresServer(const PostgresServer* primary = nullptr);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // A new, empty database: the connection string to it.
  std::string MakeDatabase();
  std::string ConninfoOf(absl::string_view database) const;
  // A session of `conninfo` for the test's own use. Fails hard.
  static std::unique_ptr<PgConnection> Connect(absl::string_view conninfo);

  // As a crash ends it: without a word to its clients, recovery at Start.
  void StopAtOnce();
  void Start();

  // A standby becomes a server of its own, with what it has received.
  void Promote();

  // Where its socket is.
  const std::string& directory() const { return directory_.path(); }
  std::string log() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Empty, as initdb makes it, or of a running server.
  void MakeCluster(const PostgresServer* primary);
  void Launch(int log_fd);
  void ReadLog(int fd) ABSL_LOCKS_EXCLUDED(mu_);
  void Reap();

  const TempDir directory_;
  int pid_ = 0;
  uint64_t databases_ = 0;

  mutable Mutex mu_;
  CondVar changed_;
  std::string log_ ABSL_GUARDED_BY(mu_);
  bool ready_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Ends when nobody can write to the log any more.
  std::unique_ptr<Thread> reader_;
};

}  // namespace penstock::core
