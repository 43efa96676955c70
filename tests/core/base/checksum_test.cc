#include "core/base/checksum.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::core {
namespace {

// Source: xxHash's own known values: XXH3_64bits of no bytes with seed 0.
TEST(ChecksumTest, EmptyInputHasThePublishedValue) {
  EXPECT_EQ(Checksum64(""), 0x2d06800538d394c2u);
}

TEST(ChecksumTest, OneFlippedBitChangesTheSum) {
  EXPECT_NE(Checksum64("manifest"), Checksum64("manifesu"));
}

TEST(ChecksumTest, CountsNulBytes) {
  EXPECT_NE(Checksum64(absl::string_view("\0\0", 2)),
            Checksum64(absl::string_view("\0\0\0", 3)));
}

TEST(Hex64Test, KeepsLeadingZeros) {
  EXPECT_EQ(Hex64(0xab), "00000000000000ab");
}

TEST(Hex64Test, ParsesWhatItPrinted) {
  EXPECT_EQ(ParseHex64(Hex64(std::numeric_limits<uint64_t>::max())),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseHex64("00000000DEADBEEF"), 0xdeadbeefu);
}

TEST(Hex64Test, RefusesEverythingElse) {
  EXPECT_EQ(ParseHex64(""), std::nullopt);
  EXPECT_EQ(ParseHex64("ab"), std::nullopt);
  EXPECT_EQ(ParseHex64("00000000000000ab0"), std::nullopt);
  EXPECT_EQ(ParseHex64("0x000000000000ab"), std::nullopt);
  EXPECT_EQ(ParseHex64("-00000000000000a"), std::nullopt);
  EXPECT_EQ(ParseHex64("000000000000000g"), std::nullopt);
}

TEST(HexBytesTest, PrintsTwoDigitsPerByte) {
  EXPECT_EQ(HexBytes(absl::string_view("\x00\xff\x1a", 3)), "00ff1a");
}

}  // namespace
}  // namespace penstock::core
