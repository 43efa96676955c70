// Who gets a connection at all, and what a worker is started with.
#include "server/security/tls.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "proto/penstock/v1/connector.pb.h"
#include "server/security/tls_files.h"
#include "tests/server/security/tls_worker.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace penstock::server {
namespace {

using core::HasReason;
using core::PemPair;
using core::Reason;

const char kEverybodyObserves[] = "observer=*";

TEST(TlsTest, CallerWithACertificateOfTheAuthorityIsHeard) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  const PemPair caller = worker.authority().Issue({"DNS:someone"});
  EXPECT_OK(worker.Ask(worker.CallerFiles(caller)));
}

TEST(TlsTest, CallerWithoutACertificateGetsNoConnection) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  EXPECT_THAT(worker.Ask(worker.CallerFiles({})),
              HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, CallerOfAnotherAuthorityGetsNoConnection) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  core::FakeAuthority other("another authority");
  const PemPair caller = other.Issue({"DNS:someone"});
  EXPECT_THAT(worker.Ask(worker.CallerFiles(caller)),
              HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, CallerWhoseCertificateExpiredGetsNoConnection) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  const PemPair caller =
      worker.authority().Issue({"DNS:someone"}, -absl::Hours(1));
  EXPECT_THAT(worker.Ask(worker.CallerFiles(caller)),
              HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, PlaintextGetsNoConnection) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  EXPECT_THAT(worker.Ask({}), HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, WorkerOfAnotherAuthorityIsNotBelieved) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  core::FakeAuthority other("another authority");
  const PemPair caller = worker.authority().Issue({"DNS:someone"});
  EXPECT_THAT(worker.Ask(worker.CallerFiles(caller, other.certificate())),
              HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, WorkerWithAnotherNameIsNotBelieved) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  client::TlsFiles caller =
      worker.CallerFiles(worker.authority().Issue({"DNS:someone"}));
  caller.server_name = "other.example";
  EXPECT_THAT(worker.Ask(caller), HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, WorkerWhoseCertificateExpiredIsNotBelieved) {
  TlsWorker worker;
  worker.UsePair(
      worker.authority().Issue({"DNS:worker.example"}, -absl::Hours(1)));
  worker.Start({kEverybodyObserves});
  EXPECT_THAT(
      worker.Ask(worker.CallerFiles(worker.authority().Issue({"DNS:someone"}))),
      HasReason(Reason::UNAVAILABLE));
}

TEST(TlsTest, WithoutAnAuthorityOfCallersNobodyNeedsACertificate) {
  TlsWorker worker;
  WorkerOptions options = worker.Options({kEverybodyObserves});
  options.tls.client_ca = "";
  auto app = App::Start(options);
  ASSERT_OK(app);
  client::ClientOptions caller;
  caller.channel.tls = worker.CallerFiles({});
  const auto client = client::Client::Connect(
      "127.0.0.1:" + std::to_string((*app)->port()), caller);
  ASSERT_OK(client);
  EXPECT_OK((*client)->ListConnectorTypes());
}

TEST(TlsTest, RenewedCertificateOfTheWorkerIsUsedWithoutARestart) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  core::FakeAuthority renewed("renewed authority");
  const client::TlsFiles caller = worker.CallerFiles(
      worker.authority().Issue({"DNS:someone"}), renewed.certificate());
  EXPECT_THAT(worker.Ask(caller), HasReason(Reason::UNAVAILABLE));
  worker.UsePair(renewed.Issue({"DNS:worker.example"}));
  EXPECT_TRUE(worker.AskUntil(caller, /*ok=*/true));
}

TEST(TlsTest, RenewedAuthorityOfCallersIsUsedWithoutARestart) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  core::FakeAuthority renewed("renewed authority");
  const client::TlsFiles before =
      worker.CallerFiles(worker.authority().Issue({"DNS:someone"}));
  const client::TlsFiles after = worker.CallerFiles(
      renewed.Issue({"DNS:someone"}), worker.authority().certificate());
  EXPECT_OK(worker.Ask(before));
  EXPECT_THAT(worker.Ask(after), HasReason(Reason::UNAVAILABLE));
  worker.UseClientCa(renewed.certificate());
  EXPECT_TRUE(worker.AskUntil(after, /*ok=*/true));
  EXPECT_TRUE(worker.AskUntil(before, /*ok=*/false));
}

TEST(TlsTest, DamagedFilesAreMendedWithoutARestart) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  const client::TlsFiles caller =
      worker.CallerFiles(worker.authority().Issue({"DNS:someone"}));
  const PemPair pair = worker.authority().Issue({"DNS:worker.example"});
  worker.UsePair(
      {.certificate = pair.certificate, .private_key = "no key at all"});
  EXPECT_TRUE(worker.AskUntil(caller, /*ok=*/false));
  worker.UsePair(pair);
  EXPECT_TRUE(worker.AskUntil(caller, /*ok=*/true));
}

// The disk may hang: whoever asks is told what is known.
TEST(TlsTest, EndOfTheCertificateIsReadAgainBehindWhoAsks) {
  TlsWorker worker;
  const TlsOptions options = worker.Options({}).tls;
  core::ManualExecutor io;
  TlsFiles seen(io, core::PosixFileSystem(), options);
  EXPECT_GT(seen.Get()->certificate_end, absl::Now() + absl::Minutes(50));
  EXPECT_TRUE(seen.Get()->usable);
  ASSERT_OK(core::PosixFileSystem().Remove(options.certificate));
  io.Advance(TlsFiles::kFresh);
  EXPECT_TRUE(seen.Get()->usable);
  EXPECT_NE(seen.Get()->certificate_end, std::nullopt);
  io.RunUntilIdle();
  EXPECT_FALSE(seen.Get()->usable);
  EXPECT_EQ(seen.Get()->certificate_end, std::nullopt);
}

TEST(TlsTest, AKeyOfAnotherCertificateIsSeenUntilItIsMended) {
  TlsWorker worker;
  const TlsOptions options = worker.Options({}).tls;
  core::ManualExecutor io;
  TlsFiles seen(io, core::PosixFileSystem(), options);
  const auto look_again = [&] {
    io.Advance(TlsFiles::kFresh);
    seen.Get();
    io.RunUntilIdle();
    return seen.Get()->usable;
  };
  const PemPair pair = worker.authority().Issue({"DNS:a"});
  worker.UsePair(
      {.certificate = pair.certificate,
       .private_key = worker.authority().Issue({"DNS:a"}).private_key});
  EXPECT_FALSE(look_again());
  worker.UsePair(pair);
  EXPECT_TRUE(look_again());
  EXPECT_EQ(TlsFiles(io, core::PosixFileSystem(), {}).Get(), std::nullopt);
}

TEST(TlsTest, EndOfTheCertificateIsKnown) {
  TlsWorker worker;
  const TlsOptions options = worker.Options({}).tls;
  EXPECT_GT(CertificateEnd(core::PosixFileSystem(), options),
            absl::Now() + absl::Minutes(50));
  EXPECT_EQ(CertificateEnd(core::PosixFileSystem(), {}), std::nullopt);
}

struct WrongOptions {
  std::string name;
  std::function<void(TlsWorker&, WorkerOptions&)> change;
};
class WrongOptionsTest : public testing::TestWithParam<WrongOptions> {};
TEST_P(WrongOptionsTest, AreRefused) {
  TlsWorker worker;
  WorkerOptions options = worker.Options({"controller=a.example"});
  GetParam().change(worker, options);
  const auto app = App::Start(options);
  EXPECT_THAT(app, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(ExitCodeOf(app.status()), ExitCode::kUsage);
}
INSTANTIATE_TEST_SUITE_P(
    All, WrongOptionsTest,
    testing::Values(
        WrongOptions{"NoRole", [](auto&, auto& o) { o.tls.roles.clear(); }},
        WrongOptions{"NoKey", [](auto&, auto& o) { o.tls.private_key = ""; }},
        WrongOptions{"NoCertificate",
                     [](auto&, auto& o) { o.tls.certificate = ""; }},
        WrongOptions{"NameWithoutAuthority",
                     [](auto&, auto& o) { o.tls.client_ca = ""; }},
        WrongOptions{"NoSuchRole",
                     [](auto&, auto& o) { o.tls.roles = {"root=a"}; }},
        WrongOptions{
            "NoSuchFile",
            [](auto& w, auto& o) { o.tls.certificate = w.Path("none.pem"); }},
        WrongOptions{"KeyOfAnother",
                     [](auto& w, auto&) {
                       w.UsePair({w.authority().Issue({"DNS:a"}).certificate,
                                  w.authority().Issue({"DNS:a"}).private_key});
                     }},
        WrongOptions{"AuthorityThatIsNone",
                     [](auto& w, auto&) { w.UseClientCa("nothing"); }},
        WrongOptions{
            "UnixSocket",
            [](auto& w, auto& o) { o.listen = "unix:" + w.Path("w.sock"); }}),
    [](const auto& param) { return param.param.name; });

TEST(TlsTest, CallersFilesAreCheckedBeforeTheyAreUsed) {
  TlsWorker worker;
  worker.Start({kEverybodyObserves});
  client::TlsFiles good =
      worker.CallerFiles(worker.authority().Issue({"DNS:someone"}));
  client::TlsFiles files = good;
  files.ca = "";
  EXPECT_THAT(worker.Ask(files), HasReason(Reason::INVALID_CONFIG));
  files = good;
  files.private_key = "";
  EXPECT_THAT(worker.Ask(files), HasReason(Reason::INVALID_CONFIG));
  files = good;
  files.private_key = files.certificate;
  EXPECT_THAT(worker.Ask(files), HasReason(Reason::INVALID_CONFIG));
  files = good;
  files.ca = worker.Path("none.pem");
  EXPECT_THAT(worker.Ask(files), HasReason(Reason::INVALID_CONFIG));
}

}  // namespace
}  // namespace penstock::server
