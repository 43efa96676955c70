#include "core/tls/certificate.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace penstock::core {
namespace {

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Deleter>;
using Certificate = std::unique_ptr<X509, Deleter>;
using Key = std::unique_ptr<EVP_PKEY, Deleter>;

Bio Reader(absl::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without it a key with a pass phrase asks the terminal.
int NoPassPhrase(char* /*buffer*/, int /*size*/, int /*writes*/,
                 void* /*user*/) {
  return -1;
}

absl::StatusOr<Certificate> ParseCertificate(absl::string_view chain) {
  Certificate certificate(
      PEM_read_bio_X509(Reader(chain).get(), nullptr, NoPassPhrase, nullptr));
  if (certificate != nullptr) return certificate;
  return MakeError(Reason::INVALID_CONFIG,
                   "it holds no certificate in PEM form (-----BEGIN "
                   "CERTIFICATE-----)");
}

absl::StatusOr<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return MakeError(Reason::INVALID_CONFIG,
                     "the certificate's dates cannot be read");
  }
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<CertificateDates> ReadCertificate(absl::string_view chain) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(chain));
  CertificateDates dates;
  ASSIGN_OR_RETURN(dates.not_before,
                   TimeOf(X509_get0_notBefore(certificate.get())));
  ASSIGN_OR_RETURN(dates.not_after,
                   TimeOf(X509_get0_notAfter(certificate.get())));
  return dates;
}

absl::Status CheckKeyPair(absl::string_view chain, absl::string_view key) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(chain));
  const Key private_key(PEM_read_bio_PrivateKey(Reader(key).get(), nullptr,
                                                NoPassPhrase, nullptr));
  if (private_key == nullptr) {
    return MakeError(Reason::INVALID_CONFIG,
                     "the private key is not in PEM form without a pass "
                     "phrase (-----BEGIN PRIVATE KEY-----)");
  }
  if (X509_check_private_key(certificate.get(), private_key.get()) != 1) {
    return MakeError(Reason::INVALID_CONFIG,
                     "the private key is not that of the certificate");
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
