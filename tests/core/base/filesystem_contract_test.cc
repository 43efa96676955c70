// What every FileSystem does: run on the machine's and on the fake.
#include "core/base/check.h"
#include "core/base/filesystem.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file system and a fresh directory in it.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual FileSystem& fs() = 0;
  virtual std::string root() const = 0;
};

class PosixDriver final : public Driver {
 public:
  FileSystem& fs() override { return PosixFileSystem(); }
  std::string root() const override { return directory_.path(); }

 private:
  TempDir directory_;
};

class FakeDriver final : public Driver {
 public:
  FakeDriver() { CHECK_OK(fs_.CreateDirectories("/data")); }
  FileSystem& fs() override { return fs_; }
  std::string root() const override { return "/data"; }

 private:
  FakeFileSystem fs_;
};

struct Implementation {
  const char* name;
  std::unique_ptr<Driver> (*make)();
};

class FileSystemContractTest : public ::testing::TestWithParam<Implementation> {
 protected:
  std::string Path(absl::string_view name) const {
    return JoinPath(driver_->root(), name);
  }
  // Writes a file anew.
  void Write(absl::string_view name, absl::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(auto file,
                         fs().OpenForAppend(Path(name), {.create = true}));
    ASSERT_OK(file->Truncate(0));
    ASSERT_OK(file->Append(bytes));
  }
  FileSystem& fs() { return driver_->fs(); }

  const std::unique_ptr<Driver> driver_ = GetParam().make();
};

TEST_P(FileSystemContractTest, ReadsBackWhatWasAppended) {
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForAppend(Path("a"), {}));
  EXPECT_OK(file->Append("hello "));
  EXPECT_OK(file->Append(absl::string_view("w\0rld", 5)));
  EXPECT_OK(file->Sync());
  EXPECT_THAT(file->Size(), IsOkAndHolds(11u));
  EXPECT_THAT(fs().ReadFile(Path("a")),
              IsOkAndHolds(std::string("hello w\0rld", 11)));
}

TEST_P(FileSystemContractTest, AppendOfNothingIsNothing) {
  Write("a", "");
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds(""));
}

TEST_P(FileSystemContractTest, AppendGoesOnBehindWhatIsThere) {
  Write("a", "one");
  ASSERT_OK_AND_ASSIGN(auto file,
                       fs().OpenForAppend(Path("a"), {.create = false}));
  EXPECT_OK(file->Append("two"));
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("onetwo"));
}

TEST_P(FileSystemContractTest, AppendGoesToTheEndThatAnotherHandleMade) {
  ASSERT_OK_AND_ASSIGN(auto first, fs().OpenForAppend(Path("a"), {}));
  ASSERT_OK_AND_ASSIGN(auto second, fs().OpenForAppend(Path("a"), {}));
  EXPECT_OK(first->Append("1"));
  EXPECT_OK(second->Append("2"));
  EXPECT_OK(first->Append("3"));
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("123"));
}

TEST_P(FileSystemContractTest, ReadAtStopsAtTheEnd) {
  Write("a", "0123456789");
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForRead(Path("a")));
  std::string buffer(4, '.');
  EXPECT_THAT(file->ReadAt(2, buffer), IsOkAndHolds(4u));
  EXPECT_EQ(buffer, "2345");
  EXPECT_THAT(file->ReadAt(8, buffer), IsOkAndHolds(2u));
  EXPECT_EQ(buffer.substr(0, 2), "89");
  EXPECT_THAT(file->ReadAt(10, buffer), IsOkAndHolds(0u));
  EXPECT_THAT(file->ReadAt(1000, buffer), IsOkAndHolds(0u));
  EXPECT_THAT(file->ReadAt(0, std::span<char>()), IsOkAndHolds(0u));
  file->AdviseWillNeed(0, 10);
}

TEST_P(FileSystemContractTest, AdviceBeforeASyncChangesNothing) {
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForAppend(Path("a"), {}));
  ASSERT_OK(file->Append("abc"));
  file->AdviseWillSync(0, 3);
  file->AdviseWillSync(2, 1000);
  ASSERT_OK(file->Append("d"));
  EXPECT_OK(file->Sync());
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("abcd"));
}

TEST_P(FileSystemContractTest, FileForAppendCanBeRead) {
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForAppend(Path("a"), {}));
  ASSERT_OK(file->Append("abc"));
  std::string buffer(2, '.');
  EXPECT_THAT(file->ReadAt(1, buffer), IsOkAndHolds(2u));
  EXPECT_EQ(buffer, "bc");
}

TEST_P(FileSystemContractTest, FileForReadRefusesChanges) {
  Write("a", "abc");
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForRead(Path("a")));
  EXPECT_FALSE(file->Append("d").ok());
  EXPECT_FALSE(file->Truncate(0).ok());
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("abc"));
}

TEST_P(FileSystemContractTest, TruncateCutsAndFills) {
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForAppend(Path("a"), {}));
  ASSERT_OK(file->Append("abcdef"));
  EXPECT_OK(file->Truncate(2));
  EXPECT_OK(file->Append("X"));
  EXPECT_OK(file->Truncate(5));
  EXPECT_THAT(fs().ReadFile(Path("a")),
              IsOkAndHolds(std::string("abX\0\0", 5)));
}

TEST_P(FileSystemContractTest, MissingFileIsNotFound) {
  const std::string path = Path("none");
  EXPECT_THAT(fs().OpenForRead(path),
              StatusIs(absl::StatusCode::kNotFound, HasReason("NOT_FOUND")));
  EXPECT_THAT(fs().OpenForRead(path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  EXPECT_THAT(fs().OpenForAppend(path, {.create = false}),
              HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().Stat(path), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().Remove(path), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().Rename(path, Path("b")), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().Link(path, Path("b")), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().List(path), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().SyncDirectory(path), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().RealPath(path), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().ReadFile(path), HasReason("NOT_FOUND"));
}

TEST_P(FileSystemContractTest, FileInAMissingDirectoryIsNotFound) {
  Write("a", "x");
  EXPECT_THAT(fs().OpenForAppend(Path("no/a"), {}), HasReason("NOT_FOUND"));
  EXPECT_THAT(fs().Rename(Path("a"), Path("no/a")), HasReason("NOT_FOUND"));
}

TEST_P(FileSystemContractTest, ExclusiveOpenMakesButNeverFinds) {
  const AppendOptions exclusive{.create = true, .exclusive = true};
  EXPECT_OK(fs().OpenForAppend(Path("a"), exclusive));
  EXPECT_THAT(
      fs().OpenForAppend(Path("a"), exclusive),
      StatusIs(absl::StatusCode::kAlreadyExists, HasReason("ALREADY_EXISTS")));
}

TEST_P(FileSystemContractTest, StatTellsTypeSizeAndIdentity) {
  Write("a", "abc");
  Write("b", "");
  ASSERT_OK_AND_ASSIGN(const FileStat a, fs().Stat(Path("a")));
  ASSERT_OK_AND_ASSIGN(const FileStat b, fs().Stat(Path("b")));
  ASSERT_OK_AND_ASSIGN(const FileStat root, fs().Stat(driver_->root()));
  EXPECT_EQ(a.size, 3u);
  EXPECT_EQ(a.type, FileType::kRegular);
  EXPECT_EQ(root.type, FileType::kDirectory);
  EXPECT_EQ(a.device, b.device);
  EXPECT_NE(a.inode, b.inode);
  EXPECT_GT(a.mtime, absl::UnixEpoch());
}

TEST_P(FileSystemContractTest, OpenFileKeepsItsIdentityWhenRenamed) {
  Write("a", "abc");
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForRead(Path("a")));
  ASSERT_OK(fs().Rename(Path("a"), Path("b")));
  ASSERT_OK_AND_ASSIGN(const FileStat open, file->Stat());
  ASSERT_OK_AND_ASSIGN(const FileStat named, fs().Stat(Path("b")));
  EXPECT_EQ(open.inode, named.inode);
  EXPECT_EQ(open.size, 3u);
}

TEST_P(FileSystemContractTest, ListIsSortedByBytes) {
  Write("b", "");
  Write("a.tmp", "");
  Write("B", "");
  ASSERT_OK(fs().CreateDirectories(Path("c/d")));
  EXPECT_THAT(fs().List(driver_->root()),
              IsOkAndHolds(ElementsAre("B", "a.tmp", "b", "c")));
  EXPECT_THAT(fs().List(Path("c/d")), IsOkAndHolds(IsEmpty()));
  EXPECT_FALSE(fs().List(Path("b")).ok());
}

TEST_P(FileSystemContractTest, RenameReplaces) {
  Write("a", "new");
  Write("b", "old");
  EXPECT_OK(fs().Rename(Path("a"), Path("b")));
  EXPECT_THAT(fs().ReadFile(Path("b")), IsOkAndHolds("new"));
  EXPECT_THAT(fs().Stat(Path("a")), HasReason("NOT_FOUND"));
}

TEST_P(FileSystemContractTest, RenameOntoADirectoryFails) {
  Write("a", "x");
  ASSERT_OK(fs().CreateDirectories(Path("d")));
  EXPECT_FALSE(fs().Rename(Path("a"), Path("d")).ok());
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("x"));
}

TEST_P(FileSystemContractTest, LinkIsASecondNameOfTheSameFile) {
  Write("a", "abc");
  EXPECT_OK(fs().Link(Path("a"), Path("b")));
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForAppend(Path("b"), {}));
  ASSERT_OK(file->Append("d"));
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("abcd"));
  EXPECT_OK(fs().Remove(Path("a")));
  EXPECT_THAT(fs().ReadFile(Path("b")), IsOkAndHolds("abcd"));
}

TEST_P(FileSystemContractTest, LinkNeverReplaces) {
  Write("a", "1");
  Write("b", "2");
  EXPECT_THAT(fs().Link(Path("a"), Path("b")), HasReason("ALREADY_EXISTS"));
  EXPECT_THAT(fs().ReadFile(Path("b")), IsOkAndHolds("2"));
}

TEST_P(FileSystemContractTest, RemovedFileStaysReadableWhileOpen) {
  Write("a", "abc");
  ASSERT_OK_AND_ASSIGN(auto file, fs().OpenForRead(Path("a")));
  EXPECT_OK(fs().Remove(Path("a")));
  std::string buffer(3, '.');
  EXPECT_THAT(file->ReadAt(0, buffer), IsOkAndHolds(3u));
}

TEST_P(FileSystemContractTest, RemoveTakesOnlyEmptyDirectories) {
  ASSERT_OK(fs().CreateDirectories(Path("d")));
  Write("d/a", "");
  EXPECT_FALSE(fs().Remove(Path("d")).ok());
  ASSERT_OK(fs().Remove(Path("d/a")));
  EXPECT_OK(fs().Remove(Path("d")));
  EXPECT_THAT(fs().Stat(Path("d")), HasReason("NOT_FOUND"));
}

TEST_P(FileSystemContractTest, CreateDirectoriesMakesParentsAndRepeats) {
  EXPECT_OK(fs().CreateDirectories(Path("x/y/z")));
  EXPECT_OK(fs().CreateDirectories(Path("x/y/z")));
  EXPECT_OK(fs().CreateDirectories(Path("x/y/z/")));
  EXPECT_OK(fs().SyncDirectory(Path("x/y")));
  Write("x/y/z/a", "1");
}

TEST_P(FileSystemContractTest, CreateDirectoriesFailsOnAFile) {
  Write("a", "");
  EXPECT_THAT(fs().CreateDirectories(Path("a")), HasReason("INVALID_CONFIG"));
  EXPECT_THAT(fs().CreateDirectories(Path("a/b")), HasReason("INVALID_CONFIG"));
}

TEST_P(FileSystemContractTest, DirectoryIsNotAFile) {
  EXPECT_FALSE(fs().OpenForRead(driver_->root()).ok());
  EXPECT_FALSE(fs().OpenForAppend(driver_->root(), {}).ok());
  EXPECT_FALSE(fs().ReadFile(driver_->root()).ok());
}

TEST_P(FileSystemContractTest, RealPathResolvesDots) {
  ASSERT_OK(fs().CreateDirectories(Path("d")));
  Write("a", "");
  EXPECT_THAT(fs().RealPath(Path("d/.././a")), IsOkAndHolds(Path("a")));
}

TEST_P(FileSystemContractTest, ReadFileKeepsItsLimit) {
  Write("a", "12345");
  EXPECT_THAT(fs().ReadFile(Path("a"), 5), IsOkAndHolds("12345"));
  EXPECT_THAT(fs().ReadFile(Path("a"), 4), HasReason("RECORD_TOO_LARGE"));
}

TEST_P(FileSystemContractTest, ReadFileReadsMoreThanOneStep) {
  std::string big(200'000, 'x');
  big.back() = 'y';
  Write("a", big);
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds(big));
}

TEST_P(FileSystemContractTest, WriteFileDurablyReplacesAndLeavesNothingElse) {
  EXPECT_OK(WriteFileDurably(fs(), Path("a"), "one and more"));
  EXPECT_OK(WriteFileDurably(fs(), Path("a"), "two"));
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("two"));
  EXPECT_THAT(fs().List(driver_->root()), IsOkAndHolds(ElementsAre("a")));
}

TEST_P(FileSystemContractTest, WriteFileDurablyPassesALeftOverTemporaryFile) {
  Write("a.tmp", "half of something longer");
  EXPECT_OK(WriteFileDurably(fs(), Path("a"), "x"));
  EXPECT_THAT(fs().ReadFile(Path("a")), IsOkAndHolds("x"));
}

TEST_P(FileSystemContractTest, WriteFileDurablyNamesTheFileItFailedAt) {
  EXPECT_THAT(WriteFileDurably(fs(), Path("no/a"), "x"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("while writing " + Path("no/a"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSystemContractTest,
    ::testing::Values(Implementation{"Posix",
                                     []() -> std::unique_ptr<Driver> {
                                       return std::make_unique<PosixDriver>();
                                     }},
                      Implementation{"Fake",
                                     []() -> std::unique_ptr<Driver> {
                                       return std::make_unique<FakeDriver>();
                                     }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace penstock::core
