// Crashes and failures; what every FileSystem does is in
// tests/core/base/filesystem_contract_test.cc.
#include "tests/support/fake_filesystem.h"

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeFileSystemTest : public ::testing::Test {
 protected:
  FakeFileSystemTest() { EXPECT_OK(fs_.CreateDirectories("/d")); }

  std::unique_ptr<File> Open(absl::string_view path) {
    auto file = fs_.OpenForAppend(path, {});
    EXPECT_OK(file);
    return *std::move(file);
  }
  // A file whose name and content "base" are durable.
  std::unique_ptr<File> OpenDurable(absl::string_view path) {
    fs_.Put(path, "base");
    return Open(path);
  }

  FakeFileSystem fs_;
};

TEST_F(FakeFileSystemTest, CrashLosesUnsyncedAppends) {
  auto file = OpenDurable("/d/a");
  ASSERT_OK(file->Append("+synced"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Append("+lost"));
  EXPECT_EQ(fs_.Contents("/d/a"), "base+synced+lost");
  EXPECT_EQ(fs_.DurableContents("/d/a"), "base+synced");
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "base+synced");
}

TEST_F(FakeFileSystemTest, CrashLosesANewFileWhoseDirectoryWasNotSynced) {
  auto file = Open("/d/a");
  ASSERT_OK(file->Append("x"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(fs_.DurableContents("/d/a"), std::nullopt);
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), std::nullopt);
}

TEST_F(FakeFileSystemTest, SyncedDirectoryKeepsTheNameButNotTheBytes) {
  auto file = Open("/d/a");
  ASSERT_OK(file->Append("x"));
  ASSERT_OK(fs_.SyncDirectory("/d"));
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "");
}

TEST_F(FakeFileSystemTest, CrashLosesADirectoryThatWasNotSyncedWithItsFiles) {
  ASSERT_OK(fs_.MakeDirectory("/d/e"));
  auto file = Open("/d/e/a");
  ASSERT_OK(file->Append("x"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(fs_.SyncDirectory("/d/e"));
  EXPECT_EQ(fs_.DurableContents("/d/e/a"), std::nullopt);
  fs_.Crash();
  EXPECT_THAT(fs_.Stat("/d/e"), HasReason("NOT_FOUND"));
  EXPECT_EQ(fs_.Contents("/d/e/a"), std::nullopt);
}

// The process dies before any operation that makes directories; the next one
// finds some of them there, and then the power fails.
TEST_F(FakeFileSystemTest, CreateDirectoriesIsDurableWhoeverBegan) {
  for (uint64_t at = 1; at <= 6; ++at) {
    FakeFileSystem fs;
    fs.HaltAt(at);
    EXPECT_FALSE(fs.CreateDirectories("/a/b/c").ok()) << at;
    fs.KillProcess();
    ASSERT_OK(fs.CreateDirectories("/a/b/c")) << at;
    fs.Crash();
    EXPECT_OK(fs.Stat("/a/b/c")) << at;
  }
}

TEST_F(FakeFileSystemTest, CreateDirectoriesSyncsAgainWhatItCouldNotSync) {
  fs_.FailNext(FileOperation::kSyncDirectory, "/",
               MakeError(Reason::IO_ERROR, "injected"));
  EXPECT_THAT(fs_.CreateDirectories("/e"), HasReason("IO_ERROR"));
  ASSERT_OK(fs_.CreateDirectories("/e"));
  fs_.Crash();
  EXPECT_OK(fs_.Stat("/e"));
}

TEST_F(FakeFileSystemTest, SyncOfAnotherDirectoryKeepsNothing) {
  ASSERT_OK(fs_.CreateDirectories("/d/e"));
  Open("/d/e/a");
  ASSERT_OK(fs_.SyncDirectory("/d"));
  fs_.Crash();
  EXPECT_THAT(fs_.Files(), IsEmpty());
}

TEST_F(FakeFileSystemTest, CrashUndoesAnUnsyncedRename) {
  fs_.Put("/d/a", "new");
  fs_.Put("/d/b", "old");
  ASSERT_OK(fs_.Rename("/d/a", "/d/b"));
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "new");
  EXPECT_EQ(fs_.Contents("/d/b"), "old");
}

TEST_F(FakeFileSystemTest, CrashKeepsASyncedRename) {
  fs_.Put("/d/a", "new");
  fs_.Put("/d/b", "old");
  ASSERT_OK(fs_.Rename("/d/a", "/d/b"));
  ASSERT_OK(fs_.SyncDirectory("/d"));
  fs_.Crash();
  EXPECT_THAT(fs_.Files(), ElementsAre("/d/b"));
  EXPECT_EQ(fs_.Contents("/d/b"), "new");
}

TEST_F(FakeFileSystemTest, CrashUndoesUnsyncedRemoveAndLink) {
  fs_.Put("/d/a", "1");
  fs_.Put("/d/b", "2");
  ASSERT_OK(fs_.Remove("/d/a"));
  ASSERT_OK(fs_.Link("/d/b", "/d/c"));
  fs_.Crash();
  EXPECT_THAT(fs_.Files(), ElementsAre("/d/a", "/d/b"));
}

TEST_F(FakeFileSystemTest, CrashUndoesAnUnsyncedTruncation) {
  auto file = OpenDurable("/d/a");
  ASSERT_OK(file->Truncate(1));
  ASSERT_OK(file->Append("xyz"));
  EXPECT_EQ(fs_.Contents("/d/a"), "bxyz");
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "base");
}

TEST_F(FakeFileSystemTest, CrashKeepsASyncedTruncation) {
  auto file = OpenDurable("/d/a");
  ASSERT_OK(file->Truncate(1));
  ASSERT_OK(file->Sync());
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "b");
}

TEST_F(FakeFileSystemTest, RandomCrashesKeepEveryPossiblePrefix) {
  Random random = TestRandom();
  std::set<std::string> seen;
  for (int i = 0; i < 300; ++i) {
    auto file = OpenDurable("/d/a");
    ASSERT_OK(file->Append("123"));
    fs_.Crash(FakeFileSystem::Unsynced::kRandomPrefix, &random);
    seen.insert(fs_.Contents("/d/a").value_or("none"));
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"base", "base1", "base12", "base123"}));
}

TEST_F(FakeFileSystemTest, RandomCrashesKeepNamesInTheOrderTheyWereMade) {
  Random random = TestRandom();
  std::set<std::vector<std::string>> seen;
  for (int i = 0; i < 300; ++i) {
    FakeFileSystem fs;
    ASSERT_OK(fs.OpenForAppend("/a", {}));
    ASSERT_OK(fs.Rename("/a", "/b"));
    ASSERT_OK(fs.OpenForAppend("/c", {}));
    fs.Crash(FakeFileSystem::Unsynced::kRandomPrefix, &random);
    seen.insert(fs.Files());
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{
                      {}, {"/a"}, {"/b"}, {"/b", "/c"}}));
}

TEST_F(FakeFileSystemTest, FilesOpenedBeforeACrashAreDead) {
  auto file = OpenDurable("/d/a");
  EXPECT_EQ(fs_.open_files(), 1);
  fs_.Crash();
  EXPECT_EQ(fs_.open_files(), 0);
  std::string buffer(1, '.');
  EXPECT_THAT(file->ReadAt(0, buffer), HasReason("IO_ERROR"));
  EXPECT_THAT(file->Append("x"), HasReason("IO_ERROR"));
  EXPECT_THAT(file->Sync(), HasReason("IO_ERROR"));
  EXPECT_THAT(file->Truncate(0), HasReason("IO_ERROR"));
  EXPECT_THAT(file->Size(), HasReason("IO_ERROR"));
  EXPECT_EQ(fs_.Contents("/d/a"), "base");
  auto reopened = Open("/d/a");
  file.reset();
  EXPECT_EQ(fs_.open_files(), 1);
}

TEST_F(FakeFileSystemTest, KilledProcessLosesNothingButItsFiles) {
  auto file = Open("/d/a");
  ASSERT_OK(file->Append("x"));
  fs_.KillProcess();
  EXPECT_EQ(fs_.Contents("/d/a"), "x");
  EXPECT_THAT(file->Append("y"), HasReason("IO_ERROR"));
  EXPECT_EQ(fs_.DurableContents("/d/a"), std::nullopt);
}

TEST_F(FakeFileSystemTest, HaltedDiskRefusesAllUntilTheCrash) {
  auto file = OpenDurable("/d/a");
  fs_.Halt();
  EXPECT_TRUE(fs_.halted());
  EXPECT_FALSE(file->Append("x").ok());
  EXPECT_FALSE(file->Size().ok());
  EXPECT_FALSE(fs_.OpenForRead("/d/a").ok());
  EXPECT_FALSE(fs_.Rename("/d/a", "/d/b").ok());
  EXPECT_FALSE(fs_.Stat("/d/a").ok());
  EXPECT_FALSE(fs_.List("/d").ok());
  fs_.Crash();
  EXPECT_FALSE(fs_.halted());
  EXPECT_THAT(fs_.ReadFile("/d/a"), IsOkAndHolds("base"));
}

TEST_F(FakeFileSystemTest, HaltAtStopsBeforeTheChosenOperation) {
  auto file = OpenDurable("/d/a");
  fs_.HaltAt(2);
  EXPECT_OK(file->Append("1"));
  EXPECT_THAT(file->Append("2"), HasReason("IO_ERROR"));
  EXPECT_FALSE(file->Append("3").ok());
  fs_.KillProcess();
  EXPECT_EQ(fs_.Contents("/d/a"), "base1");
}

TEST_F(FakeFileSystemTest, HaltAtMayLetTheOperationTakeEffect) {
  auto file = OpenDurable("/d/a");
  ASSERT_OK(file->Append("1"));
  fs_.HaltAt(1, FakeFileSystem::HaltEffect::kAfter);
  EXPECT_FALSE(file->Sync().ok());
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "base1");
}

TEST_F(FakeFileSystemTest, HookSeesMutatingOperationsAndMayFailThem) {
  std::vector<std::pair<FileOperation, std::string>> seen;
  fs_.SetHook([&](FileOperation op, absl::string_view path) -> absl::Status {
    seen.emplace_back(op, path);
    if (op == FileOperation::kRename) {
      return MakeError(Reason::IO_ERROR, "not today");
    }
    return absl::OkStatus();
  });
  const uint64_t before = fs_.mutating_operations();
  EXPECT_FALSE(WriteFileDurably(fs_, "/d/a", "x").ok());
  EXPECT_EQ(fs_.mutating_operations() - before, seen.size());
  const std::pair<FileOperation, std::string> expected[] = {
      {FileOperation::kOpenForAppend, "/d/a.tmp"},
      {FileOperation::kTruncate, "/d/a.tmp"},
      {FileOperation::kAppend, "/d/a.tmp"},
      {FileOperation::kSync, "/d/a.tmp"},
      {FileOperation::kRename, "/d/a.tmp"},
      {FileOperation::kRemove, "/d/a.tmp"}};
  EXPECT_THAT(seen, ::testing::ElementsAreArray(expected));
  EXPECT_THAT(fs_.Files(), IsEmpty());
}

TEST_F(FakeFileSystemTest, HookMayHaltTheDiskAtThisOperation) {
  auto file = OpenDurable("/d/a");
  fs_.SetHook([&](FileOperation op, absl::string_view) {
    if (op == FileOperation::kSync) fs_.Halt();
    return absl::OkStatus();
  });
  ASSERT_OK(file->Append("x"));
  EXPECT_FALSE(file->Sync().ok());
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), "base");
}

TEST_F(FakeFileSystemTest, FailNextFailsSoManyTimesOnMatchingPaths) {
  auto a = OpenDurable("/d/a");
  auto b = OpenDurable("/d/b");
  fs_.FailNext(FileOperation::kAppend, "/a",
               MakeError(Reason::STORAGE_FULL, "full"), 2);
  EXPECT_OK(b->Append("x"));
  EXPECT_THAT(a->Append("x"), HasReason("STORAGE_FULL"));
  EXPECT_THAT(a->Append("x"), HasReason("STORAGE_FULL"));
  EXPECT_OK(a->Append("y"));
  EXPECT_EQ(fs_.Contents("/d/a"), "basey");
}

TEST_F(FakeFileSystemTest, FailNextFailsReadsToo) {
  fs_.Put("/d/a", "base");
  const absl::Status error = MakeError(Reason::IO_ERROR, "bad sector");
  fs_.FailNext(FileOperation::kReadAt, "a", error);
  EXPECT_EQ(fs_.ReadFile("/d/a").status(), error);
  fs_.FailNext(FileOperation::kOpenForRead, "a", error);
  EXPECT_EQ(fs_.ReadFile("/d/a").status(), error);
  fs_.FailNext(FileOperation::kList, "/d", error);
  EXPECT_EQ(fs_.List("/d").status(), error);
  EXPECT_OK(fs_.ReadFile("/d/a"));
}

TEST_F(FakeFileSystemTest, WhatAFailedSyncLeftIsLostEvenIfTheNextSucceeds) {
  auto file = OpenDurable("/d/a");
  ASSERT_OK(file->Append("1234"));
  fs_.FailNext(FileOperation::kSync, "a", MakeError(Reason::IO_ERROR, "eio"));
  EXPECT_FALSE(file->Sync().ok());
  ASSERT_OK(file->Append("5"));
  EXPECT_OK(file->Sync());
  EXPECT_EQ(fs_.Contents("/d/a"), "base12345");
  fs_.Crash();
  EXPECT_EQ(fs_.Contents("/d/a"), std::string("base\0\0\0\0"
                                              "5",
                                              9));
}

TEST_F(FakeFileSystemTest, ShortenedAppendWritesAPrefixAndSaysSo) {
  auto file = OpenDurable("/d/a");
  fs_.ShortenNextAppend("/d/a", 2);
  const absl::Status status = file->Append("1234");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("2 of 4 bytes")));
  EXPECT_EQ(fs_.Contents("/d/a"), "base12");
  EXPECT_OK(file->Append("3"));
}

TEST_F(FakeFileSystemTest, FullDiskWritesWhatFits) {
  auto file = OpenDurable("/d/a");
  fs_.SetCapacity(6);
  EXPECT_THAT(file->Append("1234"), HasReason("STORAGE_FULL"));
  EXPECT_EQ(fs_.Contents("/d/a"), "base12");
  ASSERT_OK(file->Truncate(0));
  EXPECT_OK(file->Append("123456"));
  fs_.SetCapacity(std::nullopt);
  EXPECT_OK(file->Append("7"));
}

TEST_F(FakeFileSystemTest, TimeOfChangeComesFromTheClockIfGiven) {
  FakeClock clock;
  FakeFileSystem fs(clock);
  auto file = fs.OpenForAppend("/a", {});
  ASSERT_OK(file);
  clock.Advance(absl::Seconds(5));
  ASSERT_OK((*file)->Append("x"));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, fs.Stat("/a"));
  EXPECT_EQ(stat.mtime, clock.Now());
}

TEST_F(FakeFileSystemTest, PutChangesAFileUnderItsReaders) {
  fs_.Put("/d/a", "base");
  ASSERT_OK_AND_ASSIGN(auto file, fs_.OpenForRead("/d/a"));
  fs_.Put("/d/a", "xy");
  EXPECT_THAT(file->Size(), IsOkAndHolds(2u));
}

TEST_F(FakeFileSystemTest, NumbersOfFilesThatAreGoneCanBeGivenAgain) {
  fs_.Put("/d/a", "1");
  fs_.Put("/d/b", "2");
  ASSERT_OK_AND_ASSIGN(const FileStat gone, fs_.Stat("/d/a"));
  fs_.RemoveForReuse("/d/a");
  EXPECT_EQ(fs_.Contents("/d/a"), std::nullopt);
  fs_.Put("/d/c", "3");
  fs_.Put("/d/e", "4");
  ASSERT_OK_AND_ASSIGN(const FileStat next, fs_.Stat("/d/c"));
  ASSERT_OK_AND_ASSIGN(const FileStat last, fs_.Stat("/d/e"));
  EXPECT_EQ(next.inode, gone.inode);
  EXPECT_GT(last.inode, next.inode);
}

TEST_F(FakeFileSystemTest, DirectoriesCannotBeRenamed) {
  EXPECT_THAT(fs_.Rename("/d", "/e"), HasReason("UNSUPPORTED"));
}

// A crash at every operation of WriteFileDurably, whether or not the operation
// took effect and whatever survives, leaves the old content or the new.
struct CrashCase {
  const char* name;
  FakeFileSystem::HaltEffect effect;
  FakeFileSystem::Unsynced unsynced;
};
class DurableWriteTest : public ::testing::TestWithParam<CrashCase> {};

TEST_P(DurableWriteTest, LeavesOldOrNewContentWhereverItIsCutOff) {
  Random random = TestRandom();
  uint64_t operations = 0;
  {
    FakeFileSystem fs;
    const uint64_t before = fs.mutating_operations();
    ASSERT_OK(WriteFileDurably(fs, "/a", "new"));
    operations = fs.mutating_operations() - before;
  }
  ASSERT_GE(operations, 6u);
  for (uint64_t at = 1; at <= operations + 1; ++at) {
    for (int round = 0; round < 20; ++round) {
      FakeFileSystem fs;
      fs.Put("/a", "old content");
      fs.HaltAt(at, GetParam().effect);
      const bool written = WriteFileDurably(fs, "/a", "new").ok();
      fs.Crash(GetParam().unsynced, &random);
      const std::string left = fs.Contents("/a").value_or("none");
      if (written) {
        ASSERT_EQ(left, "new") << "at operation " << at;
      } else {
        ASSERT_TRUE(left == "old content" || left == "new")
            << left << " at operation " << at;
      }
      ASSERT_OK(WriteFileDurably(fs, "/a", "next"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DurableWriteTest,
    ::testing::Values(
        CrashCase{"BeforeAllLost", FakeFileSystem::HaltEffect::kBefore,
                  FakeFileSystem::Unsynced::kLost},
        CrashCase{"AfterAllLost", FakeFileSystem::HaltEffect::kAfter,
                  FakeFileSystem::Unsynced::kLost},
        CrashCase{"BeforeSomeKept", FakeFileSystem::HaltEffect::kBefore,
                  FakeFileSystem::Unsynced::kRandomPrefix},
        CrashCase{"AfterSomeKept", FakeFileSystem::HaltEffect::kAfter,
                  FakeFileSystem::Unsynced::kRandomPrefix}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace penstock::core
