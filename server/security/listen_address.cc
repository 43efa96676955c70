#include "server/security/listen_address.h"

#include "core/base/error.h"
#include "core/base/loopback.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::server {

bool IsUnixAddress(absl::string_view address) {
  return absl::StartsWith(address, "unix:");
}

absl::Status CheckListenPort(absl::string_view address,
                             absl::string_view option) {
  if (IsUnixAddress(address)) return absl::OkStatus();
  constexpr uint32_t kPortMax = 65535;
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon != absl::string_view::npos &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= kPortMax) {
    return absl::OkStatus();
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat(
          "reading ", option, " `", address,
          "`: give `unix:/path`, or `host:port` with a port from 1 to ",
          kPortMax, ", or 0 for one that is free"),
      {{"field", std::string(option)}});
}

absl::Status CheckListenAddress(absl::string_view address, bool insecure) {
  if (IsUnixAddress(address) || insecure) return absl::OkStatus();
  const absl::string_view host = address.substr(0, address.rfind(':'));
  if (core::IsLoopbackHost(host)) return absl::OkStatus();
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("listening on ", address,
                   " without TLS: everybody who reaches it could command this "
                   "worker; listen on loopback or a Unix socket, or say "
                   "--insecure if the network is trusted"),
      {{"field", "listen"}});
}

}  // namespace penstock::server
