#include "core/sources/file/file_finder.h"

#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class FileFinderTest : public testing::Test {
 protected:
  std::vector<std::string> Find(absl::string_view pattern,
                                FileOrder order = FileOrder::kName) {
    FileFinder finder(files_, PathPattern(pattern), order);
    std::vector<std::string> paths;
    for (FoundFile& found : finder.FindAll()) {
      paths.push_back(std::move(found.path));
    }
    problem_ = finder.problem();
    return paths;
  }

  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  absl::Status problem_;
};

TEST_F(FileFinderTest, FindsOneFileByItsPath) {
  files_.Put("/logs/a.log", "a");
  EXPECT_THAT(Find("/logs/a.log"), ElementsAre("/logs/a.log"));
}

TEST_F(FileFinderTest, AFileThatIsNotThereIsNoProblem) {
  EXPECT_THAT(Find("/logs/a.log"), IsEmpty());
  EXPECT_THAT(Find("/logs/*/*.log"), IsEmpty());
  EXPECT_OK(problem_);
}

TEST_F(FileFinderTest, FindsWhatMatchesInOrderOfNames) {
  for (const char* path : {"/l/b.log", "/l/a.log", "/l/a.txt", "/l/.c.log"}) {
    files_.Put(path, "x");
  }
  EXPECT_THAT(Find("/l/*.log"), ElementsAre("/l/a.log", "/l/b.log"));
  EXPECT_THAT(Find("/l/[!a]*"), ElementsAre("/l/b.log"));
  EXPECT_THAT(Find("/l/a.t?t"), ElementsAre("/l/a.txt"));
}

TEST_F(FileFinderTest, FindsInOrderOfModification) {
  files_.Put("/l/b", "x");
  files_.Put("/l/a", "x");
  EXPECT_THAT(Find("/l/*", FileOrder::kModified), ElementsAre("/l/b", "/l/a"));
}

// Case B045.
TEST_F(FileFinderTest, DirectoriesMayHaveWildcards) {
  for (const char* path : {"/l/x/y/app.log", "/l/z/q/app.log", "/l/app.log",
                           "/l/x/app.log", "/l/x/y/other.log"}) {
    files_.Put(path, "x");
  }
  EXPECT_THAT(Find("/l/*/*/app.log"),
              ElementsAre("/l/x/y/app.log", "/l/z/q/app.log"));
}

TEST_F(FileFinderTest, TwoStarsStandForAnyDirectories) {
  for (const char* path : {"/l/a.log", "/l/x/b.log", "/l/x/y/c.log"}) {
    files_.Put(path, "x");
  }
  EXPECT_THAT(Find("/l/**/*.log"),
              ElementsAre("/l/a.log", "/l/x/b.log", "/l/x/y/c.log"));
  EXPECT_THAT(Find("/l/**"),
              ElementsAre("/l/a.log", "/l/x/b.log", "/l/x/y/c.log"));
}

TEST_F(FileFinderTest, ABackslashMakesAWildcardPlain) {
  files_.Put("/l/a*", "x");
  files_.Put("/l/ab", "x");
  EXPECT_THAT(Find("/l/a\\*"), ElementsAre("/l/a*"));
}

TEST_F(FileFinderTest, DirectoriesAreNoFiles) {
  files_.Put("/l/d.log/a", "x");
  EXPECT_THAT(Find("/l/*.log"), IsEmpty());
}

TEST_F(FileFinderTest, WhatCannotBeLookedAtIsAProblemOnlyThere) {
  files_.Put("/l/a/x", "x");
  files_.Put("/l/b/x", "x");
  files_.FailNext(FileOperation::kList, "/l/a",
                  MakeError(Reason::PERMISSION_DENIED, "no"));
  EXPECT_THAT(Find("/l/*/*"), ElementsAre("/l/b/x"));
  EXPECT_THAT(problem_, HasReason(Reason::PERMISSION_DENIED));
}

TEST_F(FileFinderTest, ManyNamesTakeManySteps) {
  for (int i = 0; i < 3000; ++i) files_.Put(absl::StrCat("/l/", i), "");
  FileFinder finder(files_, PathPattern("/l/*"), FileOrder::kName);
  finder.Begin();
  int steps = 1;
  while (!finder.Step()) ++steps;
  EXPECT_GE(steps, 3);
  EXPECT_THAT(finder.Take(), SizeIs(3000));
}

TEST_F(FileFinderTest, ACircleOfLinksEnds) {
  TempDir directory;
  std::filesystem::create_directory_symlink(directory.Path("."),
                                            directory.Path("circle"));
  ASSERT_OK(
      WriteFileDurably(PosixFileSystem(), directory.Path("a.log"), "a\n"));
  for (int i = 0; i < 3; ++i) {
    std::filesystem::create_directory_symlink(
        directory.Path("circle"), directory.Path(absl::StrCat("again", i)));
  }
  FileFinder finder(PosixFileSystem(), PathPattern(directory.Path("**/a.log")),
                    FileOrder::kName);
  EXPECT_THAT(finder.FindAll(), SizeIs(1)) << "each directory once";
}

TEST_F(FileFinderTest, AnyDirectoriesAreNoWayOutOfWhatIsAllowed) {
  const TempDir directory;
  FileSystem& files = PosixFileSystem();
  const std::string root = directory.Path("root");
  for (const char* path : {"root/in/a.log", "outside/b.log"}) {
    const std::string whole = directory.Path(path);
    ASSERT_OK(files.CreateDirectories(DirectoryOf(whole)));
    ASSERT_OK(WriteFileDurably(files, whole, "x"));
  }
  std::filesystem::create_directory_symlink(directory.Path("outside"),
                                            directory.Path("root/link"));
  const PathPolicy allowed({root});
  const PathPattern pattern(absl::StrCat(root, "/**/*.log"));
  FileFinder finder(files, pattern, FileOrder::kName, &allowed);
  EXPECT_THAT(finder.FindAll(), SizeIs(1));
  EXPECT_OK(finder.problem());
  // Without roots it goes where links lead.
  EXPECT_THAT(FileFinder(files, pattern, FileOrder::kName).FindAll(),
              SizeIs(2));
}

}  // namespace
}  // namespace penstock::core
