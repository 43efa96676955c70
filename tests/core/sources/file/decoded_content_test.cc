#include "core/sources/file/decoded_content.h"

#include "core/base/random.h"
#include "tests/support/compress.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {
namespace {

struct Case {
  std::string name;
  Compression compression;
  std::string (*compress)(absl::string_view);
};

std::string SomeText(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) absl::StrAppend(&text, i, "\n");
  text.resize(size);
  return text;
}

class DecodedContentTest : public testing::TestWithParam<Case> {
 protected:
  static std::string Compress(absl::string_view text) {
    return GetParam().compress(text);
  }
  static std::string Tag(absl::string_view what) {
    return absl::StrCat(GetParam().name, "_", what);
  }
  DecodedContent& Open(absl::string_view bytes) {
    files_.Put("/f", bytes);
    file_ = *files_.OpenForRead("/f");
    content_.emplace(*file_, GetParam().compression);
    return *content_;
  }
  std::string Read(uint64_t offset, size_t size) {
    std::string out(size, '\0');
    const auto got = content_->ReadAt(offset, out);
    EXPECT_OK(got);
    out.resize(got.value_or(0));
    return out;
  }
  std::string DefectTag() {
    const std::optional<Defect> defect = content_->DefectAtEnd();
    return defect.has_value() ? defect->tag : "";
  }

  FakeFileSystem files_;
  std::unique_ptr<File> file_;
  std::optional<DecodedContent> content_;
};

TEST_P(DecodedContentTest, ReadsUpToItsEnd) {
  const std::string text = SomeText(300'000);
  Open(Compress(text));
  EXPECT_EQ(Read(0, 400'000), text);
  EXPECT_EQ(DefectTag(), "");
}

TEST_P(DecodedContentTest, ReadsAllMembersThoughOneIsEmpty) {
  Open(Compress("{\"i\":1}\n{\"i\"") + Compress("") + Compress(":2}\n"));
  EXPECT_EQ(Read(0, 100), "{\"i\":1}\n{\"i\":2}\n");
  EXPECT_EQ(DefectTag(), "");
}

TEST_P(DecodedContentTest, AnEmptyFileIsEmptyContent) {
  Open("");
  EXPECT_EQ(Read(0, 10), "");
  EXPECT_EQ(DefectTag(), "");
}

TEST_P(DecodedContentTest, BytesOfAnotherKindBehindTheLastAreADefect) {
  Open(Compress("a\n") + "{\"i\":2}\n");
  EXPECT_EQ(Read(0, 100), "a\n");
  EXPECT_EQ(DefectTag(), Tag("trailing_garbage"));
}

TEST_P(DecodedContentTest, ACutOffFileGivesWhatItHas) {
  const std::string text = SomeText(300'000);
  const std::string whole = Compress(text);
  Open(whole.substr(0, whole.size() - 20));
  const std::string got = Read(0, 400'000);
  EXPECT_GT(got.size(), 0u);
  EXPECT_EQ(got, text.substr(0, got.size()));
  EXPECT_EQ(DefectTag(), Tag("truncated"));
}

TEST_P(DecodedContentTest, ACutOffFileIsReadOnWhenItHasGrown) {
  const std::string text = SomeText(300'000);
  const std::string whole = Compress(text);
  Open(whole.substr(0, whole.size() - 20));
  const std::string first = Read(0, 400'000);
  files_.Put("/f", whole);
  EXPECT_EQ(first + Read(first.size(), 400'000), text);
  EXPECT_EQ(DefectTag(), "");
}

TEST_P(DecodedContentTest, AFileOfAnotherKindIsADefect) {
  Open("plain text");
  EXPECT_EQ(Read(0, 100), "");
  EXPECT_EQ(DefectTag(), Tag("corrupt"));
}

TEST_P(DecodedContentTest, ADamagedFileEndsAtTheDamage) {
  const std::string text = SomeText(300'000);
  std::string bytes = Compress(text);
  std::fill(bytes.end() - 100, bytes.end() - 50, '\xff');
  Open(bytes);
  EXPECT_LT(Read(0, 400'000).size(), text.size() + 1);
  EXPECT_NE(DefectTag(), "");
}

TEST_P(DecodedContentTest, AnyOrderOfReadsGivesTheSameBytes) {
  Random random = TestRandom();
  const std::string text = SomeText(200'000);
  Open(Compress(text.substr(0, 70'000)) + Compress(text.substr(70'000)));
  for (int i = 0; i < 200; ++i) {
    const uint64_t offset = random.Uniform(text.size() + 10);
    const size_t size = random.Uniform(5'000);
    const std::string expected =
        offset < text.size() ? text.substr(offset, size) : "";
    ASSERT_EQ(Read(offset, size), expected) << offset << "+" << size;
  }
}

TEST_P(DecodedContentTest, TheBeginningIsReadWithoutLosingThePlace) {
  const std::string text = SomeText(100'000);
  Open(Compress(text));
  EXPECT_EQ(Read(50'000, 10), text.substr(50'000, 10));
  // Whoever decodes anew reads the file again.
  files_.FailNext(FileOperation::kReadAt, "/f", absl::InternalError("no"), 1);
  std::string beginning(5, '\0');
  EXPECT_FALSE(content_->Peek(0, beginning).ok());
  EXPECT_THAT(content_->Peek(0, beginning), IsOkAndHolds(5u));
  EXPECT_EQ(beginning, text.substr(0, 5));
  files_.FailNext(FileOperation::kReadAt, "/f", absl::InternalError("no"), 1);
  EXPECT_EQ(Read(50'010, 10), text.substr(50'010, 10));
}

TEST_P(DecodedContentTest, AfterAFailedReadItReadsAgain) {
  const std::string text = SomeText(100'000);
  Open(Compress(text));
  std::string out(1000, '\0');
  files_.FailNext(FileOperation::kReadAt, "/f", absl::InternalError("no"), 1);
  EXPECT_FALSE(content_->ReadAt(0, out).ok());
  EXPECT_EQ(Read(0, 200'000), text);
}

TEST_P(DecodedContentTest, ItsSizeIsKnownUpToALimit) {
  Open(Compress(SomeText(1000)));
  EXPECT_THAT(content_->SizeUpTo(999), IsOkAndHolds(testing::Ge(999u)));
  EXPECT_THAT(content_->SizeUpTo(5000), IsOkAndHolds(1000u));
}

INSTANTIATE_TEST_SUITE_P(
    , DecodedContentTest,
    testing::Values(Case{"gzip", Compression::kGzip, Gzip},
                    Case{"zstd", Compression::kZstd, Zstd}),
    [](const testing::TestParamInfo<Case>& named) { return named.param.name; });

class GzipContentTest : public testing::Test {
 protected:
  // Reads all; the defect's tag comes behind.
  std::string ReadAll(absl::string_view bytes) {
    files_.Put("/f", bytes);
    const std::unique_ptr<File> file = *files_.OpenForRead("/f");
    DecodedContent content(*file, Compression::kGzip);
    std::string out(1000, '\0');
    out.resize(content.ReadAt(0, out).value_or(0));
    const std::optional<Defect> defect = content.DefectAtEnd();
    return out + (defect.has_value() ? defect->tag : "");
  }

  FakeFileSystem files_;
};

TEST_F(GzipContentTest, ZerosBehindTheLastMemberMeanNothing) {
  EXPECT_EQ(ReadAll(Gzip("a\n") + std::string(70'000, '\0')), "a\n");
}

TEST_F(GzipContentTest, AnythingElseBehindZerosIsADefect) {
  EXPECT_EQ(ReadAll(Gzip("a\n") + std::string(10, '\0') + Gzip("b\n")),
            "a\ngzip_trailing_garbage");
}

}  // namespace
}  // namespace penstock::core
