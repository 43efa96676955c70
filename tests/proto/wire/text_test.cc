#include "proto/wire/text.h"

#include <gtest/gtest.h>

namespace penstock::wire {
namespace {

TEST(ToUtf8Test, KeepsWellFormedText) {
  EXPECT_EQ(ToUtf8("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\xB0"),
            "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\xB0");
}

TEST(ToUtf8Test, KeepsNulBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(ToUtf8(text), text);
}

TEST(ToUtf8Test, ReplacesEachBadByte) {
  EXPECT_EQ(ToUtf8("a\xFF\x80z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(ToUtf8Test, ReplacesOverlongForms) {
  EXPECT_EQ(ToUtf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ToUtf8("\xE0\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ToUtf8Test, ReplacesSurrogatesAndWhatIsAboveUnicode) {
  EXPECT_EQ(ToUtf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ToUtf8("\xF4\x90\x80\x80").size(), 12u);
}

TEST(ToUtf8Test, ReplacesACharacterThatIsTornAtTheEnd) {
  EXPECT_EQ(ToUtf8("a\xE2\x82"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ToUtf8Test, CutsAtTheEndOfACharacter) {
  EXPECT_EQ(ToUtf8("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(ToUtf8("ab\xE2\x82\xAC", 5), "ab\xE2\x82\xAC");
  EXPECT_EQ(ToUtf8("abc", 0), "");
}

}  // namespace
}  // namespace penstock::wire
