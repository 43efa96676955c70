#include "client/controller/postgres_link.h"

#include "core/base/error.h"
#include "core/pg/pg_error.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::client {
namespace {

using core::Reason;

constexpr size_t kApplicationNameBytesMax = 63;

}  // namespace

std::string PostgresPlace::name() const {
  return absl::StrCat("postgresql://", conninfo.Get("host"), "/",
                      conninfo.Get("dbname"), ", pipeline '", pipeline, "'");
}

absl::StatusOr<core::PgConnection*> PostgresLink::Use(absl::Time deadline) {
  if (connection_ != nullptr && connection_->in_transaction()) Drop();
  if (connection_ != nullptr && connection_->is_open()) {
    return connection_.get();
  }
  Drop();
  auto made = core::PgConnection::Connect(
      place_.conninfo,
      {.application_name =
           absl::StrCat("penstock ", purpose_, " ", place_.pipeline)
               .substr(0, kApplicationNameBytesMax),
       .statement_timeout = place_.call_deadline,
       .lock_timeout = place_.call_deadline / 2,
       .idle_in_transaction_timeout = place_.call_deadline,
       .by_index = true},
      *place_.clock, deadline);
  if (!made.ok()) return made.status();
  connection_ = *std::move(made);
  return connection_.get();
}

absl::Status PostgresLink::Explain(const absl::Status& error) const {
  if (error.ok()) return error;
  const std::string message =
      absl::StrCat("using the store ", place_.name(), ": ", error.message());
  const auto info = core::GetErrorInfo(error);
  if (!info.has_value()) return core::MakeError(Reason::INTERNAL, message);
  switch (info->reason) {
    case Reason::DEADLINE:
      return core::MakeError(Reason::UNAVAILABLE, message, info->metadata);
    case Reason::NOT_FOUND:
    case Reason::INVALID_REQUEST:
    case Reason::ALREADY_EXISTS:
    case Reason::ROW_REFUSED: {
      const std::optional<std::string> sqlstate = core::SqlStateOf(error);
      // No such database: nothing was looked at yet.
      if (!sqlstate.has_value() || *sqlstate == "3D000") break;
      return core::MakeError(
          Reason::STATE_DAMAGED,
          absl::StrCat(message,
                       "; its tables or rows are not those that this program "
                       "made: restore them from a backup"),
          info->metadata);
    }
    default:
      break;
  }
  return core::MakeError(info->reason, message, info->metadata);
}

}  // namespace penstock::client
