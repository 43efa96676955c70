#include "core/pg/conninfo.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConninfoTest, UrlIsTakenApart) {
  ASSERT_OK_AND_ASSIGN(
      const Conninfo conninfo,
      Conninfo::Parse("postgresql://ann:s%40cret@db.example:6000/orders"));
  EXPECT_EQ(conninfo.Get("host"), "db.example");
  EXPECT_EQ(conninfo.Get("port"), "6000");
  EXPECT_EQ(conninfo.Get("dbname"), "orders");
  EXPECT_EQ(conninfo.Get("user"), "ann");
  EXPECT_EQ(conninfo.Get("sslmode"), "");
}

TEST(ConninfoTest, KeysAndValuesAreTakenApart) {
  ASSERT_OK_AND_ASSIGN(const Conninfo conninfo,
                       Conninfo::Parse("host=/run/pg dbname='my db'"));
  EXPECT_EQ(conninfo.Get("host"), "/run/pg");
  EXPECT_EQ(conninfo.Get("dbname"), "my db");
}

TEST(ConninfoTest, SecretsAreBlottedOut) {
  ASSERT_OK_AND_ASSIGN(
      const Conninfo conninfo,
      Conninfo::Parse("host=h password=hush sslpassword=mum user=u"));
  EXPECT_EQ(conninfo.Redact("hush, said u to mum"), "***, said u to ***");
}

struct BadConninfo {
  std::string name;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const BadConninfo& bad) {
  return out << bad.name;
}

class BadConninfoTest : public testing::TestWithParam<BadConninfo> {};

// All hold the password "hush", most where libpq would look for another part.
TEST_P(BadConninfoTest, IsRefusedWithoutQuotingIt) {
  const auto parsed = Conninfo::Parse(GetParam().text);
  EXPECT_THAT(parsed, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(parsed.status().message()), Not(HasSubstr("hush")));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConninfoTest,
    testing::Values(
        BadConninfo{"AtInPassword", "postgresql://u:a@hush@host/db"},
        BadConninfo{"SlashInPassword", "postgresql://u:hush/a@host/db"},
        BadConninfo{"BracketInPassword", "postgresql://u:p@[hush/db"},
        BadConninfo{"UnknownKey", "host=h passwort=hush"},
        BadConninfo{"NoEquals", "host=h password=a hush"},
        BadConninfo{"OpenQuote", "host=h password='hush"},
        BadConninfo{"BadPercent", "postgresql://u:hush%zz@host/db"},
        BadConninfo{"PortAboveAll", "host=h port=70000 password=hush"},
        BadConninfo{"NulByte", std::string("host=h\0 password=hush", 21)}),
    [](const testing::TestParamInfo<BadConninfo>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
