#include "server/net/open_files.h"

#include "tests/support/recording_log_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <memory>

namespace penstock::server {
namespace {

class OpenFilesTest : public testing::Test {
 protected:
  OpenFilesTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  rlimit before_{};
};

TEST_F(OpenFilesTest, TakesWhatItMayHave) {
  const rlimit few{.rlim_cur = 100, .rlim_max = before_.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const size_t limit = RaiseOpenFiles(1);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(limit, now.rlim_cur);
  EXPECT_GT(now.rlim_cur, 100u);
  EXPECT_EQ(now.rlim_max, before_.rlim_max);
}

TEST_F(OpenFilesTest, TooFewAreToldAtTheStart) {
  const auto log = std::make_shared<core::RecordingLogSink>();
  const core::ScopedLogSink scope(log);
  const size_t limit = RaiseOpenFiles(1);
  EXPECT_THAT(log->records(), testing::IsEmpty());
  RaiseOpenFiles(limit);
  ASSERT_THAT(log->records(), testing::SizeIs(1));
  EXPECT_THAT(log->records()[0].message,
              testing::HasSubstr("--admin-connections-max"));
}

}  // namespace
}  // namespace penstock::server
