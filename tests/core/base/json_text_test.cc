#include "core/base/json_text.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

std::string Json(absl::string_view text) {
  std::string out = "x";
  AppendJsonString(text, out);
  return out.substr(1);
}

struct Case {
  const char* name;
  std::string text;
  std::string json;
};
class JsonTextTest : public ::testing::TestWithParam<Case> {};

TEST_P(JsonTextTest, IsEscaped) {
  EXPECT_EQ(Json(GetParam().text), GetParam().json);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, JsonTextTest,
    ::testing::Values(
        Case{"Empty", "", "\"\""}, Case{"Plain", "a b", "\"a b\""},
        Case{"QuoteAndBackslash", "\"\\", "\"\\\"\\\\\""},
        Case{"Controls", std::string("\n\r\t\0\x1f", 5),
             "\"\\n\\r\\t\\u0000\\u001f\""},
        Case{"Utf8", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
             "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        Case{"LoneContinuation", "a\x80z", "\"a\xef\xbf\xbdz\""},
        Case{"CutShort", "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        Case{"Overlong", "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        Case{"Surrogate", "\xed\xa0\x80",
             "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        Case{"TooLarge", "\xf4\x90\x80\x80",
             "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(IsUtf8Test, TellsWellFormedTextFromOtherBytes) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain \n \x7f"));
  EXPECT_TRUE(IsUtf8("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsUtf8("\xC3"));
  EXPECT_FALSE(IsUtf8("a\xFFz"));
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));
  EXPECT_FALSE(IsUtf8("\xC0\x80"));
}

}  // namespace
}  // namespace penstock::core
