// What a thousand connectors leave behind that were opened and deleted.
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

namespace penstock {
namespace {

constexpr int kCycles = 1000;
// What the allocator counts as used though it is free: each thread keeps some.
constexpr size_t kThreadsKeepMax = 256 << 10;
// Both ends of a scrape that is just over.
constexpr size_t kScrapeDescriptorsMax = 2;
// gRPC makes some when it is busy, and ends them when it is not.
constexpr size_t kBusyThreadsMax = 16;

size_t EntriesOf(const char* directory) {
  using std::filesystem::directory_iterator;
  return static_cast<size_t>(
      std::distance(directory_iterator(directory), directory_iterator()));
}

class ReturnTest : public ::testing::Test {
 protected:
  struct Held {
    size_t bytes = 0;
    size_t threads = 0;
    size_t descriptors = 0;
    size_t series = 0;
  };

  // Each makes a step first.
  void OpenAndDelete(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_OK(caller_.Open(LinesSpec("orders", source_, "")));
      ASSERT_OK(caller_.Extend());
      ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
      ASSERT_NE(reply.result, nullptr);
      ASSERT_OK(caller_.Delete());
    }
  }
  Held Now() {
    const std::string metrics = worker_.Scrape("/metrics");
    const auto lines = absl::StrSplit(metrics, '\n');
    return {.bytes = mallinfo2().uordblks + mallinfo2().hblkhd,
            .threads = EntriesOf("/proc/self/task"),
            .descriptors = EntriesOf("/proc/self/fd"),
            .series = static_cast<size_t>(std::count_if(
                lines.begin(), lines.end(), [](absl::string_view line) {
                  return absl::StartsWith(line, "penstock_");
                }))};
  }

  RealWorker worker_{{.admin = true}};
  Caller caller_{worker_.control(), "shop", 1};
  const std::string source_ = worker_.Write("in", Lines("line ", 1000));
};

TEST_F(ReturnTest, AThousandOpensAndDeletesLeaveNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "its own allocator counts nothing, and finds leaks by itself";
#endif
  // Until whatever grows with use once has grown.
  ASSERT_NO_FATAL_FAILURE(OpenAndDelete(kCycles));
  const Held before = Now();
  ASSERT_NO_FATAL_FAILURE(OpenAndDelete(kCycles));
  const Held after = Now();
  RecordProperty("bytes_before", std::to_string(before.bytes));
  RecordProperty("bytes_after", std::to_string(after.bytes));
  EXPECT_GT(before.series, 0u);
  EXPECT_EQ(after.series, before.series);
  EXPECT_LE(after.threads, before.threads + kBusyThreadsMax);
  EXPECT_LE(after.descriptors, before.descriptors + kScrapeDescriptorsMax);
  EXPECT_LT(after.bytes, before.bytes + kThreadsKeepMax);
}

}  // namespace
}  // namespace penstock
