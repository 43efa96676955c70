#include "core/pg/pg_result.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <libpq-fe.h>

namespace penstock::core {
namespace {

absl::Status NotA(absl::string_view what) {
  return MakeError(Reason::INTERNAL,
                   absl::StrCat("postgresql: a value is not ", what));
}

}  // namespace

PgResult::PgResult(pg_result* result) : result_(result) {
  CHECK(result != nullptr);
}

void PgResult::Clear::operator()(pg_result* result) const { PQclear(result); }

size_t PgResult::rows() const {
  return static_cast<size_t>(PQntuples(result_.get()));
}

size_t PgResult::columns() const {
  return static_cast<size_t>(PQnfields(result_.get()));
}

uint64_t PgResult::affected() const {
  uint64_t count = 0;
  // Empty for a command that changes no rows.
  return absl::SimpleAtoi(PQcmdTuples(result_.get()), &count) ? count : 0;
}

absl::string_view PgResult::command() const {
  return PQcmdStatus(result_.get());
}

bool PgResult::IsNull(size_t row, size_t column) const {
  CHECK_LT(row, rows());
  CHECK_LT(column, columns());
  return PQgetisnull(result_.get(), static_cast<int>(row),
                     static_cast<int>(column)) != 0;
}

absl::string_view PgResult::Text(size_t row, size_t column) const {
  CHECK_LT(row, rows());
  CHECK_LT(column, columns());
  const int r = static_cast<int>(row);
  const int c = static_cast<int>(column);
  return {PQgetvalue(result_.get(), r, c),
          static_cast<size_t>(PQgetlength(result_.get(), r, c))};
}

absl::StatusOr<int64_t> PgResult::Int64(size_t row, size_t column) const {
  int64_t value = 0;
  if (!absl::SimpleAtoi(Text(row, column), &value)) return NotA("an int64");
  return value;
}

absl::StatusOr<uint64_t> PgResult::Uint64(size_t row, size_t column) const {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(Text(row, column), &value)) return NotA("a uint64");
  return value;
}

bool PgResult::Bool(size_t row, size_t column) const {
  return Text(row, column) == "t";
}

absl::StatusOr<std::string> PgResult::Bytes(size_t row, size_t column) const {
  absl::string_view text = Text(row, column);
  // Sessions are set to bytea_output=hex: see pg_connection.cc.
  if (!absl::ConsumePrefix(&text, "\\x") || text.size() % 2 != 0) {
    return NotA("a bytea");
  }
  for (const char digit : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) {
      return NotA("a bytea");
    }
  }
  return absl::HexStringToBytes(text);
}

}  // namespace penstock::core
