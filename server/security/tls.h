// TLS on the gRPC port, and the door in front of every method (rule 16).
// See server/security/README.md.
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grpc {
class ServerCredentials;
}  // namespace grpc

namespace penstock::server {

// Paths of PEM files; read again every second, so that a certificate is renewed
// without a restart. A plain value.
struct TlsOptions {
  // The worker's chain, its own first. Empty: no TLS.
  std::string certificate;
  std::string private_key;
  // Authorities of callers' certificates. Empty: callers need none, and are
  // everybody.
  std::string client_ca;
  // `ROLE=NAME`, as ParseRoleGrant takes them. With TLS at least one.
  std::vector<std::string> roles;

  bool enabled() const { return !certificate.empty(); }
};

// What the port at `listen` uses: TLS with a check of every call, or plaintext
// where `insecure` or the address allows it.
// Blocks: as long as the disk does.
// Errors: INVALID_CONFIG: plaintext that is not allowed; options that belong
// together and are not together; files that cannot be used.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    core::FileSystem& files, absl::string_view listen, bool insecure,
    const TlsOptions& options);

// Whether certificate and key, as they lie in their files now, can be read and
// belong together, and the authorities can be read.
// Requires: enabled(). Errors: INVALID_CONFIG.
absl::Status CheckTlsFiles(core::FileSystem& files, const TlsOptions& options);

// When the certificate in the file runs out. nullopt: no TLS, or the file
// cannot be used now.
std::optional<absl::Time> CertificateEnd(core::FileSystem& files,
                                         const TlsOptions& options);

}  // namespace penstock::server
