// Certificates and keys as files hold them (PEM), looked at before they are
// used.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

namespace penstock::core {

// What a chain says of its owner. A plain value.
struct CertificateDates {
  absl::Time not_before;
  absl::Time not_after;
};

// Reads the first certificate of `chain`.
// Errors: INVALID_CONFIG: it holds none that can be read.
absl::StatusOr<CertificateDates> ReadCertificate(absl::string_view chain);

// Whether the private key `key` is that of the first certificate of `chain`.
// The key appears in no error (INV-10).
// Errors: INVALID_CONFIG: one of them cannot be read, the key has a pass
// phrase, or they do not belong together.
absl::Status CheckKeyPair(absl::string_view chain, absl::string_view key);

}  // namespace penstock::core
