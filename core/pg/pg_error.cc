#include "core/pg/pg_error.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <array>
#include <cstddef>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kSqlState = "sqlstate";
constexpr absl::string_view kContext = "context";
// A message may quote a value, a detail a whole row: enough to find it again.
constexpr size_t kMessageBytesMax = 500;
constexpr size_t kPartBytesMax = 200;

struct SqlStateEntry {
  // A class (two characters), or a whole SQLSTATE, which wins over its class.
  absl::string_view prefix;
  Reason reason;
};
constexpr std::array kSqlStates = {
    // Connection trouble, conflicts of transactions, lack of resources, and a
    // server that goes down or has become a standby.
    SqlStateEntry{"08", Reason::UNAVAILABLE},
    SqlStateEntry{"25006", Reason::UNAVAILABLE},
    SqlStateEntry{"25P03", Reason::UNAVAILABLE},
    SqlStateEntry{"25P04", Reason::UNAVAILABLE},
    SqlStateEntry{"40", Reason::UNAVAILABLE},
    SqlStateEntry{"53", Reason::UNAVAILABLE},
    SqlStateEntry{"53100", Reason::STORAGE_FULL},
    SqlStateEntry{"55P03", Reason::UNAVAILABLE},
    SqlStateEntry{"57", Reason::UNAVAILABLE},
    SqlStateEntry{"57014", Reason::DEADLINE},
    SqlStateEntry{"57P04", Reason::NOT_FOUND},
    SqlStateEntry{"58030", Reason::UNAVAILABLE},
    // A value or a row that is refused, also by a trigger, a view's check, or
    // an index whose entries it does not fit into.
    SqlStateEntry{"22", Reason::ROW_REFUSED},
    SqlStateEntry{"23", Reason::ROW_REFUSED},
    SqlStateEntry{"44", Reason::ROW_REFUSED},
    SqlStateEntry{"54000", Reason::ROW_REFUSED},
    SqlStateEntry{"P0001", Reason::ROW_REFUSED},
    // What a person must mend.
    SqlStateEntry{"0A", Reason::UNSUPPORTED},
    SqlStateEntry{"28", Reason::UNAUTHENTICATED},
    SqlStateEntry{"3D", Reason::NOT_FOUND},
    SqlStateEntry{"3F", Reason::NOT_FOUND},
    SqlStateEntry{"42", Reason::INVALID_REQUEST},
    SqlStateEntry{"42501", Reason::PERMISSION_DENIED},
    SqlStateEntry{"42703", Reason::NOT_FOUND},
    SqlStateEntry{"42704", Reason::NOT_FOUND},
    SqlStateEntry{"42883", Reason::NOT_FOUND},
    SqlStateEntry{"42P01", Reason::NOT_FOUND},
    SqlStateEntry{"42P04", Reason::ALREADY_EXISTS},
    SqlStateEntry{"42P06", Reason::ALREADY_EXISTS},
    SqlStateEntry{"42P07", Reason::ALREADY_EXISTS},
    SqlStateEntry{"42710", Reason::ALREADY_EXISTS},
    SqlStateEntry{"XX001", Reason::STATE_DAMAGED},
    SqlStateEntry{"XX002", Reason::STATE_DAMAGED},
};

// Cuts between characters, not within one.
std::string Cut(absl::string_view text, size_t bytes_max) {
  text = absl::StripTrailingAsciiWhitespace(text);
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "...");
}

void AppendPart(const std::string& part, std::string& message) {
  if (part.empty()) return;
  absl::StrAppend(&message, "; ", Cut(part, kPartBytesMax));
}

std::string MetadataOf(const absl::Status& error, absl::string_view key) {
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  if (!info.has_value()) return "";
  const auto found = info->metadata.find(std::string(key));
  return found == info->metadata.end() ? "" : found->second;
}

}  // namespace

Reason ReasonOfSqlState(absl::string_view sqlstate) {
  // No answer of the server: the connection is at fault.
  if (sqlstate.empty()) return Reason::UNAVAILABLE;
  const SqlStateEntry* best = nullptr;
  for (const SqlStateEntry& entry : kSqlStates) {
    if (!absl::StartsWith(sqlstate, entry.prefix)) continue;
    if (best == nullptr || entry.prefix.size() > best->prefix.size()) {
      best = &entry;
    }
  }
  return best == nullptr ? Reason::INTERNAL : best->reason;
}

absl::Status MakePgError(const PgErrorFields& fields) {
  std::string message =
      absl::StrCat("postgresql: ", Cut(fields.message, kMessageBytesMax));
  ErrorMetadata metadata;
  if (!fields.sqlstate.empty()) {
    absl::StrAppend(&message, " (SQLSTATE ", fields.sqlstate, ")");
    metadata[std::string(kSqlState)] = fields.sqlstate;
  }
  AppendPart(fields.detail, message);
  AppendPart(fields.hint, message);
  AppendPart(fields.context, message);
  if (!fields.context.empty()) {
    metadata[std::string(kContext)] = Cut(fields.context, kPartBytesMax);
  }
  return MakeError(ReasonOfSqlState(fields.sqlstate), message,
                   std::move(metadata));
}

absl::Status NotOfARow(const absl::Status& error) {
  if (!HasReason(error, Reason::ROW_REFUSED)) return error;
  return MakeError(Reason::INVALID_REQUEST, error.message(),
                   GetErrorInfo(error)->metadata);
}

std::optional<std::string> SqlStateOf(const absl::Status& error) {
  std::string sqlstate = MetadataOf(error, kSqlState);
  if (sqlstate.empty()) return std::nullopt;
  return sqlstate;
}

std::string PgContextOf(const absl::Status& error) {
  return MetadataOf(error, kContext);
}

}  // namespace penstock::core
