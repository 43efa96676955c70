#include "core/sinks/file/file_sink.h"

#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

constexpr Writer kWriter = {.epoch = 1, .open_number = 1};

std::string PathOf(const std::string& name) {
  return absl::StrCat(kDirectory, "/", name);
}

// As the shard worker judges.
bool InvitesRetry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsAborted(status);
}

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() { config_.path = kDirectory; }

  // Opens writer (1, `open_number`) and makes its endpoints.
  absl::Status Open(uint64_t open_number = 1) {
    const OutputOpen open = OpenOf(open_number, /*first_open=*/true);
    sink_ = std::make_unique<FileSink>(config_, environment_);
    endpoints_.clear();
    auto progress = sink_->Open(open);
    if (!progress.ok()) return progress.status();
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      auto endpoint = sink_->MakeEndpoint(shard);
      if (!endpoint.ok()) return endpoint.status();
      endpoints_.push_back(*std::move(endpoint));
    }
    return absl::OkStatus();
  }

  absl::Status Write(ShardIndex shard, StepRange steps,
                     absl::string_view rows) {
    OutputEndpoint& endpoint = *endpoints_[shard];
    absl::Status status = endpoint.BatchStart({.steps = steps});
    if (status.ok()) status = endpoint.PushBuffer(rows);
    if (status.ok()) status = endpoint.BatchEnd();
    return status;
  }

  void BeginCommit(ShardIndex shard, StepRange steps) {
    sink_->Committer().Commit(shard, steps, [this, shard](absl::Status status) {
      answers_[shard] = std::move(status);
    });
  }

  absl::Status Commit(ShardIndex shard, StepRange steps) {
    answers_[shard] = absl::UnknownError("no answer");
    BeginCommit(shard, steps);
    io_.RunUntilIdle();
    return answers_[shard];
  }

  absl::Status WriteAndCommit(ShardIndex shard, StepRange steps,
                              absl::string_view rows) {
    const absl::Status written = Write(shard, steps, rows);
    return written.ok() ? Commit(shard, steps) : written;
  }

  Committed Read() {
    auto committed = ReadCommitted(files_, kDirectory);
    EXPECT_OK(committed);
    return committed.value_or(Committed{});
  }

  std::vector<std::string> NamesWith(absl::string_view prefix) {
    std::vector<std::string> names;
    for (const std::string& path : files_.Files()) {
      if (absl::StartsWith(path, PathOf(std::string(prefix)))) {
        names.push_back(path.substr(PathOf("").size()));
      }
    }
    return names;
  }

  FakeFileSystem files_;
  ManualExecutor io_;
  PathPolicy paths_{{}};
  Environment environment_{
      .files = files_, .io = io_, .clock = io_.clock(), .paths = paths_};
  FileSinkConfig config_;
  std::unique_ptr<FileSink> sink_;
  std::vector<std::unique_ptr<OutputEndpoint>> endpoints_;
  std::map<ShardIndex, absl::Status> answers_;
};

TEST_F(FileSinkTest, EmptyPathIsRefused) {
  config_.path = "";
  EXPECT_THAT(MakeFileSink(config_, environment_),
              AllOf(HasReason(Reason::INVALID_CONFIG)));
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
      EXPECT_EQ(files_.Contents(path), contents) << path;
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

// --- Opening.

TEST_F(FileSinkTest, ForeignClaimAloneIsForeign) {
  ManifestHeader other;
  other.identity = {"other", "p", "c"};
  other.writer = {.epoch = 9, .open_number = 1};
  files_.Put(PathOf(ClaimName(other.writer)), EncodeHeader(other));
  EXPECT_THAT(Open(), AllOf(HasReason(Reason::FOREIGN_PROGRESS),
                            StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("another directory"))));
  EXPECT_THAT(files_.Files(), ElementsAre(PathOf(ClaimName(other.writer))));
}

TEST_F(FileSinkTest, OtherConnectorOfTheSamePipelineIsForeign) {
  ASSERT_OK(Open());
  OutputOpen open = OpenOf(2, true);
  open.connector = "d";
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(open), HasReason(Reason::FOREIGN_PROGRESS));
}

TEST_F(FileSinkTest, ForeignProgressIsRefusedBelowExactlyOnceToo) {
  ASSERT_OK(Open());
  OutputOpen open = OpenOf(2, true);
  open.incarnation = "other";
  open.level = std::nullopt;
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(open), HasReason(Reason::FOREIGN_PROGRESS));
}

TEST_F(FileSinkTest, ClaimThatACrashEmptiedStillFences) {
  files_.Put(PathOf(ClaimName({2, 1})), "");
  EXPECT_THAT(Open(), HasReason(Reason::WRITER_FENCED));
}

TEST_F(FileSinkTest, HigherWriterFencesEvenIfItsClaimIsGone) {
  ASSERT_OK(Open(5));
  ASSERT_OK(files_.Remove(PathOf(ClaimName({1, 5}))));
  EXPECT_THAT(Open(4), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(Open(5), HasReason(Reason::WRITER_FENCED));
  EXPECT_OK(Open(6));
}

TEST_F(FileSinkTest, LevelRaisedWithoutResetHasLostItsProgress) {
  OutputOpen open = OpenOf(1, true);
  open.level = FtModel::kAtLeastOnce;
  FileSink below(config_, environment_);
  ASSERT_OK(below.Open(open));
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(OpenOf(2, /*first_open=*/false)),
              HasReason(Reason::PROGRESS_LOST));
}

TEST_F(FileSinkTest, NewShardCountBehindTheCheckpointIsRefused) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  OutputOpen open = OpenOf(2, false);
  open.shards = 3;
  open.base_steps = 1;
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(open), HasReason(Reason::PROGRESS_BEHIND));
}

TEST_F(FileSinkTest, ClaimIsDurableBeforeAnythingIsTakenOver) {
  files_.FailNext(FileOperation::kOpenForAppend, "/manifest.",
                  MakeError(Reason::IO_ERROR, "injected"));
  EXPECT_THAT(Open(), HasReason(Reason::IO_ERROR));
  const std::string claim = PathOf(ClaimName(kWriter));
  EXPECT_EQ(files_.DurableContents(claim), files_.Contents(claim));
  EXPECT_NE(files_.Contents(claim), "");
}

TEST_F(FileSinkTest, ClaimWhoseNameCannotBeSyncedIsNoClaim) {
  files_.FailNext(FileOperation::kSyncDirectory, "/out",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  EXPECT_THAT(Open(), HasReason(Reason::IO_ERROR));
  EXPECT_THAT(NamesWith("manifest."), IsEmpty());
}

TEST_F(FileSinkTest, FailedOpenUsesUpItsWriter) {
  files_.ShortenNextAppend("/manifest.", 10);
  EXPECT_THAT(Open(1), HasReason(Reason::STORAGE_FULL));
  EXPECT_THAT(Open(1), HasReason(Reason::WRITER_FENCED));
  EXPECT_OK(Open(2));
}

// --- A manifest in parts.

class FileSinkPartsTest : public FileSinkTest {
 protected:
  // Every second record goes into a new part.
  FileSinkPartsTest() { config_.manifest_bytes_max = 60; }
};

TEST_F(FileSinkPartsTest, LongManifestGoesOnInNewParts) {
  ASSERT_OK(Open());
  for (Step step = 0; step < 10; ++step) {
    ASSERT_OK(WriteAndCommit(step % 2, {step / 2, step / 2 + 1}, "row\n"));
  }
  EXPECT_THAT(NamesWith("manifest."),
              IsSupersetOf({ManifestName(kWriter, 0), ManifestName(kWriter, 1),
                            ManifestName(kWriter, 4)}));
  EXPECT_THAT(Read().progress, ElementsAre(5, 5));
  EXPECT_EQ(Read().contents[1], "row\nrow\nrow\nrow\nrow\n");
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(5, 5));
}

TEST_F(FileSinkPartsTest, DeletedLastPartIsTold) {
  ASSERT_OK(Open());
  for (Step step = 0; step < 4; ++step) {
    ASSERT_OK(WriteAndCommit(0, {step, step + 1}, "row\n"));
  }
  const std::vector<std::string> parts = NamesWith("manifest.");
  ASSERT_GT(parts.size(), 1);
  ASSERT_OK(files_.Remove(PathOf(parts.back())));
  EXPECT_THAT(Open(2), AllOf(HasReason(Reason::STATE_DAMAGED),
                             StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr(parts.back()))));
}

TEST_F(FileSinkPartsTest, FullDiskPutsANewPartOff) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a\n"));
  ASSERT_OK(WriteAndCommit(0, {1, 2}, "b\n"));
  files_.ShortenNextAppend(ManifestName(kWriter, 1), 10);
  ASSERT_OK(WriteAndCommit(0, {2, 3}, "c\n"));
  ASSERT_OK(WriteAndCommit(0, {3, 4}, "d\n"));
  EXPECT_THAT(NamesWith("manifest."),
              ElementsAre(ManifestName(kWriter, 0), ManifestName(kWriter, 1),
                          ManifestName(kWriter, 2)));
  EXPECT_EQ(Read().contents[0], "a\nb\nc\nd\n");
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(4, 0));
}

TEST_F(FileSinkPartsTest, PartThatMayBeCompleteEndsTheWriter) {
  ASSERT_OK(Open());
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "a\n"));
  ASSERT_OK(WriteAndCommit(0, {1, 2}, "b\n"));
  files_.FailNext(FileOperation::kSync, ManifestName(kWriter, 1),
                  MakeError(Reason::UNAVAILABLE, "injected"));
  const absl::Status status = WriteAndCommit(0, {2, 3}, "c\n");
  EXPECT_THAT(status, HasReason(Reason::IO_ERROR));
  EXPECT_EQ(WriteAndCommit(0, {2, 3}, "c\n"), status);
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(2, 0));
}

}  // namespace
}  // namespace penstock::core
