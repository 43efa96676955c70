// Damage is told, never taken for a first run or an older state.
#include "core/base/byte_order.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Writer kFirst = {.epoch = 1, .open_number = 1};
constexpr Writer kSecond = {.epoch = 1, .open_number = 2};

std::string PathOf(const std::string& name) {
  return absl::StrCat(kDirectory, "/", name);
}

// Two writers wrote 4 steps each.
class FileSinkDamageTest : public testing::Test {
 protected:
  FileSinkDamageTest() {
    Write(1, 4);
    Write(2, 8);
  }

  void Write(uint64_t open_number, Step steps) {
    SinkProcess process(files_, {.open_number = open_number,
                                 .first_open = open_number == 1,
                                 .steps = steps});
    process.Run();
    EXPECT_OK(process.opened());
    EXPECT_OK(process.status());
  }

  absl::Status Reopen(bool first_open = false) {
    SinkProcess process(
        files_, {.open_number = next_open_++, .first_open = first_open});
    process.Open();
    return process.opened().status();
  }

  // Both who would write and who reads is told.
  void ExpectDamaged(absl::string_view file) {
    const auto told = AllOf(
        HasReason(Reason::STATE_DAMAGED),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(file))));
    EXPECT_THAT(ReadCommitted(files_, kDirectory).status(), told);
    EXPECT_THAT(Reopen(), told);
  }

  FakeFileSystem files_;
  uint64_t next_open_ = 3;
};

struct Damage {
  const char* name;
  std::function<std::string(std::string)> apply;
};
std::ostream& operator<<(std::ostream& out, const Damage& damage) {
  return out << damage.name;
}

class FileSinkManifestDamageTest : public FileSinkDamageTest,
                                   public testing::WithParamInterface<Damage> {
};

TEST_P(FileSinkManifestDamageTest, IsTold) {
  const std::string path = PathOf(ManifestName(kSecond, 0));
  files_.Put(path, GetParam().apply(*files_.Contents(path)));
  ExpectDamaged(path);
}

TEST_P(FileSinkManifestDamageTest, IsToldOnTheFirstOpenToo) {
  const std::string path = PathOf(ManifestName(kSecond, 0));
  files_.Put(path, GetParam().apply(*files_.Contents(path)));
  EXPECT_THAT(Reopen(/*first_open=*/true), HasReason(Reason::STATE_DAMAGED));
}

// Nothing depends on a manifest that a later one took over from.
TEST_P(FileSinkManifestDamageTest, OfASupersededManifestIsHarmless) {
  const std::string path = PathOf(ManifestName(kFirst, 0));
  files_.Put(path, GetParam().apply(*files_.Contents(path)));
  EXPECT_OK(Reopen());
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSinkManifestDamageTest,
    testing::Values(
        Damage{"Emptied", [](const std::string&) { return ""; }},
        Damage{"NulFilled",
               [](const std::string& bytes) {
                 return std::string(bytes.size(), '\0');
               }},
        Damage{"CutInTheHeader",
               [](const std::string& bytes) { return bytes.substr(0, 30); }},
        Damage{"CutInTheState",
               [](const std::string& bytes) { return bytes.substr(0, 110); }},
        Damage{"FlippedInTheHeader",
               [](std::string bytes) {
                 bytes[20] ^= 1;
                 return bytes;
               }},
        Damage{"FlippedInTheMiddle",
               [](std::string bytes) {
                 bytes[bytes.size() / 2] ^= 1;
                 return bytes;
               }},
        Damage{"FlippedNearTheEnd",
               [](std::string bytes) {
                 bytes[bytes.size() - 6] ^= 1;
                 return bytes;
               }},
        Damage{"NulInTheMiddle",
               [](std::string bytes) {
                 bytes.replace(bytes.size() / 2, 60, std::string(60, '\0'));
                 return bytes;
               }},
        Damage{"Text", [](const std::string&) { return "what manifest?\n"; }}),
    [](const auto& test) { return test.param.name; });

TEST_F(FileSinkDamageTest, DeletedManifestWithDataIsTold) {
  ASSERT_OK(files_.Remove(PathOf(ManifestName(kSecond, 0))));
  ExpectDamaged(PathOf(ManifestName(kSecond, 0)));
}

TEST_F(FileSinkDamageTest, AllManifestsDeletedIsTold) {
  ASSERT_OK(files_.Remove(PathOf(ManifestName(kFirst, 0))));
  ASSERT_OK(files_.Remove(PathOf(ManifestName(kSecond, 0))));
  EXPECT_THAT(Reopen(/*first_open=*/true), HasReason(Reason::STATE_DAMAGED));
  ExpectDamaged("manifest.");
}

TEST_F(FileSinkDamageTest, EverythingDeletedIsLostProgress) {
  for (const std::string& path : files_.Files()) ASSERT_OK(files_.Remove(path));
  EXPECT_THAT(Reopen(), HasReason(Reason::PROGRESS_LOST));
  EXPECT_THAT(ReadCommitted(files_, kDirectory).status(),
              HasReason(Reason::PROGRESS_LOST));
}

TEST_F(FileSinkDamageTest, DeletedDirectoryIsLostProgress) {
  FakeFileSystem empty;
  SinkProcess process(empty, {.open_number = 3, .first_open = false});
  process.Open();
  EXPECT_THAT(process.opened(), HasReason(Reason::PROGRESS_LOST));
  EXPECT_THAT(ReadCommitted(files_, "/nowhere").status(),
              HasReason(Reason::NOT_FOUND));
}

TEST_F(FileSinkDamageTest, DeletedDataIsTold) {
  ASSERT_OK(files_.Remove(PathOf(DataName(0, kFirst))));
  EXPECT_THAT(Reopen(), AllOf(HasReason(Reason::STATE_DAMAGED),
                              StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr(DataName(0, kFirst)))));
}

TEST_F(FileSinkDamageTest, ShortDataIsTold) {
  const std::string path = PathOf(DataName(1, kSecond));
  std::string bytes = *files_.Contents(path);
  bytes.pop_back();
  files_.Put(path, bytes);
  EXPECT_THAT(Reopen(),
              AllOf(HasReason(Reason::STATE_DAMAGED),
                    StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path))));
}

TEST_F(FileSinkDamageTest, DeletedClaimsAreHarmless) {
  ASSERT_OK(files_.Remove(PathOf(ClaimName(kFirst))));
  ASSERT_OK(files_.Remove(PathOf(ClaimName(kSecond))));
  Write(3, 10);
  ASSERT_OK_AND_ASSIGN(const Committed committed,
                       ReadCommitted(files_, kDirectory));
  ExpectConsistent(committed);
  EXPECT_THAT(committed.progress, ElementsAre(10, 10));
}

TEST_F(FileSinkDamageTest, ManifestOfANewerFormatIsNotTouched) {
  const std::string path = PathOf(ManifestName(kSecond, 0));
  std::string bytes = *files_.Contents(path);
  // The version stands behind the frame's 16 bytes, type and sequence number.
  const size_t record_bytes = 20 + LoadLe32(bytes.data() + 12);
  bytes[16 + 9] = kManifestVersion + 1;
  StoreLe64(Checksum64(bytes.substr(12, record_bytes - 12)), bytes.data() + 4);
  files_.Put(path, bytes);
  EXPECT_THAT(Reopen(), HasReason(Reason::UNSUPPORTED));
}

TEST_F(FileSinkDamageTest, MissingNextPartIsTold) {
  const std::string path = PathOf(ManifestName(kSecond, 0));
  const std::string bytes = *files_.Contents(path);
  const Manifest manifest = ParseManifest(bytes, kSecond);
  // 8 commits: steps 4 and 6 in one, 5 and 7 in two each.
  files_.Put(path, bytes + EncodeContinued(8, 1));
  ASSERT_EQ(ParseManifest(*files_.Contents(path), kSecond).continued_in, 1)
      << manifest.problem;
  ExpectDamaged(PathOf(ManifestName(kSecond, 1)));
}

}  // namespace
}  // namespace penstock::core
