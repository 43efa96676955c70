#include "core/pg/pg_url.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;
using testing::Not;

// With every character that one of the forms takes for something else.
constexpr absl::string_view kPassword = "a@b:c/d?e#f%25 '\\\"";

class PgUrlTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectories("/run"));
    ASSERT_OK(WriteFileDurably(files_, "/run/password", kPassword));
    ASSERT_OK(WriteFileDurably(files_, "/run/url",
                               "postgresql://u:hush@h:6000/db\n"));
  }
  absl::StatusOr<Conninfo> Resolve(absl::string_view text) {
    return ResolvePgUrl(text, files_, paths_);
  }

  FakeFileSystem files_;
  const PathPolicy paths_{{}};
};

TEST_F(PgUrlTest, PasswordInAUrlIsEscaped) {
  ASSERT_OK_AND_ASSIGN(const Conninfo conninfo,
                       Resolve("postgresql://u:${file:/run/password}@h/db"));
  EXPECT_EQ(conninfo.Get("password"), kPassword);
  EXPECT_EQ(conninfo.Get("host"), "h");
  EXPECT_EQ(conninfo.Get("dbname"), "db");
}

TEST_F(PgUrlTest, PasswordAmongPairsIsEscaped) {
  ASSERT_OK_AND_ASSIGN(const Conninfo bare,
                       Resolve("password=${file:/run/password} host=h"));
  EXPECT_EQ(bare.Get("password"), kPassword);
  EXPECT_EQ(bare.Get("host"), "h");
  ASSERT_OK_AND_ASSIGN(const Conninfo quoted,
                       Resolve("password='${file:/run/password}' host=h"));
  EXPECT_EQ(quoted.Get("password"), kPassword);
}

TEST_F(PgUrlTest, WholeReferenceIsTakenAsItStands) {
  ASSERT_OK_AND_ASSIGN(const Conninfo conninfo, Resolve("${file:/run/url}"));
  EXPECT_EQ(conninfo.Get("port"), "6000");
  EXPECT_EQ(conninfo.Get("password"), "hush");
}

class PlainPasswordTest : public testing::TestWithParam<std::string> {};

TEST_P(PlainPasswordTest, IsRefusedWithoutQuotingIt) {
  const absl::Status refused = CheckPgUrl(GetParam());
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("hush")));
}

INSTANTIATE_TEST_SUITE_P(All, PlainPasswordTest,
                         testing::Values("postgresql://u:hush@h/db",
                                         "postgresql://h/db?password=hush",
                                         "host=h password=hush",
                                         "host=h sslpassword='hush'",
                                         "postgresql://u:hush${env:A}@h/db",
                                         "postgresql://u:hush/x@h/db", "hush"));

TEST(CheckPgUrlTest, ReferencesMayStandAnywhere) {
  EXPECT_OK(CheckPgUrl("postgresql://${env:U}:${env:P}@${env:H}:${env:N}/db"));
  EXPECT_OK(CheckPgUrl("${env:DATABASE_URL}"));
  EXPECT_OK(CheckPgUrl("postgresql:///db?host=/run/postgresql"));
}

}  // namespace
}  // namespace penstock::core
