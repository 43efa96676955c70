// The source "file" that follows files. The names of cases are those of the
// field faults that the tests were made after.
#include "tests/core/sources/file/many_files_fixture.h"
#include "tests/support/compress.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kLog[] = "/l/a.log";

class FollowedFilesTest : public ManyFilesTest {
 protected:
  FollowedFilesTest() { config_.follow = true; }
  // A copy of the position that holds all.
  std::string Here() const { return steps_.back().seek(); }
};

std::string Lines(absl::string_view prefix, int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) absl::StrAppend(&text, prefix, i, "\n");
  return text;
}

TEST_F(FollowedFilesTest, ReadsWhatIsAddedAndNeverEnds) {
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  Append(kLog, "2\n");
  EXPECT_THAT(Read(), ElementsAre("2"));
  EXPECT_EQ(consumer_->transcript().end_of_inputs, 0u);
}

// B028
TEST_F(FollowedFilesTest, ALineWithoutItsEndIsHeld) {
  files_.Put(kLog, "1\n2\n3");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1", "2"));
  EXPECT_THAT(Read(absl::Minutes(1)), IsEmpty());
  Append(kLog, "\n");
  EXPECT_THAT(Read(), ElementsAre("3"));
}

TEST_F(FollowedFilesTest, AHeldLineIsReadAfterARestart) {
  files_.Put(kLog, "1\n2");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  Append(kLog, "2\n");
  Open(Here());
  EXPECT_THAT(Read(), ElementsAre("22"));
}

// B039
TEST_F(FollowedFilesTest, WrittenAnewAndLongerIsAnotherFile) {
  files_.Put(kLog, Lines("old-", 0, 10));
  Open();
  EXPECT_THAT(Read(), SizeIs(10));
  Rewrite(kLog, Lines("new-", 0, 100));
  EXPECT_THAT(Read(), SizeIs(100));
  EXPECT_FALSE(HasFailed());
  // All of the old one had been read: nothing is said to be lost.
  Run(absl::Minutes(1));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

TEST_F(FollowedFilesTest, CutOffIsReadFromItsBeginning) {
  files_.Put(kLog, Lines("old-", 0, 10));
  Open();
  EXPECT_THAT(Read(), SizeIs(10));
  Rewrite(kLog, "");
  EXPECT_THAT(Read(), IsEmpty());
  Append(kLog, "new\n");
  EXPECT_THAT(Read(), ElementsAre("new"));
}

TEST_F(FollowedFilesTest, WrittenAnewWhileAwayIsAnotherFile) {
  files_.Put(kLog, Lines("old-", 0, 10));
  Open();
  EXPECT_THAT(Read(), SizeIs(10));
  Rewrite(kLog, Lines("new-", 0, 100));
  Open(Here());
  EXPECT_THAT(Read(absl::Seconds(2)), SizeIs(100));
}

TEST_F(FollowedFilesTest, WhatIsLostWhenItIsCutOffIsSaid) {
  files_.Put(kLog, "1\n2");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  Rewrite(kLog, "");
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_THAT(consumer_->transcript().errors, SizeIs(1));
  EXPECT_FALSE(consumer_->transcript().errors[0].fatal);
  EXPECT_THAT(std::string(consumer_->transcript().errors[0].status.message()),
              HasSubstr("1 bytes behind byte 2"));
}

// Of the old content, whatever the new one's length.
TEST_F(FollowedFilesTest, WhatIsLostWhenItIsWrittenAnewAndLongerIsSaid) {
  files_.Put(kLog, "1\n2");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  Rewrite(kLog, Lines("new-", 0, 100));
  EXPECT_THAT(Read(absl::Seconds(2)), SizeIs(100));
  ASSERT_THAT(consumer_->transcript().errors, SizeIs(1));
  EXPECT_THAT(std::string(consumer_->transcript().errors[0].status.message()),
              HasSubstr("1 bytes behind byte 2"));
}

TEST_F(FollowedFilesTest, WhatIsLostOfAFileThatWasNotOpenIsSaid) {
  files_.Put(kLog, "one\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("one"));
  // It grows, cannot be read, nor opened again; then it goes.
  Append(kLog, "two\n");
  const absl::Status no = MakeError(Reason::PERMISSION_DENIED, "no");
  files_.FailNext(FileOperation::kReadAt, kLog, no, 1);
  files_.FailNext(FileOperation::kOpenForRead, kLog, no, 1000);
  Run();
  ASSERT_OK(files_.Remove(kLog));
  Run(absl::Seconds(10));
  size_t losses = 0;
  for (const auto& error : consumer_->transcript().errors) {
    if (error.tag != "file_lost") continue;
    ++losses;
    EXPECT_THAT(std::string(error.status.message()),
                HasSubstr("4 bytes behind byte 4"));
  }
  EXPECT_EQ(losses, 1u);
  EXPECT_FALSE(HasFailed());
}

// However often it has come to rest: it stays open, and is read to its end.
TEST_F(FollowedFilesTest, AFileThatRestedOftenIsStillReadWhenItIsGone) {
  files_.Put(kLog, "0\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("0"));
  for (int i = 1; i <= 300; ++i) {
    Append(kLog, absl::StrCat(i, "\n"));
    ASSERT_THAT(Read(), ElementsAre(absl::StrCat(i)));
  }
  Append(kLog, "last\n");
  ASSERT_OK(files_.Remove(kLog));
  EXPECT_THAT(Read(), ElementsAre("last"));
}

TEST_F(FollowedFilesTest, ALineMaySpanMembersThatComeOneByOne) {
  const std::string path = "/l/a.log.gz";
  files_.Put(path, Gzip("a\nb"));
  Open();
  EXPECT_THAT(Read(), ElementsAre("a"));
  EXPECT_THAT(Read(absl::Minutes(1)), IsEmpty());
  Append(path, Gzip("b\nc\n"));
  EXPECT_THAT(Read(), ElementsAre("bb", "c"));
  EXPECT_THAT(ErrorTags(), IsEmpty());
}

TEST_F(FollowedFilesTest, ACompressedFileThatIsStillWrittenIsNotDamaged) {
  const std::string path = "/l/a.log.gz";
  const std::string whole = Gzip(Lines("a line that is a bit longer ", 0, 500));
  files_.Put(path, whole.substr(0, whole.size() / 2));
  Open();
  const size_t before = Read(absl::Minutes(2)).size();
  EXPECT_THAT(ErrorTags(), IsEmpty());
  Append(path, whole.substr(whole.size() / 2));
  EXPECT_EQ(before + Read(absl::Minutes(2)).size(), 500u);
  EXPECT_THAT(ErrorTags(), IsEmpty());
}

// Only a writer that goes on at its old place leaves them.
TEST_F(FollowedFilesTest, WithoutFollowNulBytesAreARecordLikeAny) {
  config_.follow = false;
  const std::string nuls(64, '\0');
  files_.Put(kLog, nuls + "ok\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre(nuls + "ok"));
  EXPECT_THAT(ErrorTags(), IsEmpty());
}

// B040
TEST_F(FollowedFilesTest, NulBytesAtTheBeginningAreOneError) {
  files_.Put(kLog, std::string(64, '\0') + "ok-1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("ok-1"));
  EXPECT_THAT(ErrorTags(), ElementsAre("nul_run"));
  Append(kLog, "ok-2\n");
  EXPECT_THAT(Read(), ElementsAre("ok-2"));
  EXPECT_THAT(ErrorTags(), ElementsAre("nul_run"));
  Open(Here());
  Append(kLog, "ok-3\n");
  EXPECT_THAT(Read(), ElementsAre("ok-3"));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

TEST_F(FollowedFilesTest, AHoleAfterCopyTruncateIsPassedOver) {
  const std::string line(50, 'x');
  files_.Put(kLog, line + "\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre(line));
  Rewrite(kLog, std::string(51, '\0') + "next\n");
  EXPECT_THAT(Read(), ElementsAre("next"));
  EXPECT_THAT(ErrorTags(), ElementsAre("nul_run"));
}

TEST_F(FollowedFilesTest, AFewNulBytesBelongToARecord) {
  files_.Put(kLog, std::string(15, '\0') + "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre(std::string(15, '\0') + "1"));
  EXPECT_THAT(ErrorTags(), IsEmpty());
}

// B043
TEST_F(FollowedFilesTest, RotatedAndCompressedIsTheSameFile) {
  files_.Put(kLog, "l1\nl2\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("l1", "l2"));
  ASSERT_OK(files_.Rename(kLog, "/l/a.log.1"));
  files_.Put("/l/a.log.1.gz", Gzip("l1\nl2\n"));
  ASSERT_OK(files_.Remove("/l/a.log.1"));
  Append(kLog, "l3\n");
  EXPECT_THAT(Read(absl::Minutes(5)), ElementsAre("l3"));
}

TEST_F(FollowedFilesTest, ACompressedCopyBesideItsOriginalWaits) {
  files_.Put(kLog, "l1\nl2\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("l1", "l2"));
  const std::string whole = Gzip("l1\nl2\nl3\n");
  files_.Put("/l/a.log.1.gz", whole.substr(0, 5));
  EXPECT_THAT(Read(absl::Minutes(5)), IsEmpty());
  files_.Put("/l/a.log.1.gz", whole);
  EXPECT_THAT(Read(absl::Minutes(5)), IsEmpty());
  // What was not read yet of the original is in the copy.
  ASSERT_OK(files_.Remove(kLog));
  EXPECT_THAT(Read(), ElementsAre("l3"));
}

TEST_F(FollowedFilesTest, DifferentCompressedFilesDiffer) {
  Open();
  files_.Put("/l/a.log.1.gz", Gzip("1\n"));
  files_.Put("/l/a.log.2.gz", Gzip("2\n"));
  EXPECT_THAT(Read(), ElementsAre("1", "2"));
}

// B045
TEST_F(FollowedFilesTest, FilesInDirectoriesThatComeLaterAreFound) {
  config_.path = "/l/*/*/app.log";
  config_.start = FileStart::kEnd;
  Open();
  EXPECT_THAT(Read(), IsEmpty());
  files_.Put("/l/x/y/app.log", "1\n2\n");
  EXPECT_THAT(Read(), ElementsAre("1", "2"));
  files_.Put("/l/z/q/app.log", "3\n");
  EXPECT_THAT(Read(), ElementsAre("3"));
}

// B046
TEST_F(FollowedFilesTest, AFileThatIsMissingIsWaitedFor) {
  config_.path = kLog;
  Open();
  EXPECT_THAT(Read(absl::Minutes(1)), IsEmpty());
  const std::vector<ConnectorHealth> health = consumer_->transcript().health;
  ASSERT_THAT(health, SizeIs(1));
  EXPECT_EQ(health[0].condition, Condition::kOk);
  EXPECT_THAT(health[0].reason, HasSubstr("waiting"));
  files_.Put(kLog, "1\n");
  EXPECT_THAT(Read(), ElementsAre("1"));
}

// B046
TEST_F(FollowedFilesTest, EmptyFilesAreNotMistakenForEachOther) {
  for (int i = 0; i < 400; ++i) files_.Put(absl::StrCat("/l/", i, ".log"), "");
  Open();
  EXPECT_THAT(Read(absl::Minutes(1)), IsEmpty());
  Append("/l/7.log", "7\n");
  Append("/l/8.log", "8\n");
  EXPECT_THAT(Read(), ElementsAre("7", "8"));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

// B048
TEST_F(FollowedFilesTest, ADeletedFileIsReadToItsEndThenClosed) {
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  EXPECT_EQ(files_.open_files(), 1);
  Append(kLog, "2\n3");
  ASSERT_OK(files_.Remove(kLog));
  EXPECT_THAT(Read(), ElementsAre("2"));
  // Nobody writes it on: its last line is one.
  EXPECT_THAT(Read(absl::Seconds(10)), ElementsAre("3"));
  EXPECT_EQ(files_.open_files(), 0);
}

// B049
TEST_F(FollowedFilesTest, ARenamedFileGoesOnUnderItsIdentity) {
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  ASSERT_OK(files_.Rename(kLog, "/l/a.log.1"));
  Append(kLog, "2\n");
  Append("/l/a.log.1", "late1\n");
  EXPECT_THAT(Read(), testing::UnorderedElementsAre("2", "late1"));
  Append("/l/a.log.1", "late2\n");
  Append(kLog, "3\n");
  Open(Here());
  EXPECT_THAT(Read(), testing::UnorderedElementsAre("3", "late2"));
}

TEST_F(FollowedFilesTest, AChainOfRenamesIsFollowed) {
  files_.Put("/l/a.log.1", "old1\n");
  files_.Put(kLog, "new1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("new1", "old1"));
  ASSERT_OK(files_.Rename("/l/a.log.1", "/l/a.log.2"));
  ASSERT_OK(files_.Rename(kLog, "/l/a.log.1"));
  Append(kLog, "newest1\n");
  Append("/l/a.log.1", "new2\n");
  Append("/l/a.log.2", "old2\n");
  EXPECT_THAT(Read(), testing::UnorderedElementsAre("newest1", "new2", "old2"));
}

TEST_F(FollowedFilesTest, RenamedOutOfThePatternItIsReadOnForAWhile) {
  config_.path = kLog;
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  ASSERT_OK(files_.Rename(kLog, "/l/a.log.1"));
  Append("/l/a.log.1", "late\n");
  Append(kLog, "2\n");
  EXPECT_THAT(Read(), testing::UnorderedElementsAre("2", "late"));
}

TEST_F(FollowedFilesTest, ACopyThatWasMadeToCutTheOriginalOffIsThatFile) {
  files_.Put(kLog, Lines("a", 0, 5));
  Open();
  EXPECT_THAT(Read(), SizeIs(5));
  Append(kLog, "unread\n");
  files_.Put("/l/a.log.1", *files_.Contents(kLog));
  Rewrite(kLog, "");
  EXPECT_THAT(Read(), ElementsAre("unread"));
  Append(kLog, "next\n");
  EXPECT_THAT(Read(), ElementsAre("next"));
}

TEST_F(FollowedFilesTest, EqualFilesThatStayAreBothRead) {
  files_.Put(kLog, "x\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("x"));
  files_.Put("/l/b.log", "x\n");
  EXPECT_THAT(Read(absl::Seconds(5)), ElementsAre("x"));
  Append("/l/b.log", "y\n");
  EXPECT_THAT(Read(), ElementsAre("y"));
}

TEST_F(FollowedFilesTest, APathThatIsAnotherFileNowIsReadFromItsBeginning) {
  files_.Put(kLog, "1\n2\n");
  files_.Put("/l/next", "another\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1", "2"));
  ASSERT_OK(files_.Rename("/l/next", kLog));
  EXPECT_THAT(Read(), ElementsAre("another"));
}

// A disk gives the number of a file that is gone to the next one that is made.
TEST_F(FollowedFilesTest, ANumberThatIsGivenAgainIsAnotherFile) {
  files_.Put(kLog, "1\n2\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1", "2"));
  ASSERT_OK(files_.Rename(kLog, "/gone"));
  Run(absl::Seconds(10));
  ASSERT_EQ(files_.open_files(), 0);
  files_.RemoveForReuse("/gone");
  files_.Put("/l/b.log", "another\n");
  EXPECT_THAT(Read(absl::Seconds(5)), ElementsAre("another"));
  // What is behind its old place is not what is new in the other one.
  Append("/l/b.log", "more\n");
  Open(Here());
  EXPECT_THAT(Read(), ElementsAre("more"));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

TEST_F(FollowedFilesTest, ANumberThatIsGivenAgainAtOncePutsOutNothing) {
  // So many that the first one has been closed when all have been read.
  constexpr int kFiles = 200;
  const auto path = [](int i) { return absl::StrFormat("/l/%03d.log", i); };
  for (int i = 0; i < kFiles; ++i) files_.Put(path(i), Lines(path(i), 0, 2));
  Open();
  // More than the queue takes at once.
  EXPECT_EQ(Read(absl::Seconds(5)).size() + Read(absl::Seconds(5)).size(),
            2u * kFiles);
  // At its path, and longer; and at a path that is looked at before it.
  files_.RemoveForReuse(path(0));
  files_.Put(path(0), "a longer line that nobody has read before\n");
  files_.RemoveForReuse(path(1));
  files_.Put("/l/+.log", "first\n");
  EXPECT_THAT(Read(absl::Seconds(5)),
              testing::UnorderedElementsAre(
                  "a longer line that nobody has read before", "first"));
  // Both had been read to their ends.
  Run(absl::Minutes(1));
  EXPECT_THAT(consumer_->transcript().errors, IsEmpty());
}

TEST_F(FollowedFilesTest, AFileThatMayNotBeReadHoldsBackNoOther) {
  files_.Put(kLog, "1\n");
  files_.Put("/l/b.log", "2\n");
  files_.FailNext(FileOperation::kOpenForRead, kLog,
                  MakeError(Reason::PERMISSION_DENIED, "no"), 3);
  Open();
  Send(ExtendCommand{});
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("2"));
  ASSERT_THAT(consumer_->transcript().health, SizeIs(1));
  EXPECT_EQ(consumer_->transcript().health[0].condition, Condition::kDegraded);
  EXPECT_THAT(Read(absl::Seconds(5)), ElementsAre("1"));
  EXPECT_EQ(consumer_->transcript().health.back().condition, Condition::kOk);
}

TEST_F(FollowedFilesTest, MayBeginAtTheEnd) {
  config_.start = FileStart::kEnd;
  files_.Put(kLog, "old\nhalf");
  Open();
  const std::string base = position_;
  Append(kLog, " line\n");
  EXPECT_THAT(Read(), ElementsAre("half line"));
  // Also if it dies before it has read anything.
  Open(base);
  EXPECT_THAT(Read(), ElementsAre("half line"));
}

TEST_F(FollowedFilesTest, MayBeginAtTheEndOfWhatMayNotBeRead) {
  config_.start = FileStart::kEnd;
  files_.Put(kLog, "old\n");
  files_.Put("/l/b.log", "old\n");
  files_.FailNext(FileOperation::kOpenForRead, kLog,
                  MakeError(Reason::PERMISSION_DENIED, "no"), 3);
  Open();
  const std::string base = position_;
  Append(kLog, "new\n");
  Append("/l/b.log", "b\n");
  EXPECT_THAT(Read(), ElementsAre("b", "new"));
  const RecordedStep step = steps_.back();
  Open(base);
  EXPECT_EQ(Replay(step).replay_hash, step.hash.value);
  EXPECT_THAT(Read(), IsEmpty());
  // By now it is known by more than its path.
  ASSERT_OK(files_.Rename(kLog, "/l/c.log"));
  EXPECT_THAT(Read(absl::Seconds(5)), IsEmpty());
}

// Where the end is of what it decodes to nobody knows.
TEST_F(FollowedFilesTest, CompressedAndNotReadableAtFirstItIsReadWhole) {
  config_.start = FileStart::kEnd;
  files_.Put("/l/a.log.gz", Gzip(Lines("line ", 0, 50)));
  files_.FailNext(FileOperation::kOpenForRead, "/l/a.log.gz",
                  MakeError(Reason::PERMISSION_DENIED, "no"), 2);
  Open();
  EXPECT_THAT(Read(absl::Seconds(5)), SizeIs(50));
  EXPECT_FALSE(HasFailed());
}

TEST_F(FollowedFilesTest, WhatIsDeletedWhileTheEndsAreLookedForIsLeftOut) {
  config_.start = FileStart::kEnd;
  files_.Put(kLog, "old\n");
  files_.Put("/l/b.log", "old\n");
  files_.FailNext(FileOperation::kOpenForRead, kLog,
                  MakeError(Reason::NOT_FOUND, "gone"));
  Open();
  ASSERT_OK(files_.Remove(kLog));
  Append("/l/b.log", "b\n");
  EXPECT_THAT(Read(), ElementsAre("b"));
}

TEST_F(FollowedFilesTest, MayBeginByTime) {
  files_.Put("/l/old.log", "1\n");
  const auto old = files_.Stat("/l/old.log");
  ASSERT_OK(old);
  files_.Put("/l/new.log", "2\n");
  const auto recent = files_.Stat("/l/new.log");
  ASSERT_OK(recent);
  ASSERT_LT(old->mtime, recent->mtime);
  config_.start_time = recent->mtime;
  Open();
  EXPECT_THAT(Read(), ElementsAre("2"));
  Append("/l/old.log", "3\n");
  EXPECT_THAT(Read(), ElementsAre("3"));
}

TEST_F(FollowedFilesTest, PausedItLooksAtNothing) {
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  Send(PauseCommand{});
  executor_.RunUntilIdle();
  EXPECT_EQ(executor_.timer_count(), 0u);
  Append(kLog, "2\n");
  executor_.Advance(absl::Minutes(1));
  EXPECT_THAT(ValuesOf(Queue()), IsEmpty());
  EXPECT_THAT(Read(), ElementsAre("2"));
}

TEST_F(FollowedFilesTest, StepsAreReplayedAfterRotation) {
  limits_.batch_records_max = 1;
  config_.block_bytes = 8;
  files_.Put(kLog, Lines("a", 0, 10));
  Open();
  const std::string base = position_;
  Run();
  while (!Queue().amount.IsEmpty()) {
  }
  const std::vector<RecordedStep> steps = steps_;
  ASSERT_OK(files_.Rename(kLog, "/l/a.log.1"));
  files_.Put(kLog, Lines("b", 0, 3));
  Open(base);
  for (const RecordedStep& step : steps) {
    if (step.amount.IsEmpty()) continue;
    EXPECT_EQ(Replay(step).replay_hash, step.hash.value);
    ASSERT_FALSE(HasFailed());
  }
  limits_.batch_records_max = 100;
  consumer_->SetLimits(limits_);
  EXPECT_THAT(Read(absl::Seconds(2)), ElementsAre("b0", "b1", "b2"));
}

TEST_F(FollowedFilesTest, FilesThatAreGoneAreForgottenInTime) {
  files_.Put(kLog, "1\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("1"));
  ASSERT_OK(files_.Remove(kLog));
  Run(absl::Minutes(20));
  EXPECT_THAT(Queue().seek(), HasSubstr("\"files\":[]"));
  // So that there is a step, which says it.
  EXPECT_THAT(steps_.back().watermarks, SizeIs(1));
  Open(Here());
  files_.Put(kLog, "1\n");
  EXPECT_THAT(Read(), ElementsAre("1"));
}

}  // namespace
}  // namespace penstock::core
