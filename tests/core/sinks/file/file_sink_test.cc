#include "core/sinks/file/file_sink.h"

#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "tests/core/sinks/file/file_sink_fixture.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(FileSinkTest, EmptyPathIsRefused) {
  config_.path = "";
  EXPECT_THAT(MakeFileSink(config_, environment_),
              AllOf(HasReason(Reason::INVALID_CONFIG)));
}

TEST_F(FileSinkTest, ManifestThatCouldNotBeReadIsRefused) {
  config_.manifest_bytes_max = (kManifestReadBytesMax >> 4) + 1;
  EXPECT_THAT(MakeFileSink(config_, environment_),
              HasReason(Reason::INVALID_CONFIG));
}

TEST_F(FileSinkTest, PathOutsideOfThePolicyIsRefused) {
  const PathPolicy paths({"/allowed"});
  FileSink sink(
      config_,
      {.files = files_, .io = io_, .clock = io_.clock(), .paths = paths});
  EXPECT_THAT(sink.Open(OpenOf(1, true)), HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_THAT(files_.Files(), IsEmpty());
}

TEST_F(FileSinkTest, TooManyShardsAreRefused) {
  OutputOpen open = OpenOf(1, true);
  open.shards = kSinkShardsMax + 1;
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(open), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(FileSinkTest, ShardHasOneEndpoint) {
  ASSERT_OK(Open());
  EXPECT_THAT(sink_->MakeEndpoint(0), HasReason(Reason::INVALID_REQUEST));
  EXPECT_THAT(sink_->MakeEndpoint(kShards), HasReason(Reason::INVALID_REQUEST));
}

TEST_F(FileSinkTest, MessagesWithKeysAreUnsupported) {
  ASSERT_OK(Open());
  ASSERT_OK(endpoints_[0]->BatchStart({.steps = {0, 1}}));
  EXPECT_THAT(endpoints_[0]->PushKey("k", "v", {}),
              HasReason(Reason::UNSUPPORTED));
}

TEST_F(FileSinkTest, ShardWithoutRowsMakesNoFile) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  ASSERT_OK(WriteAndCommit(1, {0, 1}, ""));
  EXPECT_THAT(NamesWith("data-"), ElementsAre(DataName(0, kWriter)));
}

TEST_F(FileSinkTest, FilesAreThoseOfTheReadme) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(1, {0, 1}, "row\n"));
  EXPECT_THAT(files_.Files(), ElementsAre(PathOf(ClaimName(kWriter)),
                                          PathOf(DataName(1, kWriter)),
                                          PathOf(ManifestName(kWriter, 0))));
  EXPECT_EQ(files_.Contents(PathOf(DataName(1, kWriter))), "row\n");
}

TEST_F(FileSinkTest, BufferIsOneWrite) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "first\n"));
  ASSERT_OK(endpoints_[0]->BatchStart({.steps = {1, 2}}));
  const uint64_t before = files_.mutating_operations();
  ASSERT_OK(endpoints_[0]->PushBuffer(std::string(256 << 10, 'x')));
  EXPECT_EQ(files_.mutating_operations() - before, 1);
}

TEST_F(FileSinkTest, RoundOfAllShardsIsOneRecordAndOneSync) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "left\n"));
  ASSERT_OK(Write(1, {0, 2}, "right\n"));
  BeginCommit(0, {0, 1});
  BeginCommit(1, {0, 2});
  const uint64_t before = files_.mutating_operations();
  io_.RunUntilIdle();
  EXPECT_EQ(files_.mutating_operations() - before, 2);
  EXPECT_OK(answers_[0]);
  EXPECT_OK(answers_[1]);
  EXPECT_THAT(Read().progress, ElementsAre(1, 2));
}

TEST_F(FileSinkTest, CommittedBytesAreDurable) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  ASSERT_OK(Write(0, {1, 2}, "lost\n"));
  files_.Crash();
  const Committed committed = Read();
  EXPECT_THAT(committed.progress, ElementsAre(1, 0));
  EXPECT_EQ(committed.contents[0], "row\n");
}

// Case B076: the disk fills up in the middle of a row, then there is room.
TEST_F(FileSinkTest, FullDiskCutsNoRowAndIsTriedAgain) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "before\n"));
  files_.ShortenNextAppend("/data-", 3);
  const absl::Status full = Write(0, {1, 2}, "during\n");
  EXPECT_THAT(full, HasReason(Reason::STORAGE_FULL));
  EXPECT_TRUE(InvitesRetry(full));
  ASSERT_OK(WriteAndCommit(0, {1, 2}, "after\n"));
  EXPECT_EQ(files_.Contents(PathOf(DataName(0, kWriter))), "before\nafter\n");
  EXPECT_EQ(Read().contents[0], "before\nafter\n");
}

TEST_F(FileSinkTest, DiskFullForARecordFailsTheWholeRoundAndIsTriedAgain) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "left\n"));
  ASSERT_OK(Write(1, {0, 1}, "right\n"));
  files_.ShortenNextAppend("/manifest.", 20);
  BeginCommit(0, {0, 1});
  BeginCommit(1, {0, 1});
  io_.RunUntilIdle();
  EXPECT_TRUE(InvitesRetry(answers_[0])) << answers_[0];
  EXPECT_TRUE(InvitesRetry(answers_[1])) << answers_[1];
  EXPECT_THAT(Read().progress, ElementsAre(0, 0));
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "left\n"));
  ASSERT_OK(WriteAndCommit(1, {0, 1}, "right\n"));
  const Committed committed = Read();
  EXPECT_THAT(committed.progress, ElementsAre(1, 1));
  EXPECT_THAT(committed.contents, ElementsAre("left\n", "right\n"));
}

// What a broken writer must show: no call succeeds, none invites a retry, and
// the next writer goes on from what was confirmed.
class FileSinkBrokenTest : public FileSinkTest {
 protected:
  void ExpectBroken(const absl::Status& status) {
    EXPECT_THAT(status, HasReason(Reason::IO_ERROR));
    EXPECT_FALSE(InvitesRetry(status));
    const uint64_t before = files_.mutating_operations();
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(WriteAndCommit(shard, {0, 9}, "more\n"), status);
    }
    EXPECT_EQ(files_.mutating_operations(), before);
  }
};

TEST_F(FileSinkBrokenTest, FailedSyncOfDataEndsTheWriter) {
  ASSERT_OK(Open());
  files_.FailNext(FileOperation::kSync, "/data-",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  ExpectBroken(WriteAndCommit(0, {0, 1}, "row\n"));
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(0, 0));
}

TEST_F(FileSinkBrokenTest, FailedSyncOfANameEndsTheWriter) {
  ASSERT_OK(Open());
  files_.FailNext(FileOperation::kSyncDirectory, "/out",
                  MakeError(Reason::STORAGE_FULL, "injected"));
  ExpectBroken(WriteAndCommit(0, {0, 1}, "row\n"));
}

TEST_F(FileSinkBrokenTest, FailedSyncOfTheManifestEndsTheWriter) {
  ASSERT_OK(Open());
  files_.FailNext(FileOperation::kSync, "/manifest.",
                  MakeError(Reason::STORAGE_FULL, "injected"));
  ExpectBroken(WriteAndCommit(0, {0, 1}, "row\n"));
}

TEST_F(FileSinkBrokenTest, FailedLookForAHigherWriterEndsTheWriter) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "row\n"));
  files_.FailNext(FileOperation::kList, "/out",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  ExpectBroken(Commit(0, {0, 1}));
  // It was not confirmed, but it is there: nothing may cut the data back.
  ASSERT_OK(Open(2));
  const Committed committed = Read();
  EXPECT_THAT(committed.progress, ElementsAre(1, 0));
  EXPECT_EQ(committed.contents[0], "row\n");
}

TEST_F(FileSinkBrokenTest, FailedWriteOfARecordThatMayBeWholeEndsTheWriter) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "row\n"));
  files_.FailNext(FileOperation::kAppend, "/manifest.",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  ExpectBroken(Commit(0, {0, 1}));
}

TEST_F(FileSinkBrokenTest, WholeRecordDespiteAFullDiskEndsTheWriter) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "row\n"));
  // All bytes are written, then the write fails.
  files_.ShortenNextAppend("/manifest.", 1000);
  ExpectBroken(Commit(0, {0, 1}));
}

TEST_F(FileSinkTest, FencedCommitEndsTheBatchesOfAllShards) {
  ASSERT_OK(Open());
  ASSERT_OK(endpoints_[1]->BatchStart({.steps = {0, 1}}));
  ASSERT_OK(Write(0, {0, 1}, "row\n"));
  SinkProcess higher(files_, {.open_number = 2});
  higher.Open();
  ASSERT_OK(higher.opened());
  EXPECT_THAT(Commit(0, {0, 1}), HasReason(Reason::WRITER_FENCED));
  const uint64_t before = files_.mutating_operations();
  EXPECT_THAT(endpoints_[1]->PushBuffer("row\n"),
              HasReason(Reason::WRITER_FENCED));
  EXPECT_EQ(files_.mutating_operations(), before);
}

TEST_F(FileSinkTest, ClosedSinkWritesNothing) {
  ASSERT_OK(Open());
  ASSERT_OK(sink_->Close());
  EXPECT_THAT(Write(0, {0, 1}, "row\n"), HasReason(Reason::CANCELLED));
}

TEST_F(FileSinkTest, BatchCannotBeginWhileTheLastIsBeingCommitted) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "row\n"));
  BeginCommit(0, {0, 1});
  EXPECT_THAT(Write(0, {1, 2}, "row\n"), HasReason(Reason::INVALID_REQUEST));
  io_.RunUntilIdle();
  EXPECT_OK(answers_[0]);
  EXPECT_OK(WriteAndCommit(0, {1, 2}, "row\n"));
}

TEST_F(FileSinkTest, RequestsThatComeDuringARoundMakeTheNextOne) {
  ASSERT_OK(Open());
  ASSERT_OK(Write(0, {0, 1}, "left\n"));
  ASSERT_OK(Write(1, {0, 1}, "right\n"));
  sink_->Committer().Commit(0, {0, 1}, [this](absl::Status status) {
    answers_[0] = std::move(status);
    BeginCommit(1, {0, 1});
  });
  io_.RunUntilIdle();
  EXPECT_OK(answers_[0]);
  EXPECT_OK(answers_[1]);
  EXPECT_THAT(Read().progress, ElementsAre(1, 1));
}

TEST_F(FileSinkTest, SteppingOverDataOfItsOwnWriterIsRefused) {
  ASSERT_OK(Open());
  files_.Put(PathOf(DataName(0, kWriter)), "who wrote this?\n");
  EXPECT_THAT(Write(0, {0, 1}, "row\n"), HasReason(Reason::WRITER_FENCED));
  EXPECT_EQ(files_.Contents(PathOf(DataName(0, kWriter))), "who wrote this?\n");
}

TEST_F(FileSinkTest, NobodyChangesFilesOfOlderWriters) {
  std::map<std::string, std::string> before;
  for (uint64_t open_number = 1; open_number <= 4; ++open_number) {
    SinkProcess process(files_, {.open_number = open_number,
                                 .first_open = open_number == 1,
                                 .steps = open_number * 3});
    process.Run();
    ASSERT_OK(process.status());
    for (const auto& [path, contents] : before) {
      const bool is_data = absl::StartsWith(path, PathOf("data-"));
      const std::optional<std::string> now = files_.Contents(path);
      // Superseded claims and manifests may go, as a whole.
      if (is_data || now.has_value()) {
        EXPECT_EQ(now, contents) << path;
      }
    }
    for (const std::string& path : files_.Files()) {
      before[path] = *files_.Contents(path);
    }
  }
  ExpectConsistent(Read());
  EXPECT_THAT(Read().progress, ElementsAre(12, 12));
}

TEST_F(FileSinkTest, OtherFilesAreLeftAlone) {
  files_.Put(PathOf("README.md"), "mine");
  files_.Put(PathOf("claim.of-mine"), "mine, too");
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  EXPECT_EQ(files_.Contents(PathOf("README.md")), "mine");
  EXPECT_EQ(files_.Contents(PathOf("claim.of-mine")), "mine, too");
}

// Writes to files that are gone succeed: the sink has to look.
TEST_F(FileSinkTest, DataThatIsSweptAwayUnderTheWriterIsMissed) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a\n"));
  ASSERT_OK(files_.Remove(PathOf(DataName(0, kWriter))));
  const absl::Status status = WriteAndCommit(0, {1, 2}, "b\n");
  EXPECT_THAT(status, HasReason(Reason::IO_ERROR));
  EXPECT_FALSE(InvitesRetry(status));
  // What was committed is gone, and the next open says so.
  EXPECT_THAT(Open(2), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(FileSinkTest, DataThatIsCutOffUnderTheWriterIsMissed) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a long row\n"));
  const std::string path = PathOf(DataName(0, kWriter));
  ASSERT_OK((*files_.OpenForAppend(path, {}))->Truncate(0));
  EXPECT_THAT(WriteAndCommit(0, {1, 2}, "b\n"), HasReason(Reason::IO_ERROR));
}

TEST_F(FileSinkTest, AManifestThatIsSweptAwayUnderTheWriterIsMissed) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a\n"));
  ASSERT_OK(files_.Remove(PathOf(ManifestName(kWriter, 0))));
  EXPECT_THAT(WriteAndCommit(0, {1, 2}, "b\n"), HasReason(Reason::IO_ERROR));
}

TEST_F(FileSinkTest, WhatAHigherWriterTookAwayIsAFenceNotDamage) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a\n"));
  ASSERT_OK(files_.Remove(PathOf(DataName(0, kWriter))));
  files_.Put(PathOf("claim.00000000000000000009-00000000000000000001"), "");
  EXPECT_THAT(WriteAndCommit(0, {1, 2}, "b\n"),
              HasReason(Reason::WRITER_FENCED));
}

}  // namespace
}  // namespace penstock::core
