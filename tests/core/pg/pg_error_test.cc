#include "core/pg/pg_error.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;
using testing::Lt;
using testing::Optional;

struct Mapping {
  std::string sqlstate;
  Reason reason;
};
std::ostream& operator<<(std::ostream& out, const Mapping& mapping) {
  return out << mapping.sqlstate;
}

// Field case B075: in one place, and nothing that may pass is final.
class SqlStateTest : public testing::TestWithParam<Mapping> {};

TEST_P(SqlStateTest, HasItsReason) {
  EXPECT_EQ(ReasonName(ReasonOfSqlState(GetParam().sqlstate)),
            ReasonName(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, SqlStateTest,
    testing::Values(Mapping{"08006", Reason::UNAVAILABLE},
                    Mapping{"40001", Reason::UNAVAILABLE},
                    Mapping{"40P01", Reason::UNAVAILABLE},
                    Mapping{"53300", Reason::UNAVAILABLE},
                    Mapping{"53100", Reason::STORAGE_FULL},
                    Mapping{"55P03", Reason::UNAVAILABLE},
                    Mapping{"57014", Reason::DEADLINE},
                    Mapping{"57P01", Reason::UNAVAILABLE},
                    Mapping{"57P03", Reason::UNAVAILABLE},
                    Mapping{"25006", Reason::UNAVAILABLE},
                    Mapping{"25P03", Reason::UNAVAILABLE},
                    Mapping{"25P04", Reason::UNAVAILABLE},
                    Mapping{"22P02", Reason::ROW_REFUSED},
                    Mapping{"22021", Reason::ROW_REFUSED},
                    Mapping{"23505", Reason::ROW_REFUSED},
                    Mapping{"54000", Reason::ROW_REFUSED},
                    Mapping{"54001", Reason::INTERNAL},
                    Mapping{"P0001", Reason::ROW_REFUSED},
                    Mapping{"28P01", Reason::UNAUTHENTICATED},
                    Mapping{"3D000", Reason::NOT_FOUND},
                    Mapping{"42601", Reason::INVALID_REQUEST},
                    Mapping{"42501", Reason::PERMISSION_DENIED},
                    Mapping{"42P01", Reason::NOT_FOUND},
                    Mapping{"0A000", Reason::UNSUPPORTED},
                    Mapping{"25P02", Reason::INTERNAL},
                    Mapping{"XX000", Reason::INTERNAL},
                    Mapping{"XX001", Reason::STATE_DAMAGED}),
    [](const testing::TestParamInfo<Mapping>& test) {
      return test.param.sqlstate;
    });

TEST(PgErrorTest, WithoutSqlStateTheConnectionIsAtFault) {
  const absl::Status error = MakePgError({.message = "no route to host"});
  EXPECT_THAT(error, HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(SqlStateOf(error), std::nullopt);
}

TEST(PgErrorTest, SaysAllThatTheServerSaid) {
  const absl::Status error =
      MakePgError({.sqlstate = "23505",
                   .message = "duplicate key",
                   .detail = "Key (id)=(1) already exists.",
                   .hint = "none",
                   .context = "COPY t, line 3"});
  EXPECT_EQ(error.message(),
            "postgresql: duplicate key (SQLSTATE 23505); Key (id)=(1) already "
            "exists.; none; COPY t, line 3");
  EXPECT_THAT(SqlStateOf(error), Optional(std::string("23505")));
  EXPECT_EQ(PgContextOf(error), "COPY t, line 3");
}

TEST(PgErrorTest, QuotesOfRowsAreCutBetweenCharacters) {
  std::string long_text(199, 'x');
  // A character of three bytes across the cap.
  long_text += "\xE2\x82\xAC";
  long_text.append(10'000, 'y');
  const absl::Status error = MakePgError({.sqlstate = "22P02",
                                          .message = "m",
                                          .detail = long_text,
                                          .context = long_text});
  EXPECT_THAT(error.message().size(), Lt(600u));
  EXPECT_THAT(PgContextOf(error), HasSubstr("x..."));
}

}  // namespace
}  // namespace penstock::core
