#include "client/internal/yaml_scalar.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::client::internal {
namespace {

using ::testing::HasSubstr;

TEST(YamlScalarTest, BoolIsTrueOrFalseAndNothingElse) {
  EXPECT_EQ(ParseBool("true"), true);
  EXPECT_EQ(ParseBool("false"), false);
  EXPECT_EQ(ParseBool("yes"), std::nullopt);
  EXPECT_EQ(ParseBool("True"), std::nullopt);
}

TEST(YamlScalarTest, NumbersKeepEveryDigit) {
  EXPECT_EQ(ParseNumber("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseNumber("9223372036854775807"), uint64_t{INT64_MAX});
  EXPECT_EQ(ParseNumber("0"), 0u);
}

TEST(YamlScalarTest, WhatIsNoWholeNumberIsNone) {
  for (const char* text : {"", "-1", "+1", " 1", "1.0", "1e3", "0x10",
                           "18446744073709551616", "four"}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(YamlScalarTest, BytesHaveUnits) {
  EXPECT_EQ(ParseBytes("4096"), 4096u);
  EXPECT_EQ(ParseBytes("512B"), 512u);
  EXPECT_EQ(ParseBytes("64kB"), 64'000u);
  EXPECT_EQ(ParseBytes("64KiB"), 65'536u);
  EXPECT_EQ(ParseBytes("8 MiB"), uint64_t{8} << 20);
  EXPECT_EQ(ParseBytes("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(ParseBytes("1TB"), 1'000'000'000'000u);
}

TEST(YamlScalarTest, BytesThatAreNoneOrTooMany) {
  for (const char* text :
       {"", "MiB", "8Mib", "8MiBs", "-8MiB", "1.5MiB", "99999999999TiB"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(YamlScalarTest, TimesHaveUnits) {
  EXPECT_EQ(ParseTime("10s"), absl::Seconds(10));
  EXPECT_EQ(ParseTime("100ms"), absl::Milliseconds(100));
  EXPECT_EQ(ParseTime("1m30s"), absl::Seconds(90));
  EXPECT_EQ(ParseTime("0.1s"), absl::Milliseconds(100));
  EXPECT_EQ(ParseTime("0"), absl::ZeroDuration());
}

TEST(YamlScalarTest, TimesThatAreNone) {
  for (const char* text : {"", "10", "-1s", "inf", "10 seconds", "s"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
}

TEST(YamlScalarTest, NearestIsFoundAmongWhatIsKnown) {
  EXPECT_EQ(NearestOf("pth", {"path", "name"}), "path");
  EXPECT_EQ(NearestOf("shard", {"sink", "shards"}), "shards");
  EXPECT_EQ(NearestOf("exactly-once", {"exactly_once", "none"}),
            "exactly_once");
}

TEST(YamlScalarTest, NothingIsNearToWhatIsQuiteDifferent) {
  EXPECT_EQ(NearestOf("zzz", {"path", "name"}), std::nullopt);
  EXPECT_EQ(NearestOf(std::string(10'000, 'p'), {"path"}), std::nullopt);
}

TEST(YamlScalarTest, SuggestionIsTheNearestOrAll) {
  EXPECT_EQ(SuggestOf("pth", {"path"}), "; did you mean 'path'?");
  EXPECT_THAT(SuggestOf("zzz", {"path", "name"}),
              HasSubstr("known are: path, name"));
}

}  // namespace
}  // namespace penstock::client::internal
