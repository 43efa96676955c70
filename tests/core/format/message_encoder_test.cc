#include "core/format/message_encoder.h"

#include "core/contract/message_frame.h"
#include "core/format/line_encoder.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock::core {
namespace {

TEST(MessageEncoderTest, WritesKeyAndValueAsTheyStand) {
  MessageEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "a\nb", .key = ""}, frame));
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "");
  EXPECT_EQ(message.value, "a\nb") << "a line end is a byte like any other";
  EXPECT_TRUE(message.headers.empty());
  EXPECT_TRUE(rest.empty());
}

TEST(MessageEncoderTest, ATombstoneHasNoValue) {
  MessageEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.key = "k"}, frame));
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "k");
  EXPECT_FALSE(message.value.has_value());
}

TEST(MessageEncoderTest, EstimatesExactly) {
  MessageEncoder encoder;
  FrameBuffer frame;
  ASSERT_OK(encoder.Encode(Record{.value = "abc", .key = "k"}, frame));
  ASSERT_OK(encoder.Encode(Record{.value = "de"}, frame));
  EXPECT_EQ(encoder.EstimateBytes(2, 6), frame.size());
}

TEST(MessageEncoderTest, TheFramesThatTheSinkWantsChooseTheEncoder) {
  const Record record{.value = "v"};
  FrameBuffer lines;
  FrameBuffer messages;
  ASSERT_OK(MakeTextEncoder(FrameKind::kConcatenated)->Encode(record, lines));
  ASSERT_OK(
      MakeTextEncoder(FrameKind::kMessages)->Clone()->Encode(record, messages));
  EXPECT_EQ(lines.view(), "v\n");
  EXPECT_EQ(messages.size(), 13u);
}

}  // namespace
}  // namespace penstock::core
