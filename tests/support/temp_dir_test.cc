#include "tests/support/temp_dir.h"

#include "core/base/filesystem.h"
#include "tests/support/status_matchers.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

TEST(TempDirTest, EachHasItsOwnThatGoesWithIt) {
  FileSystem& fs = PosixFileSystem();
  std::string path;
  {
    const TempDir a;
    const TempDir b;
    EXPECT_NE(a.path(), b.path());
    path = a.path();
    ASSERT_OK(fs.CreateDirectories(a.Path("x/y")));
    ASSERT_OK(WriteFileDurably(fs, a.Path("x/y/z"), "1"));
    EXPECT_THAT(fs.RealPath(path), IsOkAndHolds(path));
  }
  EXPECT_THAT(fs.Stat(path), HasReason("NOT_FOUND"));
}

}  // namespace
}  // namespace penstock::core
