#include "core/sources/file/fragment_reader.h"

#include "core/base/random.h"
#include "core/format/raw/raw_format.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Piece = FragmentReader::Piece;

RawParser MakeParser(size_t record_bytes_max) {
  RawConfig config;
  config.record_bytes_max = record_bytes_max;
  return RawParser(config);
}

std::string TextOf(const Fragment& fragment) {
  return std::string(fragment.block->data() + fragment.begin, fragment.size);
}

class FragmentReaderTest : public testing::Test {
 protected:
  void Open(const std::string& text, size_t block_bytes,
            size_t record_bytes_max = 1000) {
    files_.Put("/f", text);
    file_ = *files_.OpenForRead("/f");
    content_.emplace(*file_);
    blocks_.emplace(block_bytes);
    reader_.emplace(*content_, MakeParser(record_bytes_max), *blocks_);
  }
  // All that comes, as "text@offset"; cut ones with '!', last ones with '$'.
  std::vector<std::string> ReadAll(std::optional<uint64_t> limit = {}) {
    std::vector<std::string> all;
    while (true) {
      const absl::StatusOr<Piece> piece = reader_->Next(limit);
      EXPECT_OK(piece);
      if (!piece.ok()) return all;
      if (piece->fragment.has_value()) {
        const Fragment& fragment = *piece->fragment;
        all.push_back(TextOf(fragment) + "@" + std::to_string(fragment.offset) +
                      (fragment.is_cut ? "!" : "") +
                      (fragment.is_last ? "$" : ""));
      }
      if (piece->at_end) return all;
    }
  }

  FakeFileSystem files_;
  std::unique_ptr<File> file_;
  std::optional<PlainContent> content_;
  std::optional<Blocks> blocks_;
  std::optional<FragmentReader> reader_;
};

TEST_F(FragmentReaderTest, CutsBehindTheLastLineOfABlock) {
  Open("a\nbc\ndef\n", 6);
  EXPECT_THAT(ReadAll(), ElementsAre("a\nbc\n@0", "def\n@5"));
  EXPECT_EQ(reader_->position(), 9u);
}

TEST_F(FragmentReaderTest, AnEmptyFileIsAtItsEnd) {
  Open("", 6);
  ASSERT_OK_AND_ASSIGN(const Piece piece, reader_->Next(std::nullopt));
  EXPECT_TRUE(piece.at_end);
  EXPECT_FALSE(piece.fragment.has_value());
}

TEST_F(FragmentReaderTest, TheLastLineMayLackItsEnd) {
  Open("a\nbc", 100);
  EXPECT_THAT(ReadAll(), ElementsAre("a\n@0", "bc@2$"));
}

TEST_F(FragmentReaderTest, ALongRecordGetsALargerBlock) {
  Open("a\n" + std::string(50, 'x') + "\nb\n", 4);
  EXPECT_THAT(ReadAll(),
              ElementsAre("a\n@0", std::string(50, 'x') + "\nb\n@2"));
}

TEST_F(FragmentReaderTest, ARecordOfTheLimitIsNotCut) {
  Open(std::string(20, 'x') + "\r\ny\n", 4, 20);
  std::string text;
  for (const std::string& piece : ReadAll()) {
    EXPECT_THAT(piece, testing::Not(testing::HasSubstr("!")));
    text += piece.substr(0, piece.find('@'));
  }
  EXPECT_EQ(text, std::string(20, 'x') + "\r\ny\n");
}

TEST_F(FragmentReaderTest, ATooLongRecordIsCutAndTheRestReadOver) {
  const size_t cut = 20 + Parser::kFramingBytesMax;
  Open("a\n" + std::string(1000, 'x') + "\nb\nc\n", 4, 20);
  EXPECT_THAT(ReadAll(), ElementsAre("a\n@0", std::string(cut, 'x') + "@2!",
                                     "b\nc\n@1003"));
}

TEST_F(FragmentReaderTest, ATooLongRecordAtTheEndIsCut) {
  const size_t cut = 20 + Parser::kFramingBytesMax;
  Open("a\n" + std::string(1000, 'x'), 4, 20);
  EXPECT_THAT(ReadAll(), ElementsAre("a\n@0", std::string(cut, 'x') + "@2!"));
  EXPECT_EQ(reader_->position(), 1002u);
}

TEST_F(FragmentReaderTest, ItsPositionIsNeverInsideATooLongRecord) {
  Open("a\n" + std::string(1000, 'x') + "\nb\n", 4, 20);
  ASSERT_OK(reader_->Next(std::nullopt));
  for (int calls = 0;; ++calls) {
    ASSERT_LT(calls, 1000);
    EXPECT_EQ(reader_->position(), 2u);
    ASSERT_OK_AND_ASSIGN(const Piece piece, reader_->Next(std::nullopt));
    if (!piece.fragment.has_value()) continue;
    EXPECT_TRUE(piece.fragment->is_cut);
    EXPECT_EQ(reader_->position(), 1003u);
    break;
  }
}

TEST_F(FragmentReaderTest, ReadsNothingBehindALimit) {
  Open("a\nbc\ndef\n", 100);
  EXPECT_THAT(ReadAll(5), ElementsAre("a\nbc\n@0"));
  EXPECT_THAT(ReadAll(9), ElementsAre("def\n@5"));
}

TEST_F(FragmentReaderTest, AFileThatEndsBeforeTheLimitIsExpired) {
  Open("a\nbc\n", 100);
  EXPECT_THAT(reader_->Next(6), HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(FragmentReaderTest, GoesWhereItIsPut) {
  Open("a\nbc\ndef\n", 100);
  reader_->Seek(5);
  EXPECT_THAT(ReadAll(), ElementsAre("def\n@5"));
  reader_->Seek(2);
  EXPECT_THAT(ReadAll(5), ElementsAre("bc\n@2"));
  EXPECT_FALSE(reader_->is_torn());
}

TEST_F(FragmentReaderTest, ALineEndThatCameLaterIsNoRecord) {
  Open("a\nbc", 100);
  EXPECT_THAT(ReadAll(), ElementsAre("a\n@0", "bc@2$"));
  files_.Put("/f", "a\nbc\nd\n");
  reader_->Seek(4);
  EXPECT_THAT(ReadAll(), ElementsAre("d\n@5"));
  files_.Put("/f", "a\nbc\r\nd\n");
  reader_->Seek(4);
  EXPECT_THAT(ReadAll(), ElementsAre("d\n@6"));
  files_.Put("/f", "a\nbc\n");
  reader_->Seek(4);
  EXPECT_THAT(ReadAll(), IsEmpty());
  EXPECT_FALSE(reader_->is_torn());
}

TEST_F(FragmentReaderTest, ARecordThatGrewLaterIsTorn) {
  Open("a\nbcd\n", 100);
  reader_->Seek(3);
  EXPECT_THAT(ReadAll(), ElementsAre("cd\n@3"));
  EXPECT_TRUE(reader_->is_torn());
  reader_->Seek(2);
  ReadAll();
  EXPECT_FALSE(reader_->is_torn());
}

TEST_F(FragmentReaderTest, TheFilesErrorsComeOut) {
  Open("a\n", 100);
  files_.FailNext(FileOperation::kReadAt, "/f", absl::InternalError("broken"));
  EXPECT_THAT(reader_->Next(std::nullopt),
              StatusIs(absl::StatusCode::kInternal, "broken"));
}

TEST_F(FragmentReaderTest, MemoryCanBeReleasedAtAnyTime) {
  Open("a\nbc\ndef\n", 4);
  ASSERT_OK_AND_ASSIGN(const Piece piece, reader_->Next(std::nullopt));
  reader_->ReleaseMemory();
  EXPECT_EQ(TextOf(*piece.fragment), "a\n");
  EXPECT_THAT(ReadAll(), ElementsAre("bc\n@2", "def\n@5"));
}

// What was cut apart is the file again, whatever the blocks.
TEST_F(FragmentReaderTest, EveryBlockSizeGivesTheSameBytes) {
  Random random = TestRandom();
  for (int round = 0; round < 30; ++round) {
    std::string text;
    for (uint64_t left = random.Uniform(300); left > 0; --left) {
      text += random.Uniform(8) == 0 ? '\n' : 'x';
    }
    for (size_t block_bytes = 1; block_bytes <= text.size() + 1;
         ++block_bytes) {
      Open(text, block_bytes);
      std::string again;
      for (const std::string& piece : ReadAll()) {
        again += piece.substr(0, piece.find('@'));
      }
      ASSERT_EQ(again, text) << "in blocks of " << block_bytes;
    }
  }
}

}  // namespace
}  // namespace penstock::core
