#include "core/pg/pg_session.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <array>
#include <string>

namespace penstock::core {
namespace {

// "{1,2}"
std::string PidArray(std::span<const PgSession> sessions) {
  return absl::StrCat("{",
                      absl::StrJoin(sessions, ",",
                                    [](std::string* out, const PgSession& s) {
                                      absl::StrAppend(out, s.pid);
                                    }),
                      "}");
}

std::string StartArray(std::span<const PgSession> sessions) {
  return absl::StrCat("{",
                      absl::StrJoin(sessions, ",",
                                    [](std::string* out, const PgSession& s) {
                                      absl::StrAppend(out, s.started_us);
                                    }),
                      "}");
}

}  // namespace

absl::Status EndSessions(PgConnection& connection,
                         std::span<const PgSession> sessions,
                         absl::Time deadline) {
  if (sessions.empty()) return absl::OkStatus();
  // Asked again until none is left, for a session may be past the point where
  // it looks for such a request; the server does the waiting between.
  static constexpr absl::string_view kSql =
      "SELECT count(pg_terminate_backend(a.pid)), max(a.pid),"
      " CASE WHEN count(*) > 0 THEN pg_sleep(0.02) END"
      " FROM pg_stat_activity a"
      " JOIN unnest($1::int[], $2::bigint[]) AS s (pid, started)"
      "   ON a.pid = s.pid"
      "  AND (extract(epoch FROM a.backend_start) * 1000000)::bigint"
      "      = s.started";
  const std::array params = {PgParam::Text(PidArray(sessions)),
                             PgParam::Text(StartArray(sessions))};
  while (true) {
    ASSIGN_OR_RETURN(const PgResult result,
                     connection.Exec(kSql, params, deadline),
                     _ << "while ending sessions of an earlier writer; the "
                          "role needs pg_signal_backend if they are another "
                          "role's");
    ASSIGN_OR_RETURN(const int64_t left, result.Int64(0, 0));
    if (left == 0) return absl::OkStatus();
  }
}

}  // namespace penstock::core
