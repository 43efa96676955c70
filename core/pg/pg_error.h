// What PostgreSQL's errors mean to us: one table by SQLSTATE.
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <optional>
#include <string>

namespace penstock::core {

// As the server sent them; empty where it sent none.
struct PgErrorFields {
  // Five characters; empty: libpq's own error, which is about the connection.
  std::string sqlstate;
  std::string message;
  std::string detail;
  std::string hint;
  // Where in COPY or in a function it happened.
  std::string context;
};

// Retryable are UNAVAILABLE, DEADLINE and STORAGE_FULL; about a row is
// ROW_REFUSED; all else is fatal to a sink.
// Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
Reason ReasonOfSqlState(absl::string_view sqlstate);

// "postgresql: <message> (SQLSTATE 23505); <detail>; <hint>; <context>", each
// part cut to a cap, for they may quote rows. Metadata: "sqlstate" and, if
// there is one, "context", uncut up to the same cap.
absl::Status MakePgError(const PgErrorFields& fields);

// An error of a statement that sent no rows: a value or a constraint that is in
// its way is not about any of them, but for a person to mend, INVALID_REQUEST.
absl::Status NotOfARow(const absl::Status& error);

// The SQLSTATE of an error that MakePgError made; nullopt: another error.
std::optional<std::string> SqlStateOf(const absl::Status& error);
// Its context; empty: it has none.
std::string PgContextOf(const absl::Status& error);

}  // namespace penstock::core
