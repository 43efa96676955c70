// A door of another kind: who gets a state directory.
#include "server/state_lock.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::HasSubstr;

TEST(StateLockTest, ASecondWorkerIsToldWhoHasTheDirectory) {
  const core::TempDir directory;
  const std::string state = directory.Path("a/state");
  auto first = StateLock::Take(state);
  ASSERT_OK(first);
  const auto second = StateLock::Take(state);
  EXPECT_THAT(second.status(), HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(
      std::string(second.status().message()),
      HasSubstr(absl::StrCat("another worker (process ", getpid(), ") does")));
}

TEST(StateLockTest, ItEndsWithItsHolder) {
  const core::TempDir directory;
  for (int i = 0; i < 2; ++i) EXPECT_OK(StateLock::Take(directory.path()));
}

}  // namespace
}  // namespace penstock::server
