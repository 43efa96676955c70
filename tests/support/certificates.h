// Certificates made by the test itself.
#pragma once

#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

struct PemPair {
  std::string certificate;
  std::string private_key;
};

// Issues certificates for keys of its own making.
// Owner: a test. Threads: confined to the test's.
class FakeAuthority {
 public:
  explicit FakeAuthority(const std::string& name);
  ~FakeAuthority();
  FakeAuthority(const FakeAuthority&) = delete;
  FakeAuthority& operator=(const FakeAuthority&) = delete;

  const std::string& certificate() const { return certificate_; }
  // `names`: subject alternative names, as OpenSSL writes them:
  // "DNS:a.example", "IP:127.0.0.1", "URI:spiffe://a/b". Valid from a day
  // before now until `valid_for` from now, which may be negative.
  PemPair Issue(const std::vector<std::string>& names,
                absl::Duration valid_for = absl::Hours(1));

 private:
  struct Identity;
  const std::unique_ptr<Identity> self_;
  std::string certificate_;
  long serial_ = 1;  // NOLINT(google-runtime-int): OpenSSL's type
};

}  // namespace penstock::core
