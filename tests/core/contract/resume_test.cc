#include "core/contract/resume.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(ResumeTest, IsABarrierAtFirst) {
  EXPECT_TRUE(Resume().IsBarrier());
  EXPECT_EQ(Resume(), Resume(Resume::Barrier{}));
}

// Seed: `seek` "returns the seek value, if any".
TEST(ResumeTest, ABarrierHasNoSeek) {
  EXPECT_EQ(Resume().seek(), std::nullopt);
}

TEST(ResumeTest, ASeekGivesItsTextByteForByte) {
  // Neither key order nor spaces nor 2^63 - 1 may change.
  const std::string text =
      "{ \"z\": 9223372036854775807,\t\"a\" : 1.0 , \"a\":[] }";
  EXPECT_EQ(Resume(Resume::Seek{.seek = text}).seek(), text);
  EXPECT_FALSE(Resume(Resume::Seek{.seek = text}).IsBarrier());
}

TEST(ResumeTest, AReplayGivesItsSeek) {
  EXPECT_EQ(Resume(Resume::Replay{.seek = "7", .replay = "x"}).seek(), "7");
}

// Seed: `fault_tolerance` "the maximum level that this Resume can support".
TEST(ResumeTest, BarrierAndSeekSupportAtLeastOnce) {
  EXPECT_EQ(Resume().FaultTolerance(), FtModel::kAtLeastOnce);
  EXPECT_EQ(Resume(Resume::Seek{}).FaultTolerance(), FtModel::kAtLeastOnce);
}

TEST(ResumeTest, ReplaySupportsExactlyOnce) {
  EXPECT_EQ(Resume(Resume::Replay{}).FaultTolerance(), FtModel::kExactlyOnce);
}

// Seed: "if hash is provided, returns Resume::Replay with its hash value and
// seek; otherwise, returns Resume::Seek with seek".
TEST(ResumeTest, MetadataOnlyWithAHashIsAReplayWithNilData) {
  EXPECT_EQ(Resume::MetadataOnly("{}", 5),
            Resume(Resume::Replay{
                .seek = "{}", .replay = std::string(kMsgpackNil), .hash = 5}));
}

TEST(ResumeTest, MetadataOnlyWithoutAHashIsASeek) {
  EXPECT_EQ(Resume::MetadataOnly("{}", std::nullopt),
            Resume(Resume::Seek{.seek = "{}"}));
}

// Seed: "Resume::Replay with its hash value and whatever replay returns;
// otherwise, returns Resume::Seek".
TEST(ResumeTest, DataOnlyWithAHashIsAReplayWithNullSeek) {
  EXPECT_EQ(
      Resume::DataOnly([] { return std::string("data"); }, 5),
      Resume(Resume::Replay{.seek = "null", .replay = "data", .hash = 5}));
}

TEST(ResumeTest, DataOnlyWithoutAHashNeverAsksForTheData) {
  bool asked = false;
  const Resume resume = Resume::DataOnly(
      [&asked] {
        asked = true;
        return std::string("data");
      },
      std::nullopt);
  EXPECT_EQ(resume, Resume(Resume::Seek{.seek = "null"}));
  EXPECT_FALSE(asked);
}

TEST(ResumeTest, AHashOfZeroIsAHash) {
  EXPECT_EQ(Resume::MetadataOnly("{}", 0).FaultTolerance(),
            FtModel::kExactlyOnce);
}

TEST(ResumeTest, NilIsOneByteOfMessagePack) {
  ASSERT_EQ(kMsgpackNil.size(), 1u);
  EXPECT_EQ(static_cast<unsigned char>(kMsgpackNil[0]), 0xc0);
}

}  // namespace
}  // namespace penstock::core
