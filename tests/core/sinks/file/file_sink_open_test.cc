// Opening a file sink, and a manifest in parts.
#include "core/base/error.h"
#include "core/sinks/file/file_sink.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "tests/core/sinks/file/file_sink_fixture.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

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
  const std::string claim = PathOf(ClaimName(kWriter));
  bool was_durable = false;
  files_.SetHook([&](FileOperation op, absl::string_view path) {
    if (op == FileOperation::kOpenForAppend &&
        absl::StrContains(path, "/manifest.")) {
      was_durable = files_.DurableContents(claim) == files_.Contents(claim) &&
                    files_.Contents(claim).value_or("") != "";
    }
    return absl::OkStatus();
  });
  EXPECT_OK(Open());
  EXPECT_TRUE(was_durable);
}

TEST_F(FileSinkTest, ClaimWhoseNameCannotBeSyncedIsNoClaim) {
  files_.FailNext(FileOperation::kSyncDirectory, "/out",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  EXPECT_THAT(Open(), HasReason(Reason::IO_ERROR));
  EXPECT_THAT(NamesWith("manifest."), IsEmpty());
}

TEST_F(FileSinkTest, OpenWhoseManifestMayBeCompleteUsesUpItsWriter) {
  files_.FailNext(FileOperation::kSync, "/manifest.",
                  MakeError(Reason::IO_ERROR, "injected"));
  EXPECT_THAT(Open(1), HasReason(Reason::IO_ERROR));
  EXPECT_THAT(NamesWith("claim."), ElementsAre(ClaimName(kWriter)));
  EXPECT_THAT(Open(1), HasReason(Reason::WRITER_FENCED));
  EXPECT_OK(Open(2));
}

TEST_F(FileSinkTest, OpensOnAFullDiskLeaveNothing) {
  ASSERT_OK(Open(1));
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  const std::vector<std::string> before = files_.Files();
  uint64_t open_number = 1;
  for (const char* file : {"/claim.", "/manifest."}) {
    for (uint64_t room = 0; room <= 70; room += 10) {
      files_.ShortenNextAppend(file, room);
      EXPECT_THAT(Open(++open_number), HasReason(Reason::STORAGE_FULL));
      EXPECT_THAT(files_.Files(), ElementsAreArray(before));
    }
  }
  EXPECT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(1, 0));
}

TEST_F(FileSinkTest, OpenThatIsRefusedLeavesNothing) {
  ASSERT_OK(Open(1));
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  const std::vector<std::string> before = files_.Files();
  OutputOpen open = OpenOf(2, false);
  open.shards = 3;
  FileSink sink(config_, environment_);
  EXPECT_THAT(sink.Open(open), HasReason(Reason::PROGRESS_AHEAD));
  EXPECT_THAT(files_.Files(), ElementsAreArray(before));
}

// As when a source cannot be opened, again and again.
TEST_F(FileSinkTest, OpensWithoutNumberLeaveFewClaimsAndManifests) {
  ASSERT_OK(Open(1));
  ASSERT_OK(WriteAndCommit(0, {0, 1}, "row\n"));
  for (uint64_t open_number = 2; open_number < 50; ++open_number) {
    ASSERT_OK(Open(open_number));
    EXPECT_LE(NamesWith("claim.").size(), 2u);
    EXPECT_LE(NamesWith("manifest.").size(), 2u);
  }
  EXPECT_THAT(NamesWith("data-"), ElementsAre(DataName(0, kWriter)));
  EXPECT_EQ(Read().contents[0], "row\n");
}

TEST_F(FileSinkTest, ClaimsOfCrashedOpensAreRemoved) {
  for (uint64_t open_number = 1; open_number < 9; ++open_number) {
    files_.Put(PathOf(ClaimName({1, open_number})), "");
    files_.Put(PathOf(ManifestName({1, open_number}, 0)), "");
  }
  ASSERT_OK(Open(9));
  EXPECT_THAT(NamesWith("claim."), ElementsAre(ClaimName({1, 9})));
  EXPECT_THAT(NamesWith("manifest."), ElementsAre(ManifestName({1, 9}, 0)));
}

TEST_F(FileSinkTest, WhatCannotBeRemovedHoldsUpNoOpen) {
  files_.Put(PathOf(ClaimName({1, 1})), "");
  files_.FailNext(FileOperation::kRemove, "/claim.",
                  MakeError(Reason::PERMISSION_DENIED, "injected"));
  EXPECT_OK(Open(2));
  EXPECT_OK(Open(3));
  EXPECT_EQ(NamesWith("claim.").size(), 2u);
}

TEST_F(FileSinkTest, OpenRemovesNoClaimOfAnother) {
  // Its twin was faster by a hair.
  bool made = false;
  files_.SetHook([&](FileOperation op, absl::string_view path) {
    if (op == FileOperation::kOpenForAppend && !std::exchange(made, true)) {
      files_.Put(path, "");
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(Open(), HasReason(Reason::WRITER_FENCED));
  EXPECT_THAT(NamesWith("claim."), ElementsAre(ClaimName(kWriter)));
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
  // The last one and the one before it, for who is just reading it.
  EXPECT_THAT(NamesWith("manifest."),
              ElementsAre(ManifestName(kWriter, 3), ManifestName(kWriter, 4)));
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
              ElementsAre(ManifestName(kWriter, 0), ManifestName(kWriter, 2)));
  EXPECT_EQ(Read().contents[0], "a\nb\nc\nd\n");
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(4, 0));
}

TEST_F(FileSinkPartsTest, PartOutgrowsItsSizeEightfoldAtMost) {
  ASSERT_OK(Open());
  files_.SetHook([](FileOperation op, absl::string_view path) {
    if (op == FileOperation::kOpenForAppend &&
        absl::StrContains(path, "/manifest.")) {
      return MakeError(Reason::STORAGE_FULL, "no inode is left");
    }
    return absl::OkStatus();
  });
  const uint64_t begun =
      files_.Contents(PathOf(ManifestName(kWriter, 0)))->size();
  Step step = 0;
  absl::Status status;
  while (step < 1000 && status.ok()) {
    status = WriteAndCommit(0, {step, step + 1}, "row\n");
    step += status.ok() ? 1 : 0;
  }
  EXPECT_THAT(status, HasReason(Reason::STORAGE_FULL));
  EXPECT_TRUE(InvitesRetry(status));
  const uint64_t grown =
      files_.Contents(PathOf(ManifestName(kWriter, 0)))->size() - begun;
  EXPECT_LE(grown, 9 * config_.manifest_bytes_max);
  files_.SetHook(nullptr);
  ASSERT_OK(WriteAndCommit(0, {step, step + 1}, "row\n"));
  ASSERT_OK(Open(2));
  EXPECT_THAT(Read().progress, ElementsAre(step + 1, 0));
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
