#include "core/pg/pg_connection.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_error.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/strip.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kApplicationNameBytesMax = 63;
// libpq copies what it is given until it is sent.
constexpr size_t kCopyPieceBytes = size_t{256} << 10;
// pg_type.h of every version.
constexpr Oid kByteaOid = 17;

std::string Milliseconds(absl::Duration duration) {
  if (duration <= absl::ZeroDuration()) return "0";
  const int64_t ms = absl::ToInt64Milliseconds(duration);
  return absl::StrCat(std::clamp<int64_t>(ms, 1, INT32_MAX));
}

std::string Field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

// Before there is a session libpq keeps the SQLSTATE to itself, except in its
// verbose text: "FATAL:  28P01: password ..." and a second line.
PgErrorFields ParseVerbose(absl::string_view text) {
  PgErrorFields fields;
  text = text.substr(0, text.find("\nLOCATION:"));
  const size_t colon = text.rfind(":  ");
  fields.message = absl::StrReplaceAll(absl::StripAsciiWhitespace(text),
                                       {{"\n", " "}, {"\t", ""}});
  if (colon == absl::string_view::npos) return fields;
  const absl::string_view rest = text.substr(colon + 3);
  if (rest.size() < 7 || rest.substr(5, 2) != ": ") return fields;
  const absl::string_view sqlstate = rest.substr(0, 5);
  if (!std::all_of(sqlstate.begin(), sqlstate.end(), [](char c) {
        return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
               absl::ascii_isdigit(static_cast<unsigned char>(c));
      })) {
    return fields;
  }
  fields.sqlstate = std::string(sqlstate);
  fields.message = std::string(absl::StripAsciiWhitespace(rest.substr(7)));
  return fields;
}

absl::Status Misuse(absl::string_view what) {
  return MakeError(Reason::INVALID_REQUEST, absl::StrCat("postgresql: ", what));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Connect(
    const Conninfo& conninfo, const PgOptions& options, const Clock& clock,
    absl::Time deadline) {
  if (options.application_name.size() > kApplicationNameBytesMax) {
    return Misuse("an application_name has at most 63 bytes");
  }
  // Later ones win: the first are defaults of ours, the last are not open to
  // choice: a standby, which may be behind, is no server of ours. A dead peer
  // is noticed within half a minute.
  static constexpr std::array kKeywords = {
      "keepalives_idle",  "keepalives_interval",
      "keepalives_count", "tcp_user_timeout",
      "dbname",           "application_name",
      "client_encoding",  "target_session_attrs"};
  const std::array values = {"10",
                             "5",
                             "3",
                             "25000",
                             conninfo.text().c_str(),
                             options.application_name.c_str(),
                             "UTF8",
                             "primary"};
  std::array<const char*, kKeywords.size() + 1> keywords = {};
  std::copy(kKeywords.begin(), kKeywords.end(), keywords.begin());
  std::array<const char*, values.size() + 1> ended = {};
  std::copy(values.begin(), values.end(), ended.begin());
  pg_conn* const raw = PQconnectStartParams(keywords.data(), ended.data(), 1);
  if (raw == nullptr) {
    return MakeError(Reason::INTERNAL, "postgresql: libpq has no memory");
  }
  std::unique_ptr<PgConnection> made(new PgConnection(conninfo, clock, raw));
  RETURN_IF_ERROR(made->Establish(deadline));
  RETURN_IF_ERROR(made->SetUp(options, deadline));
  return made;
}

PgConnection::~PgConnection() { Close(); }

void PgConnection::Close() {
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  in_copy_ = false;
}

bool PgConnection::Wait(Interest interest, absl::Time deadline) {
  pollfd socket = {.fd = PQsocket(connection_), .events = 0, .revents = 0};
  if (interest.read) socket.events |= POLLIN;
  if (interest.write) socket.events |= POLLOUT;
  while (true) {
    const absl::Duration left = deadline - clock_.SteadyNow();
    if (left <= absl::ZeroDuration()) return false;
    const int64_t ms =
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    const int ready =
        ::poll(&socket, 1, static_cast<int>(std::min<int64_t>(ms, INT_MAX)));
    if (ready > 0) return true;
    // libpq meets, and reports, what is wrong with the socket.
    if (ready < 0 && errno != EINTR) return true;
  }
}

absl::Status PgConnection::Establish(absl::Time deadline) {
  if (PQstatus(connection_) == CONNECTION_BAD) return Lost();
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  // As PQconnectPoll asks: first wait until the socket can be written.
  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (wanted != PGRES_POLLING_OK) {
    if (wanted == PGRES_POLLING_FAILED) {
      const bool needs_password = PQconnectionNeedsPassword(connection_) != 0;
      const absl::Status lost = Lost();
      if (!needs_password) return lost;
      return MakeError(Reason::UNAUTHENTICATED,
                       absl::StrCat(lost.message(),
                                    "; the server wants a password and the "
                                    "connection string has none"));
    }
    if (!Wait({.read = wanted == PGRES_POLLING_READING,
               .write = wanted == PGRES_POLLING_WRITING},
              deadline)) {
      return Late("connecting");
    }
    wanted = PQconnectPoll(connection_);
  }
  PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection_, 1) != 0) return Lost();
  PQsetNoticeReceiver(connection_, &PgConnection::Notice, this);
  return absl::OkStatus();
}

// Notices are for people at a terminal, all but one: whoever cancels a COMMIT
// that waits for its standbys gets a success with a warning.
// Source: SyncRepWaitForLSN in src/backend/replication/syncrep.c, all versions;
// the function's name is neither translated nor told by a user's code.
void PgConnection::Notice(void* connection, const pg_result* notice) {
  if (Field(notice, PG_DIAG_SOURCE_FUNCTION) != "SyncRepWaitForLSN") return;
  static_cast<PgConnection*>(connection)->unreplicated_ = true;
}

absl::Status PgConnection::SetUp(const PgOptions& options,
                                 absl::Time deadline) {
  // A role or a database may have been given other ones. A server that works on
  // a statement looks from time to time whether its client is still there,
  // where it can; commits are durable when confirmed.
  static constexpr absl::string_view kSql =
      "SELECT set_config('statement_timeout', $1, false),"
      " set_config('lock_timeout', $2, false),"
      " set_config('idle_in_transaction_session_timeout', $3, false),"
      " set_config('DateStyle', 'ISO, YMD', false),"
      " set_config('IntervalStyle', 'iso_8601', false),"
      " set_config('TimeZone', 'UTC', false),"
      " set_config('bytea_output', 'hex', false),"
      " set_config('client_min_messages', 'warning', false),"
      " set_config('standard_conforming_strings', 'on', false),"
      " set_config('default_transaction_isolation', 'read committed', false),"
      " set_config('default_transaction_read_only', 'off', false),"
      " set_config('enable_seqscan', CASE WHEN $4::boolean THEN 'off'"
      "   ELSE current_setting('enable_seqscan') END, false),"
      " set_config('enable_hashjoin', CASE WHEN $4::boolean THEN 'off'"
      "   ELSE current_setting('enable_hashjoin') END, false),"
      " set_config('enable_mergejoin', CASE WHEN $4::boolean THEN 'off'"
      "   ELSE current_setting('enable_mergejoin') END, false),"
      " (SELECT set_config('client_connection_check_interval', '2s', false)"
      "    FROM pg_settings WHERE name = 'client_connection_check_interval'),"
      " (SELECT set_config('synchronous_commit', 'on', false)"
      "    FROM pg_settings WHERE name = 'synchronous_commit'"
      "     AND setting = 'off'),"
      " (SELECT (extract(epoch FROM backend_start) * 1000000)::bigint"
      "    FROM pg_stat_activity WHERE pid = pg_backend_pid()),"
      " pg_backend_pid()";
  const std::array params = {
      PgParam::Text(Milliseconds(options.statement_timeout)),
      PgParam::Text(Milliseconds(options.lock_timeout)),
      PgParam::Text(Milliseconds(options.idle_in_transaction_timeout)),
      PgParam::Text(options.by_index ? "true" : "false")};
  ASSIGN_OR_RETURN(const PgResult result, Exec(kSql, params, deadline));
  const size_t last = result.columns() - 1;
  ASSIGN_OR_RETURN(session_.started_us, result.Int64(0, last - 1));
  ASSIGN_OR_RETURN(const int64_t pid, result.Int64(0, last));
  session_.pid = static_cast<int32_t>(pid);
  return absl::OkStatus();
}

absl::Status PgConnection::CheckIdle() const {
  if (!is_open()) {
    return MakeError(Reason::UNAVAILABLE,
                     "postgresql: the connection is closed");
  }
  if (in_copy_) return Misuse("a statement within COPY");
  return absl::OkStatus();
}

absl::StatusOr<PgResult> PgConnection::Exec(absl::string_view sql,
                                            std::span<const PgParam> params,
                                            absl::Time deadline) {
  RETURN_IF_ERROR(CheckIdle());
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const PgParam& param : params) {
    if (param.value.has_value() && !param.is_bytes &&
        param.value->find('\0') != std::string::npos) {
      return Misuse("a parameter has a NUL byte");
    }
    types.push_back(param.is_bytes ? kByteaOid : 0);
    values.push_back(param.value.has_value() ? param.value->data() : nullptr);
    lengths.push_back(
        param.value.has_value() ? static_cast<int>(param.value->size()) : 0);
    formats.push_back(param.is_bytes ? 1 : 0);
  }
  if (PQsendQueryParams(connection_, std::string(sql).c_str(),
                        static_cast<int>(params.size()), types.data(),
                        values.data(), lengths.data(), formats.data(),
                        /*resultFormat=*/0) == 0) {
    return Lost();
  }
  return Collect(deadline);
}

absl::StatusOr<PgResult> PgConnection::Exec(absl::string_view sql,
                                            absl::Time deadline) {
  RETURN_IF_ERROR(CheckIdle());
  if (PQsendQuery(connection_, std::string(sql).c_str()) == 0) return Lost();
  return Collect(deadline);
}

absl::Status PgConnection::BeginCopy(absl::string_view sql,
                                     absl::Time deadline) {
  RETURN_IF_ERROR(CheckIdle());
  if (PQsendQuery(connection_, std::string(sql).c_str()) == 0) return Lost();
  RETURN_IF_ERROR(Collect(deadline));
  if (!in_copy_) return Misuse("the statement is not COPY FROM STDIN");
  return absl::OkStatus();
}

absl::Status PgConnection::PutCopyData(absl::string_view data,
                                       absl::Time deadline) {
  if (!is_open() || !in_copy_) return Misuse("data outside of COPY");
  while (!data.empty()) {
    const size_t bytes = std::min(data.size(), kCopyPieceBytes);
    const int put =
        PQputCopyData(connection_, data.data(), static_cast<int>(bytes));
    if (put < 0) return Lost();
    if (put > 0) data.remove_prefix(bytes);
    RETURN_IF_ERROR(Flush(deadline));
    RETURN_IF_ERROR(CheckPeer());
  }
  return absl::OkStatus();
}

// A server that takes data says nothing until their end, unless it has met an
// error, whose text EndCopy will find, or gone away: then the rest is not sent.
absl::Status PgConnection::CheckPeer() {
  // An end of the stream may stand behind its last words.
  for (int reads = 0; reads < 2; ++reads) {
    pollfd socket = {
        .fd = PQsocket(connection_), .events = POLLIN, .revents = 0};
    if (::poll(&socket, 1, 0) <= 0) return absl::OkStatus();
    if (PQconsumeInput(connection_) == 0) return Lost();
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PgConnection::EndCopy(absl::Time deadline) {
  if (!is_open() || !in_copy_) return Misuse("the end of no COPY");
  int put = 0;
  while ((put = PQputCopyEnd(connection_, nullptr)) == 0) {
    RETURN_IF_ERROR(Flush(deadline));
  }
  if (put < 0) return Lost();
  in_copy_ = false;
  ASSIGN_OR_RETURN(const PgResult result, Collect(deadline));
  return result.affected();
}

absl::Status PgConnection::Commit(absl::Time deadline) {
  ASSIGN_OR_RETURN(const PgResult result, Exec("COMMIT", deadline));
  if (result.command() == "COMMIT") return absl::OkStatus();
  return MakeError(Reason::INTERNAL,
                   "postgresql: COMMIT of a transaction that had failed");
}

absl::Status PgConnection::Reset(absl::Time deadline) {
  if (!is_open()) return CheckIdle();
  absl::Status status;
  if (in_copy_) {
    while (PQputCopyEnd(connection_, "given up") == 0 && status.ok()) {
      status = Flush(deadline);
    }
    in_copy_ = false;
    // Its answer is the error that was just sent.
    if (status.ok()) Collect(deadline).IgnoreError();
  }
  if (is_open() && status.ok() && in_transaction()) {
    status = Exec("ROLLBACK", deadline).status();
  }
  if (is_open() && (!status.ok() || in_transaction())) Close();
  return is_open() ? absl::OkStatus() : CheckIdle();
}

bool PgConnection::in_transaction() const {
  return is_open() && PQtransactionStatus(connection_) != PQTRANS_IDLE;
}

int PgConnection::server_version() const {
  return is_open() ? PQserverVersion(connection_) : 0;
}

absl::Status PgConnection::Flush(absl::Time deadline) {
  while (true) {
    const int left = PQflush(connection_);
    if (left == 0) return absl::OkStatus();
    if (left < 0) return Lost();
    // A server that answers while it is being sent to must be read, or both
    // wait for each other.
    if (!Wait({.read = true, .write = true}, deadline)) return Late("sending");
    if (PQconsumeInput(connection_) == 0) return Lost();
  }
}

absl::StatusOr<pg_result*> PgConnection::Next(absl::Time deadline) {
  while (PQisBusy(connection_) != 0) {
    if (!Wait({.read = true}, deadline)) return Late("waiting for an answer");
    // An error here is met again, with the server's last words, by
    // PQgetResult.
    if (PQconsumeInput(connection_) == 0) break;
  }
  return PQgetResult(connection_);
}

absl::StatusOr<PgResult> PgConnection::Collect(absl::Time deadline) {
  RETURN_IF_ERROR(Flush(deadline));
  std::optional<PgResult> last;
  absl::Status error;
  while (true) {
    ASSIGN_OR_RETURN(pg_result* const result, Next(deadline));
    if (result == nullptr) break;
    last.emplace(result);
    switch (PQresultStatus(result)) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
      case PGRES_EMPTY_QUERY:
        break;
      case PGRES_COPY_IN:
        in_copy_ = true;
        return *std::move(last);
      case PGRES_COPY_OUT:
      case PGRES_COPY_BOTH:
        Close();
        return Misuse("COPY TO is not for this");
      default:
        // The first error counts: the others follow from it.
        if (error.ok()) error = ResultError(result);
    }
  }
  if (PQstatus(connection_) == CONNECTION_BAD) {
    if (error.ok()) return Lost();
    Close();
  }
  if (std::exchange(unreplicated_, false)) {
    Close();
    return MakeError(Reason::UNAVAILABLE,
                     "postgresql: the wait of a commit for its standbys was "
                     "cancelled; it stands at the server, and perhaps nowhere "
                     "else");
  }
  if (!error.ok()) return error;
  if (!last.has_value()) return Misuse("no statement");
  return *std::move(last);
}

absl::Status PgConnection::ResultError(const pg_result* result) const {
  PgErrorFields fields;
  fields.sqlstate = Field(result, PG_DIAG_SQLSTATE);
  fields.message = Field(result, PG_DIAG_MESSAGE_PRIMARY);
  fields.detail = Field(result, PG_DIAG_MESSAGE_DETAIL);
  fields.hint = Field(result, PG_DIAG_MESSAGE_HINT);
  fields.context = Field(result, PG_DIAG_CONTEXT);
  if (fields.message.empty()) {
    fields.message = absl::StrReplaceAll(PQresultErrorMessage(result),
                                         {{"\n", " "}, {"\t", ""}});
  }
  return MakePgError(fields);
}

absl::Status PgConnection::Lost() {
  PgErrorFields fields = ParseVerbose(PQerrorMessage(connection_));
  fields.message = conninfo_.Redact(fields.message);
  Close();
  return MakePgError(fields);
}

absl::Status PgConnection::Late(absl::string_view doing) {
  const char* const host = PQhost(connection_);
  const absl::Status status =
      MakeError(Reason::DEADLINE,
                conninfo_.Redact(absl::StrCat("postgresql: ", doing, " at ",
                                              host == nullptr ? "?" : host,
                                              ": the deadline has passed; the "
                                              "connection is given up")));
  Close();
  return status;
}

std::string PgConnection::QuoteIdentifier(absl::string_view name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

std::string PgConnection::QuoteLiteral(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

}  // namespace penstock::core
