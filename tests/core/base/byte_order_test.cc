#include "core/base/byte_order.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

TEST(ByteOrderTest, StoresTheLowByteFirst) {
  char bytes[4];
  StoreLe32(0x04030201, bytes);
  EXPECT_EQ(absl::string_view(bytes, 4), absl::string_view("\1\2\3\4", 4));
}

TEST(ByteOrderTest, LoadsWhatItStoredAtAnyAlignment) {
  char bytes[12];
  StoreLe64(0xfedcba9876543210, bytes + 3);
  EXPECT_EQ(LoadLe64(bytes + 3), 0xfedcba9876543210);
}

TEST(ByteOrderTest, AppendsAndConsumesEveryWidth) {
  std::string bytes;
  AppendLe(uint8_t{0xff}, bytes);
  AppendLe(uint16_t{0x8001}, bytes);
  AppendLe32(0x80000001, bytes);
  AppendLe64(0x8000000000000001, bytes);
  absl::string_view rest = bytes;
  uint8_t a = 0;
  uint16_t b = 0;
  uint32_t c = 0;
  uint64_t d = 0;
  ASSERT_TRUE(ConsumeLe(rest, a) && ConsumeLe(rest, b) && ConsumeLe(rest, c) &&
              ConsumeLe(rest, d));
  EXPECT_EQ(a, 0xff);
  EXPECT_EQ(b, 0x8001);
  EXPECT_EQ(c, 0x80000001);
  EXPECT_EQ(d, 0x8000000000000001);
  EXPECT_TRUE(rest.empty());
}

TEST(ByteOrderTest, ConsumesNothingFromTooFewBytes) {
  absl::string_view bytes("\1\2\3", 3);
  uint32_t value = 7;
  EXPECT_FALSE(ConsumeLe(bytes, value));
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(bytes.size(), 3u);
}

}  // namespace
}  // namespace penstock::core
