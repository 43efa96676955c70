#include "client/credentials.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/status_macros.h"
#include "core/tls/certificate.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>

namespace penstock::client {
namespace {

constexpr size_t kPemBytesMax = size_t{1} << 20;
constexpr unsigned kReloadSeconds = 1;

absl::Status Wrong(absl::string_view text) {
  return core::MakeError(core::Reason::INVALID_CONFIG, text,
                         {{"field", "tls"}});
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  auto text = core::PosixFileSystem().ReadFile(path, kPemBytesMax);
  if (text.ok()) return text;
  return Wrong(
      absl::StrCat("reading a file for TLS: ", text.status().message()));
}

absl::Status CheckFiles(const TlsFiles& files) {
  ASSIGN_OR_RETURN(const std::string authorities, ReadPem(files.ca));
  if (const auto ca = core::ReadCertificate(authorities); !ca.ok()) {
    return Wrong(
        absl::StrCat("using ", files.ca, " for TLS: ", ca.status().message()));
  }
  if (files.certificate.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string chain, ReadPem(files.certificate));
  ASSIGN_OR_RETURN(const std::string key, ReadPem(files.private_key));
  if (const absl::Status pair = core::CheckKeyPair(chain, key); !pair.ok()) {
    return Wrong(absl::StrCat("using ", files.certificate, " and ",
                              files.private_key, " for TLS: ", pair.message()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const TlsFiles& files) {
  if (!files.enabled()) {
    if (files.certificate.empty() && files.private_key.empty() &&
        files.server_name.empty()) {
      return grpc::InsecureChannelCredentials();
    }
    return Wrong(
        "TLS needs the file of the authorities that workers' "
        "certificates come from (--tls-ca, tls.ca)");
  }
  if (files.certificate.empty() != files.private_key.empty()) {
    return Wrong(
        "a certificate and its private key go together (--tls-cert "
        "and --tls-key, tls.certificate and tls.private_key)");
  }
  RETURN_IF_ERROR(CheckFiles(files));
  grpc::experimental::TlsChannelCredentialsOptions tls;
  tls.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          files.private_key, files.certificate, files.ca, kReloadSeconds));
  tls.watch_root_certs();
  if (!files.certificate.empty()) tls.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(tls);
}

}  // namespace penstock::client
