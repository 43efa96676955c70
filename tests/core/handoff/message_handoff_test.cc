// Frames of messages: from records through a handoff to the calls of a sink.
#include "core/contract/message_frame.h"
#include "core/handoff/sink_handoff.h"
#include "tests/core/handoff/handoff_fixtures.h"
#include "tests/core/handoff/shard_worker_fixture.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;

HandoffHarness::Options Messages(size_t target_bytes) {
  HandoffHarness::Options options;
  options.config.target_bytes = target_bytes;
  options.config.level = FtModel::kExactlyOnce;
  options.messages = true;
  return options;
}

// "key=value#n" of each message.
std::vector<std::string> Decode(absl::string_view frame) {
  std::vector<std::string> messages;
  MessageView message;
  while (!frame.empty()) {
    CHECK_OK(ConsumeMessage(frame, message));
    CHECK_EQ(message.headers.size(), 1u);
    messages.push_back(absl::StrCat(message.key.value_or("none"), "=",
                                    message.value.value_or("none"), "#",
                                    *message.headers[0].second));
  }
  return messages;
}

TEST(MessageHandoffTest, AFrameHoldsWholeMessagesInOrder) {
  HandoffHarness h(Messages(1'000));
  h.BeginStep(0);
  h->PushBatch(MakeBatch({{.value = "a", .key = "k"}, {.value = "b"}}));
  h->EndStep();
  const EncodedChunk chunk = h.TakeChunk();
  EXPECT_EQ(chunk.rows, 2u);
  EXPECT_THAT(Decode(chunk.frame.view()), ElementsAre("k=a#0", "none=b#1"));
}

TEST(MessageHandoffTest, ARefusedMessageLeavesNoHalfOneBehind) {
  HandoffHarness h(Messages(1'000));
  EXPECT_EQ(h.RunStep(0, {"a", "BAD", "b"}), Flow::kContinue);
  EXPECT_THAT(Decode(h.TakeChunk().frame.view()),
              ElementsAre("none=a#0", "none=b#1"));
  EXPECT_EQ(h->counters().records_skipped, 1u);
}

TEST(MessageHandoffTest, AChunkIsSealedBetweenMessages) {
  HandoffHarness h(Messages(1));
  h.RunStep(0, {"a", "b"});
  EXPECT_THAT(Decode(h.TakeChunk().frame.view()), ElementsAre("none=a#0"));
  EXPECT_THAT(Decode(h.TakeChunk().frame.view()), ElementsAre("none=b#1"));
}

TEST(MessageHandoffTest, TheSinkIsCalledOncePerMessage) {
  HandoffHarness h(Messages(40));
  h.BeginStep(0);
  h->PushBatch(MakeBatch({{.value = "a", .key = "k"},
                          {.value = "BAD"},
                          {.value = "b"},
                          {.value = "c", .key = ""}}));
  h->EndStep();
  FakeDatabase database;
  ManualExecutor executor;
  WorkerProcess process(database, executor,
                        {.target = {.frames = FrameKind::kMessages}});
  for (ShardItem& item : h.queues.at(0).ReceiveAll()) {
    ASSERT_EQ(process.queue.TrySend(std::move(item)), SendResult::kSent);
  }
  process.worker->SetReleased(1);
  executor.RunUntilIdle();
  EXPECT_THAT(database.Messages("p/c", 0),
              ElementsAre(FakeDatabase::Message{"k", "a", {{"n", "0"}}},
                          FakeDatabase::Message{{}, "b", {{"n", "1"}}},
                          FakeDatabase::Message{"", "c", {{"n", "2"}}}));
  EXPECT_EQ(h.acks->Of(0), AckStatus::kDelivered);
}

}  // namespace
}  // namespace penstock::core
