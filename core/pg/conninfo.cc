#include "core/pg/conninfo.h"

#include "core/base/error.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <libpq-fe.h>

#include <cstdint>
#include <memory>

namespace penstock::core {
namespace {

absl::Status Malformed(absl::string_view why) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("postgresql: the connection string is not valid: ", why,
                   "; it is postgresql://user:password@host:port/database or "
                   "\"host=... dbname=...\", and in the first form @ : / ? # % "
                   "within a part are written as %40 %3A %2F %3F %23 %25"));
}

// An unquoted '@' or '/' of a password moves the rest of it into the host, the
// port or the database, whose values libpq's messages would show.
absl::Status CheckPlaces(const Conninfo& conninfo, Conninfo::Ports ports) {
  for (const absl::string_view host :
       absl::StrSplit(conninfo.Get("host"), ',')) {
    // A leading '@' is an abstract socket.
    if (absl::StrContains(host.substr(host.empty() ? 0 : 1), '@')) {
      return Malformed("there is an @ in the host");
    }
  }
  for (const absl::string_view port :
       absl::StrSplit(conninfo.Get("port"), ',')) {
    if (ports == Conninfo::Ports::kAny) break;
    uint32_t number = 0;
    if (!port.empty() &&
        (!absl::SimpleAtoi(port, &number) || number == 0 || number > 65'535)) {
      return Malformed("the port is not a number from 1 to 65535");
    }
  }
  if (absl::StrContains(conninfo.Get("dbname"), '@')) {
    return Malformed("there is an @ in the database's name");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Conninfo> Conninfo::Parse(absl::string_view text, Ports ports) {
  Conninfo made;
  made.text_ = std::string(text);
  if (made.text_.find('\0') != std::string::npos) {
    return Malformed("there is a NUL byte in it");
  }
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(made.text_.c_str(), &message), &PQconninfoFree);
  PQfreemem(message);
  if (options == nullptr) return Malformed("libpq cannot read it");
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (o->val == nullptr || *o->val == '\0') continue;
    made.values_.emplace_back(o->keyword, o->val);
    // What libpq tells dialogues to show as stars.
    if (absl::string_view(o->dispchar) == "*") made.secrets_.push_back(o->val);
  }
  if (absl::Status status = CheckPlaces(made, ports); !status.ok())
    return status;
  return made;
}

std::string Conninfo::Get(absl::string_view keyword) const {
  for (const auto& [key, value] : values_) {
    if (key == keyword) return value;
  }
  return "";
}

std::string Conninfo::Redact(absl::string_view message) const {
  std::string redacted(message);
  for (const std::string& secret : secrets_) {
    redacted = absl::StrReplaceAll(redacted, {{secret, "***"}});
  }
  return redacted;
}

}  // namespace penstock::core
