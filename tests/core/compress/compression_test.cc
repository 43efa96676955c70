#include "core/compress/compression.h"

#include "tests/support/compress.h"

#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::core {
namespace {

TEST(CompressionTest, IsToldByTheFirstBytes) {
  EXPECT_EQ(DetectCompression(Gzip("text")), Compression::kGzip);
  EXPECT_EQ(DetectCompression(Zstd("text")), Compression::kZstd);
  EXPECT_EQ(DetectCompression("text"), Compression::kNone);
}

TEST(CompressionTest, ASkippableFrameIsZstd) {
  EXPECT_EQ(DetectCompression("\x53\x2a\x4d\x18"), Compression::kZstd);
}

TEST(CompressionTest, TooFewBytesLeaveItOpen) {
  EXPECT_EQ(DetectCompression(""), std::nullopt);
  EXPECT_EQ(DetectCompression("\x1f\x8b"), std::nullopt);
  EXPECT_EQ(DetectCompression("\x28\xb5"), std::nullopt);
  EXPECT_EQ(DetectCompression("P"), std::nullopt);
}

TEST(CompressionTest, AFewBytesMayBeEnough) {
  EXPECT_EQ(DetectCompression("ab"), Compression::kNone);
  EXPECT_EQ(DetectCompression("\x1fZ"), Compression::kNone);
  EXPECT_EQ(DetectCompression(Gzip("").substr(0, 3)), Compression::kGzip);
}

}  // namespace
}  // namespace penstock::core
