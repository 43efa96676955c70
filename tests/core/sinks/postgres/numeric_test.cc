#include "core/sinks/postgres/numeric.h"

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace penstock::core {
namespace {

// Of the field without its length: count, weight, sign, scale, digits.
std::string Bytes(absl::string_view literal) {
  FrameBuffer out;
  EXPECT_OK(AppendNumeric(literal, std::nullopt, out));
  return HexBytes(out.view().substr(4));
}

TEST(NumericTest, DigitsAreGroupedFromThePoint) {
  EXPECT_EQ(Bytes("12345.678"),
            "0003"
            "0001"
            "0000"
            "0003"
            "0001"
            "0929"
            "1a7c");
  EXPECT_EQ(Bytes("-0.0001"),
            "0001"
            "ffff"
            "4000"
            "0004"
            "0001");
  EXPECT_EQ(Bytes("0.00001"),
            "0001"
            "fffe"
            "0000"
            "0005"
            "03e8");
}

TEST(NumericTest, ScaleIsWhatTheTextSays) {
  EXPECT_EQ(Bytes("1.500"),
            "0002"
            "0000"
            "0000"
            "0003"
            "0001"
            "1388");
  EXPECT_EQ(Bytes("-0.00"),
            "0000"
            "0000"
            "0000"
            "0002");
  EXPECT_EQ(Bytes("1.50e1"),
            "0001"
            "0000"
            "0000"
            "0001"
            "000f");
  EXPECT_EQ(Bytes("1e5"),
            "0001"
            "0001"
            "0000"
            "0000"
            "000a");
  EXPECT_EQ(Bytes("+00012e-2"),
            "0001"
            "ffff"
            "0000"
            "0002"
            "04b0");
}

TEST(NumericTest, WhatIsNoNumber) {
  EXPECT_EQ(Bytes("NaN"),
            "0000"
            "0000"
            "c000"
            "0000");
  EXPECT_EQ(Bytes("Infinity"),
            "0000"
            "0000"
            "d000"
            "0000");
  EXPECT_EQ(Bytes("-Infinity"),
            "0000"
            "0000"
            "f000"
            "0000");
}

TEST(NumericTest, MoreDigitsThanTheColumnKeepsAreRefused) {
  FrameBuffer out;
  EXPECT_THAT(AppendNumeric("1.005", 2, out), HasReason(Reason::ROW_REFUSED));
  EXPECT_THAT(AppendNumeric("15", -1, out), HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(out.size(), 0u);
  EXPECT_OK(AppendNumeric("1.0000", 2, out));
  EXPECT_OK(AppendNumeric("150", -1, out));
}

class NoNumericTest : public testing::TestWithParam<std::string> {};

TEST_P(NoNumericTest, IsRefused) {
  FrameBuffer out;
  EXPECT_THAT(AppendNumeric(GetParam(), std::nullopt, out),
              HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(out.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NoNumericTest,
                         testing::Values("", "-", ".", "1e", "1e+-1", "1x",
                                         "0x10", "1e131073", "1e-16384",
                                         "1e99999999999"));

}  // namespace
}  // namespace penstock::core
