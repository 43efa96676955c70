// One session with a PostgreSQL server. See core/pg/README.md.
#pragma once

#include "core/base/clock.h"
#include "core/pg/conninfo.h"
#include "core/pg/pg_result.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

// Of libpq, whose header stays in the .cc files.
struct pg_conn;

namespace penstock::core {

// A parameter ($1, $2 ...) of a statement. A plain value.
struct PgParam {
  static PgParam Null() { return {}; }
  // Of any type but bytea, in the form that the type reads. Without NUL bytes.
  static PgParam Text(absl::string_view text) {
    return {.value = std::string(text)};
  }
  static PgParam Int(int64_t value) { return {.value = std::to_string(value)}; }
  static PgParam Uint(uint64_t value) {
    return {.value = std::to_string(value)};
  }
  // Of type bytea.
  static PgParam Bytes(absl::string_view bytes) {
    return {.value = std::string(bytes), .is_bytes = true};
  }

  std::optional<std::string> value = std::nullopt;
  bool is_bytes = false;
};

struct PgOptions {
  // At most 63 bytes.
  std::string application_name = {};
  // The server's own limits, as session settings; zero: none.
  absl::Duration statement_timeout = absl::ZeroDuration();
  absl::Duration lock_timeout = absl::ZeroDuration();
  absl::Duration idle_in_transaction_timeout = absl::ZeroDuration();
  // Every statement finds its rows by an index, whatever the server believes of
  // tables that it has not looked at for long.
  bool by_index = false;
};

// Names a session of a server for as long as that server runs; a process id
// alone is soon somebody else's.
struct PgSession {
  int32_t pid = 0;
  int64_t started_us = 0;
  friend bool operator==(const PgSession&, const PgSession&) = default;
};

// Every call ends at its deadline, a steady time of `clock`. When one passes,
// or the server goes away, the session is closed here at once and what it was
// doing may go on over there for a moment (see EndSessions): the outcome of a
// COMMIT is then unknown. One thing blocks beyond it: looking up a host's name,
// which libpq does while it connects.
//
// Text is UTF-8, times are ISO in UTC, commits are durable when confirmed: also
// at the standbys that the server waits for. A commit whose wait for them was
// cancelled over there is one of unknown outcome, UNAVAILABLE, and closes the
// session, though the server calls it a success.
//
// Threads:   confined to one thread at a time. Lifetime: `clock` outlives it.
// Lifecycle: connected at birth; closed by an error of the connection, never
//            connected again. An error of a statement leaves it usable, with
//            the transaction aborted if there was one: see Reset.
// Bound:     256 KiB of data not yet sent, and what a statement answers.
// Errors:    as MakePgError; DEADLINE; INVALID_REQUEST for wrong use.
class PgConnection {
 public:
  // Errors also: INVALID_CONFIG.
  static absl::StatusOr<std::unique_ptr<PgConnection>> Connect(
      const Conninfo& conninfo, const PgOptions& options, const Clock& clock,
      absl::Time deadline);
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;
  // Closes; a transaction that is open is rolled back. Blocks: never.
  ~PgConnection();

  // One statement.
  absl::StatusOr<PgResult> Exec(absl::string_view sql,
                                std::span<const PgParam> params,
                                absl::Time deadline);
  // Statements without parameters, separated by semicolons; ends at the first
  // error. The result is the last one's.
  absl::StatusOr<PgResult> Exec(absl::string_view sql, absl::Time deadline);

  // `sql` ends with a COPY … FROM STDIN, which then waits for data.
  absl::Status BeginCopy(absl::string_view sql, absl::Time deadline);
  // An error of the rows shows at EndCopy only, or never before it.
  absl::Status PutCopyData(absl::string_view data, absl::Time deadline);
  // The number of rows taken.
  absl::StatusOr<uint64_t> EndCopy(absl::Time deadline);

  // COMMIT, with ROLLBACK for an answer taken as the error that it is.
  absl::Status Commit(absl::Time deadline);
  // Leaves COPY and transaction, whatever their state. On an error the
  // connection is closed, which does the same.
  absl::Status Reset(absl::Time deadline);

  // False: closed.
  bool is_open() const { return connection_ != nullptr; }
  bool in_transaction() const;
  bool in_copy() const { return in_copy_; }
  const PgSession& session() const { return session_; }
  // As the server says, e.g. 150018.
  int server_version() const;
  void Close();

  // `name` as an identifier, quoted.
  static std::string QuoteIdentifier(absl::string_view name);
  // `text` as a literal, quoted. Requires: no NUL byte.
  static std::string QuoteLiteral(absl::string_view text);

 private:
  PgConnection(Conninfo conninfo, const Clock& clock, pg_conn* connection)
      : conninfo_(std::move(conninfo)),
        clock_(clock),
        connection_(connection) {}

  struct Interest {
    bool read = false;
    bool write = false;
  };
  // Waits until the socket can do what is asked. False: the deadline passed.
  bool Wait(Interest interest, absl::Time deadline);
  absl::Status Establish(absl::Time deadline);
  absl::Status SetUp(const PgOptions& options, absl::Time deadline);
  absl::Status CheckIdle() const;
  absl::Status Flush(absl::Time deadline);
  absl::Status CheckPeer();
  // Of what was sent: the last result, or the first error. Stops at COPY.
  absl::StatusOr<PgResult> Collect(absl::Time deadline);
  // Counts those that say a commit was not confirmed by its standbys.
  static void Notice(void* connection, const pg_result* notice);
  // The next result; null: there is none.
  absl::StatusOr<pg_result*> Next(absl::Time deadline);
  absl::Status ResultError(const pg_result* result) const;
  // libpq's own error; closes.
  absl::Status Lost();
  absl::Status Late(absl::string_view doing);

  const Conninfo conninfo_;
  const Clock& clock_;
  pg_conn* connection_;
  PgSession session_;
  bool in_copy_ = false;
  // A commit of the statements under way is not known to be at the standbys.
  bool unreplicated_ = false;
};

}  // namespace penstock::core
