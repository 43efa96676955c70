#include "core/format/bad_record.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

TEST(CutInvalidTextTest, KeepsAShortText) {
  EXPECT_EQ(CutInvalidText("abc"), "abc");
}

TEST(CutInvalidTextTest, KeepsATextOfExactlyTheLimit) {
  const std::string text(kInvalidTextBytesMax, 'a');
  EXPECT_EQ(CutInvalidText(text), text);
}

TEST(CutInvalidTextTest, CutsALongText) {
  EXPECT_EQ(CutInvalidText(std::string(kInvalidTextBytesMax + 1, 'a')),
            std::string(kInvalidTextBytesMax, 'a'));
}

TEST(CutInvalidTextTest, TearsNoCharacterOfTwoBytes) {
  const std::string before(kInvalidTextBytesMax - 1, 'a');
  EXPECT_EQ(CutInvalidText(before + "\u00e9"), before);
}

TEST(CutInvalidTextTest, TearsNoCharacterOfFourBytes) {
  const std::string before(kInvalidTextBytesMax - 3, 'a');
  EXPECT_EQ(CutInvalidText(before + "\U0001f680"), before);
}

TEST(CutInvalidTextTest, KeepsACharacterThatJustFits) {
  const std::string before(kInvalidTextBytesMax - 4, 'a');
  EXPECT_EQ(CutInvalidText(before + "\U0001f680z"), before + "\U0001f680");
}

TEST(CutInvalidTextTest, CutsAnywhereInWhatIsNoUtf8) {
  EXPECT_EQ(CutInvalidText(std::string(kInvalidTextBytesMax + 9, '\x80')),
            std::string(kInvalidTextBytesMax, '\x80'));
}

TEST(RecordTooLargeTest, NamesTheLimitAndCutsTheText) {
  const ParseError error = RecordTooLarge(std::string(9000, 'x'), 8192);
  EXPECT_EQ(error.tag, "record_too_large");
  EXPECT_EQ(error.description, "the record is longer than 8192 bytes");
  EXPECT_EQ(error.invalid_text.size(), kInvalidTextBytesMax);
  EXPECT_FALSE(error.suggestion.empty());
}

TEST(ShowTextTest, IsShortAndOnOneLine) {
  EXPECT_EQ(ShowText("caf\xc3\xa9 'x' \\n"), "caf\xc3\xa9 'x' \\n");
  EXPECT_EQ(ShowText(absl::string_view("a\n\0\x7f", 4)), "a\\x0a\\x00\\x7f");
  EXPECT_EQ(ShowText(std::string(63, 'x') + "\xc3\xa9"),
            std::string(63, 'x') + "…");
}

}  // namespace
}  // namespace penstock::core
