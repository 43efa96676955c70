#include "client/cli/socket_directory.h"

#include "core/base/filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <memory>
#include <string>
#include <vector>

namespace penstock::client {
namespace {

using core::StatusIs;

class SocketDirectoryTest : public testing::Test {
 protected:
  std::unique_ptr<SocketDirectory> Make() {
    auto made = SocketDirectory::Make(parent_.path());
    EXPECT_OK(made.status());
    return *std::move(made);
  }
  static bool Exists(const std::string& path) {
    return core::PosixFileSystem().Stat(path).ok();
  }
  // A directory as a killed process leaves it, `files` in it.
  std::string Leave(const std::string& name,
                    const std::vector<std::string>& files) {
    const std::string path = parent_.Path(name);
    EXPECT_EQ(mkdir(path.c_str(), S_IRWXU), 0);
    for (const std::string& file : files) {
      EXPECT_OK(core::WriteFileDurably(core::PosixFileSystem(),
                                       core::JoinPath(path, file), ""));
    }
    return path;
  }

  const core::TempDir parent_;
};

TEST_F(SocketDirectoryTest, GoesWithItsOwner) {
  auto directory = Make();
  const std::string path = directory->path();
  EXPECT_TRUE(Exists(path));
  directory.reset();
  EXPECT_FALSE(Exists(path));
}

TEST_F(SocketDirectoryTest, RemovesWhatTheDeadLeft) {
  const std::string dead = Leave("penstock-dead", {"owner", "worker.sock"});
  const auto directory = Make();
  EXPECT_FALSE(Exists(dead));
  EXPECT_TRUE(Exists(directory->path()));
}

TEST_F(SocketDirectoryTest, LeavesTheLivingAlone) {
  const auto living = Make();
  const auto other = Make();
  EXPECT_TRUE(Exists(living->path()));
  EXPECT_NE(living->path(), other->path());
}

TEST_F(SocketDirectoryTest, LeavesAloneWhatNobodySignedOrIsNotItsOwn) {
  const std::string unsigned_one = Leave("penstock-unsigned", {"worker.sock"});
  const std::string other = Leave("other", {"owner"});
  const auto directory = Make();
  EXPECT_TRUE(Exists(unsigned_one));
  EXPECT_TRUE(Exists(other));
}

TEST_F(SocketDirectoryTest, SaysWhereItCannotBeMade) {
  EXPECT_THAT(
      SocketDirectory::Make(parent_.Path("absent")).status(),
      StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("absent")));
}

}  // namespace
}  // namespace penstock::client
