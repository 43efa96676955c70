#include "core/base/path_policy.h"

#include "core/base/filesystem.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

// in/file, in/sub/file, out/file; links in `in` lead to places in and out.
class PathPolicyTest : public testing::Test {
 protected:
  PathPolicyTest() {
    for (const char* name : {"in/file", "in/sub/file", "out/file"}) {
      const std::string path = At(name);
      EXPECT_OK(PosixFileSystem().CreateDirectories(DirectoryOf(path)));
      EXPECT_OK(PosixFileSystem().OpenForAppend(path, {.create = true}));
    }
    Link(At("in/file"), "in/link_in");
    Link(At("out/file"), "in/link_out");
    Link(At("out"), "in/directory_out");
    Link("../out/nothing", "in/link_nowhere");
    Link(At("in"), "root");
  }

  std::string At(const std::string& name) { return directory_.Path(name); }
  void Link(const std::string& to, const std::string& name) {
    ASSERT_EQ(::symlink(to.c_str(), At(name).c_str()), 0);
  }
  absl::Status Check(const std::string& name) {
    return PathPolicy({At("in")}).Check(PosixFileSystem(), At(name));
  }

  TempDir directory_;
};

TEST_F(PathPolicyTest, WithoutRootsEveryPathIsAllowed) {
  EXPECT_OK(PathPolicy({}).Check(PosixFileSystem(), At("out/file")));
  EXPECT_OK(PathPolicy({}).Check(PosixFileSystem(), "/no/such/file"));
}

TEST_F(PathPolicyTest, WhatLiesBelowARootIsAllowed) {
  EXPECT_OK(Check("in/file"));
  EXPECT_OK(Check("in/sub/file"));
  EXPECT_OK(Check("in/sub/../file"));
}

TEST_F(PathPolicyTest, ARootItselfIsAllowed) { EXPECT_OK(Check("in")); }

TEST_F(PathPolicyTest, ASingleFileCanBeARoot) {
  const PathPolicy policy({At("out/file")});
  EXPECT_OK(policy.Check(PosixFileSystem(), At("out/file")));
  EXPECT_THAT(policy.Check(PosixFileSystem(), At("out")),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, AnyOfSeveralRootsWillDo) {
  const PathPolicy policy({At("nowhere"), At("in/sub"), At("out")});
  EXPECT_OK(policy.Check(PosixFileSystem(), At("out/file")));
  EXPECT_THAT(policy.Check(PosixFileSystem(), At("in/file")),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, ARootMayBeALink) {
  EXPECT_OK(PathPolicy({At("root")}).Check(PosixFileSystem(), At("in/file")));
}

TEST_F(PathPolicyTest, ANameThatOnlyBeginsLikeARootIsNotBelowIt) {
  ASSERT_OK(PosixFileSystem().CreateDirectories(At("in_too")));
  EXPECT_THAT(Check("in_too"), HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, TheRootDirectoryAllowsEverything) {
  EXPECT_OK(PathPolicy({"/"}).Check(PosixFileSystem(), At("out/file")));
}

TEST_F(PathPolicyTest, WhatLiesElsewhereIsNotAllowed) {
  const absl::Status status = Check("out/file");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied,
                               HasReason(Reason::PATH_NOT_ALLOWED)));
  EXPECT_THAT(std::string(status.message()), HasSubstr(At("in")));
}

TEST_F(PathPolicyTest, DotsDoNotLeadOut) {
  EXPECT_THAT(Check("in/../out/file"), HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, LinksAreFollowed) {
  EXPECT_OK(Check("in/link_in"));
  EXPECT_THAT(Check("in/link_out"), HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_THAT(Check("in/directory_out/file"),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, WhatDoesNotExistYetIsAllowedBelowARoot) {
  EXPECT_OK(Check("in/new"));
  EXPECT_OK(Check("in/new/er/still"));
  EXPECT_THAT(Check("out/new"), HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, BelowALinkThatLeadsOutNothingNewIsAllowed) {
  EXPECT_THAT(Check("in/directory_out/new"),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, ALinkThatLeadsNowhereIsNotAllowed) {
  EXPECT_THAT(Check("in/link_nowhere"), HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_THAT(Check("in/link_nowhere/new"),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, DotsInWhatDoesNotExistAreNotAllowed) {
  EXPECT_THAT(Check("in/new/../../out/file"),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(PathPolicyTest, AnEmptyPathIsNoPath) {
  EXPECT_THAT(PathPolicy({}).Check(PosixFileSystem(), ""),
              HasReason(Reason::INVALID_CONFIG));
}

TEST_F(PathPolicyTest, ANulByteIsRefused) {
  EXPECT_THAT(PathPolicy({}).Check(PosixFileSystem(), std::string("/a\0b", 4)),
              HasReason(Reason::INVALID_CONFIG));
}

TEST_F(PathPolicyTest, TheFileSystemsOwnErrorsComeOut) {
  FakeFileSystem files;
  files.Put("/in/file", "x");
  files.FailNext(FileOperation::kRealPath, "/in/file",
                 MakeError(Reason::IO_ERROR, "the disk is gone"));
  EXPECT_THAT(PathPolicy({"/in"}).Check(files, "/in/file"),
              HasReason(Reason::IO_ERROR));
}

}  // namespace
}  // namespace penstock::core
