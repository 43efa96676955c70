// Files that are finished, and renamed when they are.
#include "core/base/error.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_committer.h"
#include "core/sinks/file/layout.h"
#include "tests/core/sinks/file/file_sink_fixture.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string NameOf(uint32_t number, ShardIndex shard = 0) {
  return SinkFileName({.kind = SinkFileKind::kData,
                       .writer = kWriter,
                       .number = number,
                       .shard = shard});
}

class FileSinkRollTest : public FileSinkTest {};

TEST_F(FileSinkRollTest, FileIsFinishedByTheCommitThatReachesItsSize) {
  config_.roll.bytes = 3;
  ASSERT_OK(Open());
  WriteSteps(0, 5);
  EXPECT_THAT(NamesWith("data-"), ElementsAre(NameOf(0), NameOf(1), NameOf(2)));
  EXPECT_EQ(files_.Contents(PathOf(NameOf(0))), "0\n1\n");
  EXPECT_EQ(files_.Contents(PathOf(NameOf(2))), "4\n");
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n3\n4\n");
}

TEST_F(FileSinkRollTest, FileIsFinishedByTheCommitThatReachesItsSteps) {
  config_.roll.steps = 3;
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 2}, "0\n1\n"));
  ASSERT_OK(WriteAndCommit(0, {2, 5}, "2\n3\n4\n"));
  ASSERT_OK(WriteAndCommit(0, {5, 6}, "5\n"));
  EXPECT_EQ(files_.Contents(PathOf(NameOf(0))), "0\n1\n2\n3\n4\n");
  EXPECT_EQ(files_.Contents(PathOf(NameOf(1))), "5\n");
}

TEST_F(FileSinkRollTest, StepsWithoutRowsBeginNoFile) {
  config_.roll.steps = 1;
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "0\n"));
  ASSERT_OK(WriteAndCommit(0, {1, 2}, ""));
  ASSERT_OK(WriteAndCommit(0, {2, 3}, "2\n"));
  EXPECT_THAT(NamesWith("data-"), ElementsAre(NameOf(0), NameOf(1)));
  EXPECT_THAT(Read().progress, ElementsAre(3, 0));
}

TEST_F(FileSinkRollTest, FileIsFinishedByTheCommitAfterItsTime) {
  config_.roll.interval = absl::Minutes(1);
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  Advance(absl::Seconds(59));
  WriteSteps(1, 2);
  EXPECT_THAT(NamesWith("data-"), ElementsAre(NameOf(0)));
  // A batch is being written when the time is over, so no timer finishes it.
  ASSERT_OK(Write(0, {2, 3}, "2\n"));
  Advance(absl::Seconds(2));
  ASSERT_OK(Commit(0, {2, 3}));
  WriteSteps(3, 4);
  EXPECT_EQ(files_.Contents(PathOf(NameOf(0))), "0\n1\n2\n");
  EXPECT_EQ(files_.Contents(PathOf(NameOf(1))), "3\n");
}

TEST_F(FileSinkRollTest, FailedBatchIsCutOffBeforeAFileIsFinished) {
  config_.roll.interval = absl::Minutes(1);
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  ASSERT_OK(Write(0, {1, 2}, "1\n"));
  files_.ShortenNextAppend("/manifest.", 5);
  EXPECT_THAT(Commit(0, {1, 2}), HasReason(Reason::STORAGE_FULL));
  Advance(absl::Minutes(2));
  EXPECT_EQ(Read().contents[0], "0\n");
  ASSERT_OK(WriteAndCommit(0, {1, 2}, "other\n"));
  WriteSteps(2, 3);
  EXPECT_EQ(files_.Contents(PathOf(NameOf(0))), "0\nother\n");
  EXPECT_EQ(Read().contents[0], "0\nother\n2\n");
}

TEST_F(FileSinkRollTest, NothingRollsByDefault) {
  ASSERT_OK(Open());
  WriteSteps(0, 100);
  Advance(absl::Hours(100));
  WriteSteps(100, 101);
  EXPECT_THAT(NamesWith("data-"), ElementsAre(NameOf(0)));
  EXPECT_EQ(io_.timer_count(), 0u);
}

TEST_F(FileSinkRollTest, DiskFullForTheRecordThatFinishesIsTriedAgain) {
  config_.roll.steps = 1;
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "0\n"));
  files_.ShortenNextAppend("/manifest.", 20);
  EXPECT_THAT(Commit(0, {0, 1}), HasReason(Reason::STORAGE_FULL));
  WriteSteps(0, 2);
  EXPECT_THAT(NamesWith("data-"), ElementsAre(NameOf(0), NameOf(1)));
  EXPECT_EQ(Read().contents[0], "0\n1\n");
}

// --- Visibility by name.

class FileSinkRenameTest : public FileSinkRollTest {
 protected:
  FileSinkRenameTest() {
    config_.visibility = FileVisibility::kRename;
    config_.roll.steps = 2;
  }
};

TEST_F(FileSinkRenameTest, FileIsSeenWhenAllOfItIsCommitted) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 2}, "0\n1\n"));
  EXPECT_THAT(WholeFiles(), IsEmpty());
  ASSERT_OK(Commit(0, {0, 2}));
  EXPECT_THAT(WholeFiles(), ElementsAre(WholeName(1, 0)));
  EXPECT_EQ(files_.Contents(PathOf(WholeName(1, 0))), "0\n1\n");
  EXPECT_EQ(files_.DurableContents(PathOf(WholeName(1, 0))), "0\n1\n");
  WriteSteps(2, 3);
  EXPECT_THAT(WholeFiles(), SizeIs(1));
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n");
}

TEST_F(FileSinkRenameTest, IdleFileIsSeenWhenItsTimeIsOver) {
  config_.roll.interval = absl::Minutes(1);
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  Advance(absl::Seconds(59));
  EXPECT_THAT(WholeFiles(), IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(WholeFiles(), ElementsAre(WholeName(1, 0)));
  EXPECT_EQ(io_.timer_count(), 0u);
  WriteSteps(1, 2);
  EXPECT_EQ(Read().contents[0], "0\n1\n");
}

TEST_F(FileSinkRenameTest, DiskFullForAnIdleFileIsTriedAgainLater) {
  config_.roll.interval = absl::Minutes(1);
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  files_.ShortenNextAppend("/manifest.", 3);
  Advance(absl::Minutes(1));
  EXPECT_THAT(WholeFiles(), IsEmpty());
  // Not at once, and then for ever.
  EXPECT_EQ(io_.timer_count(), 1u);
  Advance(absl::Seconds(1));
  EXPECT_THAT(WholeFiles(), SizeIs(1));
}

TEST_F(FileSinkRenameTest, CloseFinishesTheLastFiles) {
  ASSERT_OK(Open());
  WriteSteps(0, 3);
  ASSERT_OK(WriteAndCommit(1, {0, 1}, "other shard\n"));
  ASSERT_OK(sink_->Close());
  EXPECT_THAT(WholeFiles(), SizeIs(3));
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n");
  EXPECT_THAT(ReadWholeFiles(files_),
              ElementsAre("0\n1\n2\n", "other shard\n"));
}

TEST_F(FileSinkRenameTest, CloseRunsTheRoundThatHasNotBegun) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "0\n"));
  answers_[0] = absl::UnknownError("no answer");
  BeginCommit(0, {0, 1});
  ASSERT_OK(sink_->Close());
  EXPECT_OK(answers_[0]);
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n", ""));
  // It comes too late, and does nothing.
  io_.RunUntilIdle();
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n", ""));
}

TEST_F(FileSinkRenameTest, CloseLeavesWhatHasMoreThanItCommitted) {
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  ASSERT_OK(Write(0, {1, 2}, "1\n"));
  ASSERT_OK(sink_->Close());
  EXPECT_THAT(WholeFiles(), IsEmpty());
  ASSERT_OK(Open(2));
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n", ""));
}

TEST_F(FileSinkRenameTest, NextOpenShowsACopyOfWhatWasLeftUnfinished) {
  ASSERT_OK(Open(1));
  WriteSteps(0, 3);
  ASSERT_OK(Write(0, {3, 4}, "never committed\n"));
  const auto old = std::move(endpoints_);
  const auto old_sink = std::move(sink_);
  ASSERT_OK(Open(2));
  EXPECT_THAT(WholeFiles(), ElementsAre(WholeName(1, 0), WholeName(2, 0)));
  EXPECT_EQ(files_.Contents(PathOf(WholeName(2, 0))), "2\n");
  // The old writer wakes up, knowing nothing: what is seen does not change.
  ASSERT_OK(old[0]->BatchStart({.steps = {3, 4}}));
  ASSERT_OK(old[0]->PushBuffer("late\n"));
  EXPECT_EQ(files_.Contents(PathOf(WholeName(2, 0))), "2\n");
  WriteSteps(3, 4);
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n3\n");
  // The open after the next has nothing left to remove.
  ASSERT_OK(Open(3));
  ASSERT_OK(Open(4));
  ASSERT_OK(Open(5));
  EXPECT_THAT(NamesWith("files/."), IsEmpty());
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n1\n2\n3\n", ""));
}

TEST_F(FileSinkRenameTest, OpenOnAFullDiskLeavesNoCopy) {
  ASSERT_OK(Open(1));
  WriteSteps(0, 1);
  const std::vector<std::string> before = files_.Files();
  files_.ShortenNextAppend("/.copy-", 1);
  EXPECT_THAT(Open(2), HasReason(Reason::STORAGE_FULL));
  EXPECT_EQ(files_.Files(), before);
  files_.ShortenNextAppend("/manifest.", 1);
  EXPECT_THAT(Open(2), HasReason(Reason::STORAGE_FULL));
  EXPECT_EQ(files_.Files(), before);
  EXPECT_OK(Open(2));
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n", ""));
}

TEST_F(FileSinkRenameTest, ReadersMayTakeWholeFilesAway) {
  ASSERT_OK(Open(1));
  WriteSteps(0, 2);
  ASSERT_OK(files_.Remove(PathOf(WholeName(1, 0))));
  WriteSteps(2, 4);
  ASSERT_OK(Open(2));
  WriteSteps(4, 6);
  EXPECT_THAT(WholeFiles(), ElementsAre(WholeName(1, 1), WholeName(2, 0)));
  // Who reads by the manifest is told what is missing.
  EXPECT_THAT(ReadCommitted(files_, kDirectory).status(),
              HasReason(Reason::NOT_FOUND));
}

TEST_F(FileSinkRenameTest, DiskFullForANameIsTriedAgainWithTheNextCommit) {
  ASSERT_OK(Open());
  files_.FailNext(FileOperation::kRename, "/files/",
                  MakeError(Reason::STORAGE_FULL, "injected"), 2);
  WriteSteps(0, 2);
  EXPECT_THAT(WholeFiles(), IsEmpty());
  EXPECT_EQ(Read().contents[0], "0\n1\n");
  WriteSteps(2, 3);
  EXPECT_THAT(WholeFiles(), IsEmpty());
  WriteSteps(3, 4);
  EXPECT_THAT(WholeFiles(), ElementsAre(WholeName(1, 0), WholeName(1, 1)));
}

TEST_F(FileSinkRenameTest, ManyFilesWithoutNamesHoldCommitsUp) {
  config_.roll.steps = 1;
  ASSERT_OK(Open());
  files_.FailNext(FileOperation::kRename, "/files/",
                  MakeError(Reason::STORAGE_FULL, "injected"), 1 << 20);
  Step step = 0;
  absl::Status status;
  while (step < 1000 && status.ok()) {
    status = WriteAndCommit(0, {step, step + 1}, "row\n");
    step += status.ok() ? 1 : 0;
  }
  EXPECT_THAT(status, HasReason(Reason::STORAGE_FULL));
  EXPECT_TRUE(InvitesRetry(status));
  EXPECT_EQ(step, FileCommitter::kUnplacedMax + 1);
}

TEST_F(FileSinkRenameTest, AnotherFileOfThatNameIsNeverReplaced) {
  ASSERT_OK(Open());
  files_.Put(PathOf(WholeName(1, 0)), "mine");
  // The commit is durable and says so; then the writer ends.
  WriteSteps(0, 2);
  const absl::Status status = Write(0, {2, 3}, "2\n");
  EXPECT_THAT(status, HasReason(Reason::ALREADY_EXISTS));
  EXPECT_THAT(status.message(), HasSubstr("move that one away"));
  EXPECT_EQ(files_.Contents(PathOf(WholeName(1, 0))), "mine");
  EXPECT_THAT(Open(2), HasReason(Reason::ALREADY_EXISTS));
  ASSERT_OK(files_.Remove(PathOf(WholeName(1, 0))));
  ASSERT_OK(Open(3));
  EXPECT_EQ(files_.Contents(PathOf(WholeName(1, 0))), "0\n1\n");
}

TEST_F(FileSinkRenameTest, FailedSyncOfFinalNamesEndsTheWriter) {
  ASSERT_OK(Open());
  WriteSteps(0, 1);
  files_.FailNext(FileOperation::kSyncDirectory, "/files",
                  MakeError(Reason::STORAGE_FULL, "injected"));
  WriteSteps(1, 2);
  EXPECT_THAT(Write(0, {2, 3}, "2\n"), HasReason(Reason::IO_ERROR));
  ASSERT_OK(Open(2));
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n1\n", ""));
}

TEST_F(FileSinkRenameTest, FencedWriterRenamesNothing) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 2}, "0\n1\n"));
  SinkProcess higher(files_, {.open_number = 2});
  higher.Open();
  ASSERT_OK(higher.opened());
  EXPECT_THAT(Commit(0, {0, 2}), HasReason(Reason::WRITER_FENCED));
  ASSERT_OK(sink_->Close());
  EXPECT_THAT(WholeFiles(), IsEmpty());
}

TEST_F(FileSinkRenameTest, PatternNamesWholeFiles) {
  config_.name = "orders-{number}_{shard}.{writer}.ndjson";
  config_.compression = Compression::kGzip;
  ASSERT_OK(Open());
  WriteSteps(0, 2);
  EXPECT_THAT(NamesWith("files/orders"),
              ElementsAre(absl::StrCat("files/orders-000000_0000.",
                                       WriterName(kWriter), ".ndjson.gz")));
}

TEST_F(FileSinkRenameTest, OptionsMayChangeWithEachOpen) {
  ASSERT_OK(Open(1));
  WriteSteps(0, 3);
  config_.visibility = FileVisibility::kManifest;
  config_.compression = Compression::kZstd;
  ASSERT_OK(Open(2));
  WriteSteps(3, 4);
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n1\n2\n", ""));
  config_.visibility = FileVisibility::kRename;
  config_.compression = Compression::kGzip;
  ASSERT_OK(Open(3));
  WriteSteps(4, 6);
  // What kept its name is not renamed later.
  EXPECT_THAT(ReadWholeFiles(files_), ElementsAre("0\n1\n2\n4\n5\n", ""));
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n3\n4\n5\n");
}

}  // namespace
}  // namespace penstock::core
