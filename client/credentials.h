// What a channel uses: plaintext or TLS.
#pragma once

#include "client/tls_files.h"

#include <absl/status/statusor.h>

#include <memory>

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace penstock::client {

// TLS by `files`; plaintext if they are not enabled. Blocks: as the disk does.
// Errors: INVALID_CONFIG: files that cannot be used, or that are not together.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const TlsFiles& files);

}  // namespace penstock::client
