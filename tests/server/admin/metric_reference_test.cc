// deploy/prometheus/METRICS.md is what the code says.
#include "core/base/filesystem.h"
#include "server/admin/worker_metrics.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace penstock::server {
namespace {

// With PENSTOCK_WRITE_METRICS=1 it writes the file instead.
TEST(MetricReferenceTest, IsWhatTheCodeSays) {
  const std::string path = PENSTOCK_METRICS_FILE;
  if (std::getenv("PENSTOCK_WRITE_METRICS") != nullptr) {
    ASSERT_OK(core::WriteFileDurably(core::PosixFileSystem(), path,
                                     MetricReference()));
  }
  const auto text = core::PosixFileSystem().ReadFile(path, 1 << 20);
  ASSERT_OK(text);
  EXPECT_EQ(*text, MetricReference())
      << "write it again: PENSTOCK_WRITE_METRICS=1 admin_tests "
         "--gtest_filter='MetricReference*'";
}

TEST(ProcessUsageTest, KernelCounts) {
  const ProcessUsage usage = ReadProcessUsage(core::PosixFileSystem());
  EXPECT_GT(usage.cpu_seconds, 0);
  EXPECT_GT(usage.resident_bytes, 1'000'000U);
  EXPECT_GE(usage.open_files, 3U);
  EXPECT_GE(usage.open_files_max, usage.open_files);
  EXPECT_GE(usage.threads, 1U);
}

}  // namespace
}  // namespace penstock::server
