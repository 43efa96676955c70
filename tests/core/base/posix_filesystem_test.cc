// What only the machine's FileSystem does: links, permissions, odd files.
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::HasSubstr;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  void Write(absl::string_view name, absl::string_view bytes) {
    ASSERT_OK(WriteFileDurably(fs_, directory_.Path(name), bytes));
  }

  TempDir directory_;
  FileSystem& fs_ = PosixFileSystem();
};

TEST_F(PosixFileSystemTest, FollowsSymbolicLinks) {
  Write("a", "abc");
  const std::string link = directory_.Path("link");
  ASSERT_EQ(::symlink("a", link.c_str()), 0);
  EXPECT_THAT(fs_.ReadFile(link), IsOkAndHolds("abc"));
  EXPECT_THAT(fs_.RealPath(link), IsOkAndHolds(directory_.Path("a")));
  ASSERT_OK_AND_ASSIGN(const FileStat by_link, fs_.Stat(link));
  ASSERT_OK_AND_ASSIGN(const FileStat by_name, fs_.Stat(directory_.Path("a")));
  EXPECT_EQ(by_link.inode, by_name.inode);
}

TEST_F(PosixFileSystemTest, DanglingLinkIsNotFound) {
  const std::string link = directory_.Path("link");
  ASSERT_EQ(::symlink("none", link.c_str()), 0);
  EXPECT_THAT(fs_.Stat(link), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs_.RealPath(link), HasReason("NOT_FOUND"));
}

TEST_F(PosixFileSystemTest, OpeningAFifoDoesNotWait) {
  const std::string fifo = directory_.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_OK_AND_ASSIGN(auto file, fs_.OpenForRead(fifo));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, file->Stat());
  EXPECT_EQ(stat.type, FileType::kOther);
  std::string buffer(1, '.');
  EXPECT_FALSE(file->ReadAt(0, buffer).ok());
}

TEST_F(PosixFileSystemTest, ReadFileReadsProcFilesWhoseSizeIsZero) {
  EXPECT_THAT(fs_.ReadFile("/proc/self/status"),
              IsOkAndHolds(HasSubstr("VmRSS")));
}

TEST_F(PosixFileSystemTest, MissingPermissionIsPermissionDenied) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may do everything";
  Write("a", "abc");
  const std::string path = directory_.Path("a");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_THAT(fs_.OpenForRead(path),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasReason("PERMISSION_DENIED")));
}

TEST_F(PosixFileSystemTest, FailedAppendSaysHowMuchIsThere) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  // Beyond the limit the system sends SIGXFSZ, then says EFBIG.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { .rlim_cur = 10, .rlim_max = before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  absl::Status status;
  {
    auto file = fs_.OpenForAppend(directory_.Path("a"), {});
    status = file.ok() ? (*file)->Append("0123456789abcdef") : file.status();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(status, HasReason("IO_ERROR"));
  ASSERT_TRUE(GetErrorInfo(status).has_value());
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("written"), "10");
  EXPECT_THAT(fs_.ReadFile(directory_.Path("a")), IsOkAndHolds("0123456789"));
}

TEST_F(PosixFileSystemTest, DeviceThatIsFullIsStorageFull) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  ASSERT_OK_AND_ASSIGN(auto file,
                       fs_.OpenForAppend("/dev/full", {.create = false}));
  EXPECT_THAT(file->Append("x"), StatusIs(absl::StatusCode::kResourceExhausted,
                                          HasReason("STORAGE_FULL")));
}

TEST_F(PosixFileSystemTest, ExclusiveOpenHasOneWinner) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = directory_.Path("claim" + std::to_string(round));
    std::atomic<int> won{0};
    {
      std::vector<std::unique_ptr<Thread>> threads;
      for (int t = 0; t < 4; ++t) {
        threads.push_back(
            std::make_unique<Thread>("claim", [&](const std::stop_token&) {
              if (fs_.OpenForAppend(path, {.create = true, .exclusive = true})
                      .ok()) {
                ++won;
              }
            }));
      }
    }
    ASSERT_EQ(won, 1);
  }
}

TEST_F(PosixFileSystemTest, ClosesWhatItOpens) {
  Write("a", "abc");
  ASSERT_OK_AND_ASSIGN(const auto before, fs_.List("/proc/self/fd"));
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(fs_.ReadFile(directory_.Path("a")));
    ASSERT_OK(fs_.List(directory_.path()));
    ASSERT_FALSE(fs_.OpenForRead(directory_.path()).ok());
    Write("b", "x");
  }
  ASSERT_OK_AND_ASSIGN(const auto after, fs_.List("/proc/self/fd"));
  EXPECT_EQ(before.size(), after.size());
}

struct PathCase {
  const char* name;
  const char* path;
  const char* directory;
  const char* base;
};
class PathTest : public ::testing::TestWithParam<PathCase> {};

TEST_P(PathTest, SplitsAtTheLastSlash) {
  EXPECT_EQ(DirectoryOf(GetParam().path), GetParam().directory);
  EXPECT_EQ(BaseNameOf(GetParam().path), GetParam().base);
}

INSTANTIATE_TEST_SUITE_P(
    Paths, PathTest,
    ::testing::Values(PathCase{"Plain", "a", ".", "a"},
                      PathCase{"Absolute", "/a/b", "/a", "b"},
                      PathCase{"UnderRoot", "/a", "/", "a"},
                      PathCase{"Root", "/", "/", "/"},
                      PathCase{"TrailingSlash", "/a/b/", "/a", "b"},
                      PathCase{"DoubleSlash", "a//b", "a", "b"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JoinPathTest, PutsOneSlashBetween) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/a", "/b"), "/b");
}

}  // namespace
}  // namespace penstock::core
