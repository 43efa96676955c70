#include "client/cli/crash_point.h"

#include "tests/support/status_matchers.h"

#include <gtest/gtest.h>

#include <csignal>

namespace penstock::client {
namespace {

TEST(CrashPointTest, ReadsPointAndCount) {
  ASSERT_OK_AND_ASSIGN(const CrashPoint crash,
                       ParseCrashPoint("after_journal:3", "kill"));
  EXPECT_EQ(crash.point, FaultPoint::kAfterJournal);
  EXPECT_EQ(crash.count, 3u);
  EXPECT_EQ(crash.signal, SIGKILL);
}

TEST(CrashPointTest, CountIsOneByDefault) {
  ASSERT_OK_AND_ASSIGN(const CrashPoint crash,
                       ParseCrashPoint("before_prepare", "stop"));
  EXPECT_EQ(crash.count, 1u);
  EXPECT_EQ(crash.signal, SIGSTOP);
}

TEST(CrashPointTest, AnUnknownPointNamesThoseThatExist) {
  EXPECT_THAT(ParseCrashPoint("sometime", "kill"),
              core::StatusIs(absl::StatusCode::kInvalidArgument,
                             testing::HasSubstr("after_journal")));
}

TEST(CrashPointTest, ACountOfZeroIsRefused) {
  EXPECT_FALSE(ParseCrashPoint("after_journal:0", "kill").ok());
}

}  // namespace
}  // namespace penstock::client
