#include "server/security/tls.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/rate_limit.h"
#include "core/base/status_macros.h"
#include "core/tls/certificate.h"
#include "server/security/listen_address.h"
#include "server/security/role.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <utility>

namespace penstock::server {
namespace {

constexpr size_t kPemBytesMax = size_t{1} << 20;
constexpr unsigned kReloadSeconds = 1;
constexpr char kNames[] = "x509_subject_alternative_name";

// Lets a call through if the caller's certificate has a role for its method.
// It stands before the services, so no method can forget to ask.
//
// Owner:   shared by the credentials and whoever made them. Constant.
// Threads: thread-safe. Blocks: never.
class RoleGuard final : public grpc::AuthMetadataProcessor {
 public:
  explicit RoleGuard(std::vector<RoleGrant> grants)
      : grants_(std::move(grants)), refusals_(10, absl::Minutes(1)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata,
                       grpc::AuthContext* context, OutputMetadata* /*consumed*/,
                       OutputMetadata* /*response*/) override {
    const auto path = metadata.find(":path");
    const std::string method =
        path == metadata.end()
            ? ""
            : std::string(path->second.data(), path->second.size());
    std::vector<std::string> names;
    for (const grpc::string_ref& name : context->FindPropertyValues(kNames)) {
      names.emplace_back(name.data(), name.size());
    }
    const RoleSet needed = RolesFor(method);
    const RoleSet held = RolesOf(grants_, names);
    if (held.Meets(needed)) return grpc::Status::OK;
    const std::string who =
        names.empty() ? "a caller without a named certificate"
                      : absl::StrCat("`", absl::StrJoin(names, "`, `"), "`");
    LOG_EVERY(WARNING, refusals_)
            .With("method", method)
            .With("caller", who)
            .With("reason", "PERMISSION_DENIED")
        << "a call was refused";
    return grpc::Status(
        grpc::StatusCode::PERMISSION_DENIED,
        absl::StrCat("calling ", method, ": it needs the role ",
                     needed.ToString(), "; ", who, " has ", held.ToString(),
                     "; a worker gives roles with --role"));
  }

 private:
  const std::vector<RoleGrant> grants_;
  core::RateLimit refusals_;
};

absl::Status Wrong(absl::string_view field, absl::string_view text) {
  return core::MakeError(core::Reason::INVALID_CONFIG, text,
                         {{"field", std::string(field)}});
}

absl::StatusOr<std::string> ReadPem(core::FileSystem& files,
                                    absl::string_view option,
                                    const std::string& path) {
  auto text = files.ReadFile(path, kPemBytesMax);
  if (text.ok()) return text;
  return Wrong(option, absl::StrCat("reading --", option, ": ",
                                    text.status().message()));
}

absl::Status CheckTogether(absl::string_view listen,
                           const TlsOptions& options) {
  if (!options.enabled()) {
    if (options.private_key.empty() && options.client_ca.empty() &&
        options.roles.empty()) {
      return absl::OkStatus();
    }
    return Wrong("tls-cert",
                 "--tls-key, --tls-client-ca and --role go with --tls-cert: "
                 "over plaintext nobody can be told from another");
  }
  if (IsUnixAddress(listen)) {
    return Wrong("tls-cert",
                 "a Unix socket is plaintext, kept by the permissions of its "
                 "directory; leave --tls-cert out, or listen on host:port");
  }
  if (options.private_key.empty()) {
    return Wrong("tls-key", "--tls-cert needs --tls-key");
  }
  if (options.roles.empty()) {
    return Wrong("role",
                 "with TLS say who may do what: --role controller=NAME, "
                 "operator=NAME, observer=NAME, NAME being a subject "
                 "alternative name of a caller's certificate, or * for "
                 "everybody");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RoleGrant>> ReadGrants(const TlsOptions& options) {
  std::vector<RoleGrant> grants;
  for (const std::string& text : options.roles) {
    ASSIGN_OR_RETURN(RoleGrant grant, ParseRoleGrant(text));
    if (options.client_ca.empty() && grant.name != "*") {
      return Wrong("tls-client-ca",
                   absl::StrCat("--role ", text,
                                " names a certificate, but none is asked for; "
                                "give --tls-client-ca"));
    }
    grants.push_back(std::move(grant));
  }
  return grants;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    core::FileSystem& files, absl::string_view listen, bool insecure,
    const TlsOptions& options) {
  RETURN_IF_ERROR(CheckTogether(listen, options));
  if (!options.enabled()) {
    RETURN_IF_ERROR(CheckListenAddress(listen, insecure));
    return grpc::InsecureServerCredentials();
  }
  ASSIGN_OR_RETURN(std::vector<RoleGrant> grants, ReadGrants(options));
  RETURN_IF_ERROR(CheckTlsFiles(files, options));
  const auto end = CertificateEnd(files, options);
  if (end.has_value() && *end < core::RealClock().Now()) {
    LOG(WARNING).With("not_after", absl::FormatTime(*end))
        << "the worker's certificate has expired: nobody who checks it will "
           "connect until the file is replaced";
  }
  grpc::experimental::TlsServerCredentialsOptions tls(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          options.private_key, options.certificate, options.client_ca,
          kReloadSeconds));
  tls.watch_identity_key_cert_pairs();
  if (!options.client_ca.empty()) {
    tls.watch_root_certs();
    tls.set_cert_request_type(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  auto credentials = grpc::experimental::TlsServerCredentials(tls);
  credentials->SetAuthMetadataProcessor(
      std::make_shared<RoleGuard>(std::move(grants)));
  return credentials;
}

absl::Status CheckTlsFiles(core::FileSystem& files, const TlsOptions& options) {
  ASSIGN_OR_RETURN(const std::string chain,
                   ReadPem(files, "tls-cert", options.certificate));
  ASSIGN_OR_RETURN(const std::string key,
                   ReadPem(files, "tls-key", options.private_key));
  if (const absl::Status pair = core::CheckKeyPair(chain, key); !pair.ok()) {
    return Wrong("tls-cert",
                 absl::StrCat("using ", options.certificate, " and ",
                              options.private_key, ": ", pair.message()));
  }
  if (options.client_ca.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string authorities,
                   ReadPem(files, "tls-client-ca", options.client_ca));
  if (const auto ca = core::ReadCertificate(authorities); !ca.ok()) {
    return Wrong("tls-client-ca", absl::StrCat("using ", options.client_ca,
                                               ": ", ca.status().message()));
  }
  return absl::OkStatus();
}

std::optional<absl::Time> CertificateEnd(core::FileSystem& files,
                                         const TlsOptions& options) {
  if (!options.enabled()) return std::nullopt;
  const auto chain = files.ReadFile(options.certificate, kPemBytesMax);
  if (!chain.ok()) return std::nullopt;
  const auto dates = core::ReadCertificate(*chain);
  if (!dates.ok()) return std::nullopt;
  return dates->not_after;
}

}  // namespace penstock::server
