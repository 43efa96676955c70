#include "core/sinks/postgres/session_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace penstock::core {
namespace {

using testing::Optional;

OutputOpen Open() {
  return {.incarnation = "i",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 26, .open_number = 3}};
}

TEST(SessionNameTest, TellsTheWriter) {
  const OutputOpen open = Open();
  const std::string name = SessionName(open, 2);
  EXPECT_EQ(name, SessionPrefix(open) + "1a.3:2");
  EXPECT_THAT(ParseSessionName(name, SessionPrefix(open)),
              Optional(open.writer));
  EXPECT_THAT(
      ParseSessionName(SessionName(open, std::nullopt), SessionPrefix(open)),
      Optional(open.writer));
}

TEST(SessionNameTest, LongestIsNotCutByTheServer) {
  OutputOpen open = Open();
  open.writer = {.epoch = UINT64_MAX, .open_number = UINT64_MAX};
  EXPECT_EQ(SessionName(open, 1023).size(), 63u);
}

TEST(SessionNameTest, IdentitiesThatRunIntoEachOtherDiffer) {
  OutputOpen left = Open();
  left.pipeline = "ab";
  left.connector = "c";
  OutputOpen right = Open();
  right.pipeline = "a";
  right.connector = "bc";
  EXPECT_NE(SessionPrefix(left), SessionPrefix(right));
}

TEST(SessionNameTest, OtherNamesAreNone) {
  const std::string prefix = SessionPrefix(Open());
  EXPECT_EQ(ParseSessionName("psql", prefix), std::nullopt);
  EXPECT_EQ(ParseSessionName(prefix, prefix), std::nullopt);
  EXPECT_EQ(ParseSessionName(prefix + "1.x:0", prefix), std::nullopt);
  EXPECT_EQ(ParseSessionName(prefix + "1:2.0", prefix), std::nullopt);
}

}  // namespace
}  // namespace penstock::core
