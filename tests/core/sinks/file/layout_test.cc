#include "core/sinks/file/layout.h"

#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::Eq;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(LayoutTest, NamesAreThoseOfTheReadme) {
  const Writer writer = {.epoch = 7, .open_number = 12};
  EXPECT_EQ(ClaimName(writer),
            "claim.00000000000000000007-00000000000000000012");
  EXPECT_EQ(ManifestName(writer, 3),
            "manifest.00000000000000000007-00000000000000000012.000003");
  EXPECT_EQ(DataName(5, writer),
            "data-0005.00000000000000000007-00000000000000000012");
}

class LayoutNameTest : public testing::TestWithParam<SinkFile> {};

TEST_P(LayoutNameTest, ComesBack) {
  EXPECT_EQ(ParseSinkFile(SinkFileName(GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, LayoutNameTest,
    testing::Values(
        SinkFile{SinkFileKind::kClaim, {1, 1}, 0},
        SinkFile{SinkFileKind::kClaim, {kMax, kMax}, 0},
        SinkFile{SinkFileKind::kManifest, {0, 9}, 0},
        SinkFile{SinkFileKind::kManifest, {3, 1}, 1234567},
        SinkFile{SinkFileKind::kSegment, {3, 1}, 0},
        SinkFile{SinkFileKind::kData, {3, kMax}, 0, 4095},
        SinkFile{SinkFileKind::kData, {3, 1}, 0, 12345},
        SinkFile{SinkFileKind::kData, {3, 1}, 1, 7},
        SinkFile{SinkFileKind::kData, {3, 1}, 1234567, 7, Compression::kGzip},
        SinkFile{SinkFileKind::kData, {3, 1}, 0, 7, Compression::kZstd},
        SinkFile{SinkFileKind::kCopy, {3, 1}, 0, 7, Compression::kZstd}));

TEST(LayoutTest, NamesSortAsWritersDo) {
  EXPECT_LT(ClaimName({9, 50}), ClaimName({10, 1}));
  EXPECT_LT(ClaimName({10, 9}), ClaimName({10, 10}));
  EXPECT_LT(ManifestName({1, 1}, 9), ManifestName({1, 1}, 10));
}

class LayoutOtherNameTest : public testing::TestWithParam<const char*> {};

TEST_P(LayoutOtherNameTest, IsNotOurs) {
  EXPECT_EQ(ParseSinkFile(GetParam()), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    All, LayoutOtherNameTest,
    testing::Values("", "claim.", "claim.1-1", "README.md",
                    "claim.00000000000000000007-0000000000000000001",
                    "claim.00000000000000000007_00000000000000000012",
                    "claim.00000000000000000007-00000000000000000012.tmp",
                    "claim.99999999999999999999-00000000000000000012",
                    "claim.000000000000000000007-00000000000000000012",
                    "manifest.00000000000000000007-00000000000000000012",
                    "manifest.00000000000000000007-00000000000000000012.0",
                    "manifest.00000000000000000007-00000000000000000012."
                    "0000001",
                    "data-5.00000000000000000007-00000000000000000012",
                    "data-0005.00000000000000000007-00000000000000000012~",
                    "data-0005.00000000000000000007-00000000000000000012."
                    "000000",
                    "data-0005.00000000000000000007-00000000000000000012."
                    "1.gz",
                    "data-0005.00000000000000000007-00000000000000000012.gz."
                    "000001",
                    "data-0005.00000000000000000007-00000000000000000012.gz."
                    "gz"));

TEST(NamePatternTest, NamesFilesWithTheirExtension) {
  const SinkFile file = {.kind = SinkFileKind::kData,
                         .writer = {.epoch = 7, .open_number = 12},
                         .number = 3,
                         .shard = 5,
                         .compression = Compression::kZstd};
  ASSERT_OK(CheckNamePattern("orders-{shard}-{writer}-{number}.ndjson"));
  EXPECT_EQ(FinalName("orders-{shard}-{writer}-{number}.ndjson", file),
            "orders-0005-00000000000000000007-00000000000000000012-000003"
            ".ndjson.zst");
  EXPECT_OK(CheckNamePattern(kDefaultNamePattern));
}

class NamePatternRefusedTest : public testing::TestWithParam<const char*> {};

TEST_P(NamePatternRefusedTest, NamesTheFieldAndAnExample) {
  const absl::Status status = CheckNamePattern(GetParam());
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(status.message(), testing::HasSubstr("orders-{shard}"));
}

INSTANTIATE_TEST_SUITE_P(
    All, NamePatternRefusedTest,
    testing::Values(
        "orders.ndjson", "{shard}-{number}", "{writer}-{number}",
        "{shard}-{writer}", "../{shard}-{writer}-{number}",
        "a/{shard}-{writer}-{number}", ".{shard}-{writer}-{number}",
        "{shard}-{writer}-{number}-{shard}", "{shard}-{writer}-{number}-{date}",
        "{shard} {writer} {number}",
        "{shard}-{writer}-{number}-"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxx"));

TEST(LayoutTest, ListingSkipsOtherFiles) {
  FakeFileSystem files;
  files.Put("/d/notes.txt", "");
  files.Put("/d/" + DataName(0, {2, 1}), "");
  files.Put("/d/" + ClaimName({1, 9}), "");
  ASSERT_OK_AND_ASSIGN(const auto listing, ListSinkFiles(files, "/d"));
  EXPECT_THAT(listing, ElementsAre(SinkFile{SinkFileKind::kClaim, {1, 9}},
                                   SinkFile{SinkFileKind::kData, {2, 1}}));
  EXPECT_THAT(HighestWriter(listing), Eq(Writer{2, 1}));
}

TEST(LayoutTest, HighestWriterIsThatOfTheLastClaimOrManifest) {
  FakeFileSystem files;
  files.Put("/d/notes.txt", "");
  EXPECT_THAT(FindHighestWriter(files, "/d"), IsOkAndHolds(std::nullopt));
  files.Put("/d/" + ClaimName({1, 9}), "");
  files.Put("/d/" + ClaimName({1, 10}), "");
  files.Put("/d/claim.zzz", "");
  EXPECT_THAT(FindHighestWriter(files, "/d"), IsOkAndHolds(Writer{1, 10}));
  files.Put("/d/" + ManifestName({2, 1}, 0), "");
  EXPECT_THAT(FindHighestWriter(files, "/d"), IsOkAndHolds(Writer{2, 1}));
  files.Put("/d/" + ClaimName({kMax, kMax}), "");
  EXPECT_THAT(FindHighestWriter(files, "/d"), IsOkAndHolds(Writer{kMax, kMax}));
}

TEST(LayoutTest, EmptyListingHasNoHighestWriter) {
  EXPECT_EQ(HighestWriter({}), std::nullopt);
}

}  // namespace
}  // namespace penstock::core
