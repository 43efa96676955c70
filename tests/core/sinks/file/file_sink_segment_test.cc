// Finished files leave the manifest, which stays small.
#include "core/base/byte_order.h"
#include "core/base/error.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/sink_record.h"
#include "tests/core/sinks/file/file_sink_fixture.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

class FileSinkSegmentTest : public FileSinkTest {
 protected:
  FileSinkSegmentTest() {
    config_.roll.steps = 1;
    config_.segment_files = 10;
    config_.manifest_bytes_max = 4000;
  }
  uint64_t StateBytes() {
    uint64_t bytes = 0;
    for (const char* kind : {"manifest.", "segment."}) {
      for (const std::string& name : NamesWith(kind)) {
        bytes += files_.Contents(PathOf(name))->size();
      }
    }
    return bytes;
  }
};

// What the commits of `steps` append to manifests and segments, counted at the
// disk: parts are removed, too.
TEST_F(FileSinkSegmentTest, BytesWrittenForACommitDoNotGrowWithFiles) {
  ASSERT_OK(Open());
  uint64_t written = 0;
  std::map<std::string, uint64_t> sizes;
  const auto count = [&](Step begin, Step end) {
    written = 0;
    for (Step step = begin; step < end; ++step) {
      ASSERT_OK(WriteAndCommit(0, {step, step + 1}, "row\n"));
      for (const char* kind : {"manifest.", "segment."}) {
        for (const std::string& name : NamesWith(kind)) {
          const uint64_t now = files_.Contents(PathOf(name))->size();
          written += now - sizes[name];
          sizes[name] = now;
        }
      }
    }
  };
  count(0, 100);
  count(100, 200);
  const uint64_t early = written;
  count(200, 500);
  count(500, 600);
  EXPECT_THAT(early, Gt(0));
  EXPECT_EQ(written, early);
}

TEST_F(FileSinkSegmentTest, ManifestStaysSmall) {
  ASSERT_OK(Open());
  WriteSteps(0, 500);
  EXPECT_THAT(NamesWith("manifest."), SizeIs(2));
  for (const std::string& name : NamesWith("manifest.")) {
    EXPECT_LE(files_.Contents(PathOf(name))->size(), 3000u) << name;
  }
  EXPECT_THAT(NamesWith("segment."), SizeIs(49));
  std::string expected;
  for (Step step = 0; step < 500; ++step)
    absl::StrAppend(&expected, step, "\n");
  EXPECT_EQ(Read().contents[0], expected);
  ASSERT_OK(Open(2));
  WriteSteps(500, 501);
  EXPECT_EQ(Read().contents[0], absl::StrCat(expected, "500\n"));
}

TEST_F(FileSinkSegmentTest, ManyOpensStaySmallToo) {
  std::string expected;
  for (uint64_t open_number = 1; open_number <= 100; ++open_number) {
    ASSERT_OK(Open(open_number));
    WriteSteps(open_number - 1, open_number);
    absl::StrAppend(&expected, open_number - 1, "\n");
  }
  EXPECT_LE(StateBytes(), 20'000u);
  EXPECT_EQ(Read().contents[0], expected);
}

TEST_F(FileSinkSegmentTest, DiskFullForASegmentPutsItOff) {
  ASSERT_OK(Open());
  WriteSteps(0, 10);
  files_.ShortenNextAppend("/segment.", 10);
  WriteSteps(10, 11);
  EXPECT_THAT(NamesWith("segment."), IsEmpty());
  WriteSteps(11, 12);
  EXPECT_THAT(NamesWith("segment."), ElementsAre(SegmentName(kWriter, 1)));
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
}

TEST_F(FileSinkSegmentTest, SegmentThatMayBeMissingAfterACrashEndsTheWriter) {
  ASSERT_OK(Open());
  WriteSteps(0, 10);
  files_.FailNext(FileOperation::kSync, "/segment.",
                  MakeError(Reason::UNAVAILABLE, "injected"));
  EXPECT_THAT(WriteAndCommit(0, {10, 11}, "10\n"), HasReason(Reason::IO_ERROR));
  ASSERT_OK(Open(2));
  // What a crash left above the newest one is removed.
  EXPECT_THAT(NamesWith("segment."), ElementsAre(SegmentName({1, 2}, 0)));
  EXPECT_THAT(Read().progress, ElementsAre(10, 0));
}

TEST_F(FileSinkSegmentTest, MissingOrDamagedSegmentIsTold) {
  ASSERT_OK(Open());
  WriteSteps(0, 25);
  const std::string newest = PathOf(SegmentName(kWriter, 1));
  const std::string good = *files_.Contents(newest);
  files_.Put(newest, good.substr(0, good.size() - 1));
  EXPECT_THAT(ReadCommitted(files_, kDirectory).status(),
              HasReason(Reason::STATE_DAMAGED));
  EXPECT_THAT(Open(2), HasReason(Reason::STATE_DAMAGED));
  ASSERT_OK(files_.Remove(newest));
  EXPECT_THAT(Open(2), HasReason(Reason::STATE_DAMAGED));
  files_.Put(newest, good);
  EXPECT_OK(Open(2));
}

TEST_F(FileSinkSegmentTest, DirectoryOfFormatVersionOneGoesOn) {
  // Made by a program of that version: one file of each shard.
  std::string body("\1\0\0\0", 4);
  AppendLe64(kWriter.epoch, body);
  AppendLe64(kWriter.open_number, body);
  AppendLe32(kShards, body);
  body.push_back(2);
  for (const char* text : {"1234abcd", "p", "c"}) AppendText(text, body);
  std::string bytes = EncodeRecord(RecordType::kHeader, 0, body);
  files_.Put(PathOf(ClaimName(kWriter)), bytes);
  body.clear();
  AppendLe32(kShards, body);
  AppendLe64(0, body);
  AppendLe64(0, body);
  AppendLe32(0, body);
  bytes += EncodeRecord(RecordType::kState, 1, body);
  body.clear();
  AppendLe32(1, body);
  AppendLe32(0, body);
  AppendLe64(2, body);
  AppendLe64(1, body);
  bytes += EncodeRecord(RecordType::kCommit, 2, body);
  files_.Put(PathOf(ManifestName(kWriter, 0)), bytes);
  files_.Put(PathOf(DataName(0, kWriter)), "0\nnever committed");
  EXPECT_EQ(Read().contents[0], "0\n");
  ASSERT_OK(Open(2));
  WriteSteps(1, 3);
  EXPECT_EQ(Read().contents[0], "0\n1\n2\n");
}

}  // namespace
}  // namespace penstock::core
