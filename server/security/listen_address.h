// Which addresses a worker without TLS may listen on (rule 16).
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

namespace penstock::server {

bool IsUnixAddress(absl::string_view address);

// OK for a Unix socket, or a host with a port that exists: of any other number
// the lower 16 bits would be taken. `option` is what the message tells to
// change. Errors: INVALID_CONFIG, with the remedy.
absl::Status CheckListenPort(absl::string_view address,
                             absl::string_view option);

// OK for a Unix socket, a loopback address, or anything if `insecure`.
// Errors: INVALID_CONFIG, with the remedy.
absl::Status CheckListenAddress(absl::string_view address, bool insecure);

}  // namespace penstock::server
