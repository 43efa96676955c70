#include "core/base/memory.h"

#include "core/base/thread.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stop_token>

namespace penstock::core {
namespace {

TEST(CgroupMemoryLimitTest, Version2TakesTheLeastOnThePath) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup", "0::/pods/a\n");
  fs.Put("/sys/fs/cgroup/pods/memory.max", "1000\n");
  fs.Put("/sys/fs/cgroup/pods/a/memory.max", "2000\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), 1000u);
}

TEST(CgroupMemoryLimitTest, Version2MaxIsNoLimit) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup", "0::/pods/a\n");
  fs.Put("/sys/fs/cgroup/pods/a/memory.max", "max\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), std::nullopt);
}

TEST(CgroupMemoryLimitTest, ContainerThatSeesOnlyItsRootUsesIt) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup", "0::/docker/0123\n");
  fs.Put("/sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), 4096u);
}

TEST(CgroupMemoryLimitTest, GroupOutsideOfTheVisibleTreeUsesTheRoot) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup", "0::/../../other\n");
  fs.Put("/sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), 4096u);
}

TEST(CgroupMemoryLimitTest, Version1ReadsTheMemoryController) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup",
         "5:cpu,cpuacct:/x\n4:hugetlb,memory:/a/b\n1:name=systemd:/y\n");
  fs.Put("/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "9223372036854771712\n");
  fs.Put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "512\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), 512u);
}

TEST(CgroupMemoryLimitTest, Version1HugeNumberIsNoLimit) {
  FakeFileSystem fs;
  fs.Put("/proc/self/cgroup", "4:memory:/\n");
  fs.Put("/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "9223372036854771712\n");
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), std::nullopt);
}

TEST(CgroupMemoryLimitTest, NoControlGroupsIsNoLimit) {
  FakeFileSystem fs;
  EXPECT_EQ(CgroupMemoryLimitBytes(fs), std::nullopt);
}

TEST(CgroupMemoryLimitTest, RealMachineAnswers) {
  const auto limit = CgroupMemoryLimitBytes(PosixFileSystem());
  // Where there is no limit there is nothing to compare.
  EXPECT_GT(limit.value_or(PhysicalMemoryBytes()), uint64_t{1} << 20);
}

TEST(ResidentBytesTest, CountsPagesOfTheSecondField) {
  FakeFileSystem fs;
  fs.Put("/proc/self/statm", "100 7 3 1 0 4 0\n");
  EXPECT_THAT(ResidentBytes(fs),
              IsOkAndHolds(7u * static_cast<uint64_t>(getpagesize())));
}

TEST(ResidentBytesTest, UnexpectedTextIsAnError) {
  FakeFileSystem fs;
  fs.Put("/proc/self/statm", "100\n");
  EXPECT_THAT(ResidentBytes(fs), StatusIs(absl::StatusCode::kInternal));
}

TEST(ResidentBytesTest, RealProcessIsBetweenAMegabyteAndTheMachine) {
  ASSERT_OK_AND_ASSIGN(const uint64_t bytes, ResidentBytes(PosixFileSystem()));
  EXPECT_GT(bytes, uint64_t{1} << 20);
  EXPECT_LT(bytes, PhysicalMemoryBytes());
}

// The heaps of glibc, as malloc_info lists them.
int CountArenas() {
  char* text = nullptr;
  size_t size = 0;
  FILE* const out = open_memstream(&text, &size);
  malloc_info(0, out);
  std::fclose(out);
  int count = 0;
  for (const char* at = text; (at = std::strstr(at, "<heap nr=")); ++at) {
    ++count;
  }
  std::free(text);
  return count;
}

TEST(SetUpMallocTest, ThreadsMakeNoArenaOfTheirOwn) {
  SetUpMalloc();
  const int before = CountArenas();
  for (int i = 0; i < 3; ++i) {
    Thread thread("allocates", [](const std::stop_token&) {
      const auto bytes = std::make_unique_for_overwrite<char[]>(10'000);
      EXPECT_NE(bytes, nullptr);
    });
  }
  EXPECT_EQ(CountArenas(), before);
}

}  // namespace
}  // namespace penstock::core
