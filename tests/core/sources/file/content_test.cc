#include "core/sources/file/content.h"

#include "core/base/sparse_file.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

constexpr uint64_t kHoleUnit = 4096;

// Files with holes of any size and NUL bytes that were written, against the
// same bytes in memory, where every byte is read.
TEST(PlainContentTest, CountsTheSameNulsWithAndWithoutHoles) {
  const TempDir dir;
  FakeFileSystem plain;
  Random rng = TestRandom();
  for (int round = 0; round < 40; ++round) {
    const std::string path = dir.Path(absl::StrCat("f", round));
    auto file = PosixFileSystem().OpenForAppend(path, {});
    ASSERT_OK(file.status());
    std::string bytes;
    for (uint64_t parts = rng.Uniform(4); parts > 0; --parts) {
      const uint64_t size = 1 + rng.Uniform(5 * kHoleUnit);
      switch (rng.Uniform(3)) {
        case 0:
          bytes.append(size, '\0');
          ASSERT_OK((*file)->Truncate(bytes.size()));
          continue;
        case 1:
          bytes.append(size, '\0');
          ASSERT_OK((*file)->Append(std::string(size, '\0')));
          continue;
        default:
          bytes.append(size, 'x');
          ASSERT_OK((*file)->Append(std::string(size, 'x')));
      }
    }
    plain.Put("/f", bytes);
    const auto whole = plain.OpenForRead("/f");
    ASSERT_OK(whole.status());
    EXPECT_EQ(PlainContent(**file).CountNuls().value(),
              PlainContent(**whole).CountNuls().value())
        << "round " << round;
  }
}

TEST(SparseFileTest, TellsWhereThereMayBeData) {
  const TempDir dir;
  const auto file = PosixFileSystem().OpenForAppend(dir.Path("f"), {});
  ASSERT_OK(file.status());
  auto* const sparse = dynamic_cast<SparseFile*>(file->get());
  ASSERT_NE(sparse, nullptr);
  EXPECT_EQ(sparse->NextData(0), 0U);
  ASSERT_OK((*file)->Truncate(1 << 30));
  ASSERT_OK((*file)->Append("x"));
  const uint64_t data = sparse->NextData(0);
  // A file system that knows no holes says 0.
  EXPECT_LE(data, uint64_t{1} << 30);
  EXPECT_EQ(sparse->NextData(uint64_t{1} << 30), uint64_t{1} << 30);
  // At the end there is none, nor behind it.
  EXPECT_EQ(sparse->NextData((uint64_t{1} << 30) + 1), (uint64_t{1} << 30) + 1);
  EXPECT_EQ(sparse->NextData(uint64_t{1} << 31), uint64_t{1} << 31);
}

}  // namespace
}  // namespace penstock::core
