#include "core/contract/message_frame.h"

#include "core/base/random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(MessageFrameTest, MessagesComeBackInOrder) {
  const MessageHeader headers[] = {{"a", "1"}, {"b", std::nullopt}, {"", ""}};
  FrameBuffer frame;
  AppendMessage("key", "value", headers, frame);
  AppendMessage("", "", {}, frame);
  absl::string_view rest = frame.view();
  MessageView message;
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "key");
  EXPECT_EQ(message.value, "value");
  EXPECT_THAT(
      message.headers,
      ElementsAre(Pair("a", "1"), Pair("b", std::nullopt), Pair("", "")));
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_EQ(message.key, "");
  EXPECT_THAT(message.headers, IsEmpty());
  EXPECT_THAT(rest, IsEmpty());
}

TEST(MessageFrameTest, NoneIsNotEmpty) {
  FrameBuffer frame;
  AppendMessage(std::nullopt, std::nullopt, {}, frame);
  absl::string_view rest = frame.view();
  MessageView message{.key = "old", .value = "old", .headers = {}};
  ASSERT_OK(ConsumeMessage(rest, message));
  EXPECT_FALSE(message.key.has_value());
  EXPECT_FALSE(message.value.has_value());
}

// Frozen: sinks and encoders of other versions read and write these bytes.
TEST(MessageFrameTest, BytesNeverChange) {
  const MessageHeader headers[] = {{"h", std::nullopt}};
  FrameBuffer frame;
  AppendMessage("k", std::nullopt, headers, frame);
  EXPECT_EQ(frame.view(), absl::string_view("\1\0\0\0k\xff\xff\xff\xff\1\0\0\0"
                                            "\1\0\0\0h\xff\xff\xff\xff",
                                            22));
}

TEST(MessageFrameTest, AFrameCutAnywhereInsideIsRefused) {
  const MessageHeader headers[] = {{"name", "value"}, {"n", std::nullopt}};
  FrameBuffer frame;
  AppendMessage("key", "value", headers, frame);
  for (size_t size = 1; size < frame.size(); ++size) {
    absl::string_view rest = frame.view().substr(0, size);
    MessageView message;
    EXPECT_THAT(ConsumeMessage(rest, message),
                HasReason(Reason::MALFORMED_FRAME))
        << size;
  }
}

TEST(MessageFrameTest, AHeaderWithoutANameIsRefused) {
  const std::string frame(
      "\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\xff\xff\xff\xff\0\0\0\0", 20);
  absl::string_view rest = frame;
  MessageView message;
  EXPECT_THAT(ConsumeMessage(rest, message),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST(MessageFrameTest, RandomBytesNeverReadOutside) {
  Random random = TestRandom();
  MessageView message;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(1 + random.Uniform(60), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random.Bernoulli(0.6) ? random.Uniform(4)
                                                     : random.Uniform(256));
    }
    absl::string_view rest = bytes;
    while (!rest.empty() && ConsumeMessage(rest, message).ok()) {
    }
  }
}

}  // namespace
}  // namespace penstock::core
