#include "core/tls/certificate.h"

#include "core/base/error.h"
#include "tests/support/certificates.h"
#include "tests/support/status_matchers.h"

#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(CertificateTest, DatesAreRead) {
  FakeAuthority authority("a");
  const PemPair pair = authority.Issue({"DNS:w"}, absl::Hours(5));
  const auto dates = ReadCertificate(pair.certificate);
  ASSERT_OK(dates);
  EXPECT_EQ(dates->not_after - dates->not_before, absl::Hours(29));
  EXPECT_GT(dates->not_after, absl::Now() + absl::Hours(4));
}

TEST(CertificateTest, WhatIsNoneIsRefused) {
  EXPECT_THAT(ReadCertificate(""), HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(ReadCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n"),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(CertificateTest, KeyMustBeThatOfTheCertificate) {
  FakeAuthority authority("a");
  const PemPair pair = authority.Issue({"DNS:w"});
  const PemPair other = authority.Issue({"DNS:w"});
  EXPECT_OK(CheckKeyPair(pair.certificate, pair.private_key));
  EXPECT_THAT(CheckKeyPair(pair.certificate, other.private_key),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(CheckKeyPair(pair.certificate, pair.certificate),
              HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::core
