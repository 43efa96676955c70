#include "core/format/line_encoder.h"

#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace penstock::core {
namespace {

TEST(LineEncoderTest, AppendsTheValueAndALineEnd) {
  LineEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "ab"}, frame));
  ASSERT_OK(encoder.Encode(Record{.value = "c\r"}, frame));
  EXPECT_EQ(frame.view(), "ab\nc\r\n");
}

TEST(LineEncoderTest, WritesAnEmptyValueAsAnEmptyLine) {
  LineEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = ""}, frame));
  EXPECT_EQ(frame.view(), "\n");
}

TEST(LineEncoderTest, LeavesTheKeyOut) {
  LineEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "v", .key = "k"}, frame));
  EXPECT_EQ(frame.view(), "v\n");
}

TEST(LineEncoderTest, RefusesANullValueAndLeavesTheFrame) {
  LineEncoder encoder;
  FrameBuffer frame;
  frame.Append("x\n");
  EXPECT_THAT(encoder.Encode(Record{}, frame), HasReason(Reason::UNSUPPORTED));
  EXPECT_EQ(frame.view(), "x\n");
}

TEST(LineEncoderTest, RefusesAValueWithALineEndInIt) {
  LineEncoder encoder;
  FrameBuffer frame;
  EXPECT_THAT(encoder.Encode(Record{.value = "a\nb"}, frame),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasReason(Reason::MALFORMED_FRAME)));
  EXPECT_EQ(frame.size(), 0u);
}

TEST(LineEncoderTest, EstimatesExactly) {
  LineEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "abc"}, frame));
  ASSERT_OK(encoder.Encode(Record{.value = ""}, frame));
  EXPECT_EQ(encoder.EstimateBytes(2, 3), frame.size());
}

TEST(LineEncoderTest, HoldsNothing) {
  LineEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "abc"}, frame));
  EXPECT_EQ(encoder.AsColumnar(), nullptr);
  EXPECT_EQ(frame.view(), "abc\n");
}

TEST(LineEncoderTest, ItsCloneEncodesAlike) {
  const std::unique_ptr<RowEncoder> clone = LineEncoder().Clone();
  FrameBuffer frame;
  ASSERT_OK(clone->Encode(Record{.value = "z"}, frame));
  EXPECT_EQ(frame.view(), "z\n");
}

}  // namespace
}  // namespace penstock::core
