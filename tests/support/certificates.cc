#include "tests/support/certificates.h"

#include "core/base/check.h"

#include <absl/strings/str_join.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace penstock::core {
namespace {

// NOLINTNEXTLINE(google-runtime-int): OpenSSL's type
constexpr long kDaySeconds = 24 * 3600;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* it) const { X509_EXTENSION_free(it); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

template <typename Write>
std::string Pem(Write write) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  CHECK_EQ(write(bio.get()), 1);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string PemOf(X509* certificate) {
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

void Extend(X509* certificate, int nid, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
  CHECK(extension != nullptr) << value;
  CHECK_EQ(X509_add_ext(certificate, extension.get(), -1), 1);
}

// Unsigned; its name is `name`.
Certificate Draft(const std::string& name, EVP_PKEY* key, long serial,
                  absl::Duration valid_for) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDaySeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()),
                  static_cast<long>(absl::ToInt64Seconds(valid_for)));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct FakeAuthority::Identity {
  Key key;
  Certificate certificate;
};

FakeAuthority::FakeAuthority(const std::string& name)
    : self_(std::make_unique<Identity>()) {
  self_->key = Key(EVP_EC_gen("P-256"));
  self_->certificate =
      Draft(name, self_->key.get(), serial_++, absl::Hours(24));
  X509* const certificate = self_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  Extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
  CHECK_GT(X509_sign(certificate, self_->key.get(), EVP_sha256()), 0);
  certificate_ = PemOf(certificate);
}

FakeAuthority::~FakeAuthority() = default;

PemPair FakeAuthority::Issue(const std::vector<std::string>& names,
                             absl::Duration valid_for) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate =
      Draft("issued", key.get(), serial_++, valid_for);
  X509_set_issuer_name(certificate.get(),
                       X509_get_subject_name(self_->certificate.get()));
  if (!names.empty()) {
    Extend(certificate.get(), NID_subject_alt_name, absl::StrJoin(names, ","));
  }
  CHECK_GT(X509_sign(certificate.get(), self_->key.get(), EVP_sha256()), 0);
  return {.certificate = PemOf(certificate.get()),
          .private_key = Pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0,
                                            nullptr, nullptr);
          })};
}

}  // namespace penstock::core
