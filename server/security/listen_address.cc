#include "server/security/listen_address.h"

#include "core/base/error.h"
#include "core/base/loopback.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace penstock::server {

bool IsUnixAddress(absl::string_view address) {
  return absl::StartsWith(address, "unix:");
}

absl::Status CheckListenAddress(absl::string_view address, bool insecure) {
  if (IsUnixAddress(address) || insecure) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) {
    return core::MakeError(core::Reason::INVALID_CONFIG,
                           absl::StrCat("reading --listen `", address,
                                        "`: give `host:port` or `unix:/path`"),
                           {{"field", "listen"}});
  }
  const absl::string_view host = address.substr(0, colon);
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
