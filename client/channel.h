// The connection to one worker.
// See client/README.md and `protocol.md` rules 16, 17.
#pragma once

#include "client/tls_files.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <memory>

namespace grpc {
class Channel;
}  // namespace grpc

namespace penstock::client {

struct ChannelOptions {
  // Back-off between attempts to connect: it starts here, 50 to 200 ms, and
  // doubles. It ends soon: a worker that was replaced after an hour is found as
  // quickly as one that was restarted at once, and a refused attempt costs next
  // to nothing.
  absl::Duration reconnect_initial = absl::Milliseconds(100);
  absl::Duration reconnect_max = absl::Milliseconds(400);
  // Plaintext to anything but this host: without this, or TLS, such a target is
  // refused.
  bool insecure = false;
  // TLS to every target but Unix sockets, which are plaintext.
  TlsFiles tls;
};

// Makes a channel that connects at the first call, and again whenever it is
// needed. Blocks: never; with TLS as the disk does.
// Shape:  `target` is `unix:/path`, `host:port` or `dns:///host:port`.
// Errors: INVALID_CONFIG: another form, plaintext that is not allowed, or files
//         for TLS that cannot be used.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    absl::string_view target, const ChannelOptions& options = {});

// OK if `target` has one of the forms above. Errors: INVALID_CONFIG.
absl::Status CheckTarget(absl::string_view target);

// Whether `target` stays on this host: a Unix socket or a loopback address.
bool IsLocalTarget(absl::string_view target);

}  // namespace penstock::client
