#include "core/contract/command_receiver.h"

#include "core/base/thread.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;

// A letter for each command.
std::string Letter(const InputReaderCommand& command) {
  if (const auto* replay = std::get_if<ReplayCommand>(&command)) {
    return "R" + replay->metadata;
  }
  if (const auto* skip = std::get_if<SkipCommand>(&command)) {
    return "S" + skip->metadata;
  }
  if (std::holds_alternative<ExtendCommand>(command)) return "E";
  if (std::holds_alternative<PauseCommand>(command)) return "P";
  if (std::holds_alternative<QueueCommand>(command)) return "Q";
  return "D";
}

TEST(InputCommandReceiverTest, ReceivesInTheOrderSent) {
  InputCommandReceiver receiver;
  ASSERT_TRUE(receiver.Send(ExtendCommand{}));
  ASSERT_TRUE(receiver.Send(QueueCommand{.step = 4}));
  ASSERT_OK_AND_ASSIGN(const InputReaderCommand first, receiver.Receive());
  ASSERT_OK_AND_ASSIGN(const InputReaderCommand second, receiver.Receive());
  EXPECT_EQ(Letter(first), "E");
  EXPECT_EQ(std::get<QueueCommand>(second).step, 4u);
}

TEST(InputCommandReceiverTest, TryReceiveDoesNotWait) {
  InputCommandReceiver receiver;
  ASSERT_OK_AND_ASSIGN(const auto command, receiver.TryReceive());
  EXPECT_FALSE(command.has_value());
}

// Seed: "a fault-tolerant connector wants to receive, in order: zero or more
// Replays; zero or more other commands".
TEST(InputCommandReceiverTest, ReplaysComeFirstAndTheFirstOtherIsPutBack) {
  InputCommandReceiver receiver;
  ASSERT_TRUE(receiver.Send(ReplayCommand{.metadata = "1"}));
  ASSERT_TRUE(receiver.Send(SkipCommand{.metadata = "2"}));
  ASSERT_TRUE(receiver.Send(ReplayCommand{.metadata = "3"}));
  ASSERT_TRUE(receiver.Send(ExtendCommand{}));
  ASSERT_TRUE(receiver.Send(QueueCommand{}));
  std::vector<std::string> seen;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto replay, receiver.ReceiveReplay());
    if (!replay.has_value()) break;
    seen.push_back(Letter(*replay));
  }
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto command, receiver.TryReceive());
    if (!command.has_value()) break;
    seen.push_back(Letter(*command));
  }
  EXPECT_THAT(seen, ElementsAre("R1", "S2", "R3", "E", "Q"));
}

TEST(InputCommandReceiverTest, AskingForAReplayTwiceKeepsTheOtherCommand) {
  InputCommandReceiver receiver;
  ASSERT_TRUE(receiver.Send(ExtendCommand{}));
  ASSERT_OK_AND_ASSIGN(const auto first, receiver.ReceiveReplay());
  ASSERT_OK_AND_ASSIGN(const auto second, receiver.ReceiveReplay());
  EXPECT_FALSE(first.has_value() || second.has_value());
  ASSERT_OK_AND_ASSIGN(const InputReaderCommand command, receiver.Receive());
  EXPECT_EQ(Letter(command), "E");
}

TEST(InputCommandReceiverTest, WhatIsPutBackComesNext) {
  InputCommandReceiver receiver;
  ASSERT_TRUE(receiver.Send(QueueCommand{}));
  receiver.PutBack(PauseCommand{});
  ASSERT_OK_AND_ASSIGN(const InputReaderCommand first, receiver.Receive());
  ASSERT_OK_AND_ASSIGN(const auto second, receiver.TryReceive());
  EXPECT_EQ(Letter(first), "P");
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(Letter(*second), "Q");
}

// Seed: "sender disconnected".
TEST(InputCommandReceiverTest, AClosedChannelGivesWhatWasSentThenSaysSo) {
  InputCommandReceiver receiver;
  ASSERT_TRUE(receiver.Send(PauseCommand{}));
  receiver.Close();
  EXPECT_FALSE(receiver.Send(ExtendCommand{}));
  EXPECT_OK(receiver.Receive());
  EXPECT_THAT(receiver.Receive(), HasReason("CANCELLED"));
  EXPECT_THAT(receiver.TryReceive(), HasReason("CANCELLED"));
  EXPECT_THAT(receiver.ReceiveReplay(), HasReason("CANCELLED"));
}

TEST(InputCommandReceiverTest, WhatIsPutBackSurvivesClose) {
  InputCommandReceiver receiver;
  receiver.PutBack(PauseCommand{});
  receiver.Close();
  ASSERT_OK_AND_ASSIGN(const InputReaderCommand command, receiver.Receive());
  EXPECT_EQ(Letter(command), "P");
}

TEST(InputCommandReceiverTest, RefusesMoreThanItsBound) {
  InputCommandReceiver receiver;
  for (size_t i = 0; i < InputCommandReceiver::kCommandsMax; ++i) {
    ASSERT_TRUE(receiver.Send(PauseCommand{}));
  }
  EXPECT_FALSE(receiver.Send(PauseCommand{}));
  EXPECT_OK(receiver.Receive());
  EXPECT_TRUE(receiver.Send(PauseCommand{}));
}

TEST(InputCommandReceiverThreadTest, ASendWakesTheReceiver) {
  InputCommandReceiver receiver;
  std::vector<Step> steps;
  {
    Thread reader("reader", [&](std::stop_token) {
      while (true) {
        const absl::StatusOr<InputReaderCommand> command = receiver.Receive();
        if (!command.ok()) return;
        steps.push_back(std::get<QueueCommand>(*command).step);
      }
    });
    for (Step step = 0; step < 1000;) {
      if (receiver.Send(QueueCommand{.step = step})) ++step;
    }
    receiver.Close();
    reader.Join();
  }
  ASSERT_EQ(steps.size(), 1000u);
  for (Step step = 0; step < 1000; ++step) EXPECT_EQ(steps[step], step);
}

TEST(InputCommandReceiverThreadTest, CloseWakesTheReceiver) {
  InputCommandReceiver receiver;
  absl::Status end;
  {
    Thread reader("reader", [&](std::stop_token) {
      end = receiver.ReceiveReplay().status();
    });
    receiver.Close();
    reader.Join();
  }
  EXPECT_THAT(end, HasReason("CANCELLED"));
}

using InputCommandReceiverDeathTest = testing::Test;

// Seed: put_back asserts that nothing is put back already.
TEST(InputCommandReceiverDeathTest, OneCommandAtMostIsPutBack) {
  InputCommandReceiver receiver;
  receiver.PutBack(PauseCommand{});
  EXPECT_DEATH(receiver.PutBack(ExtendCommand{}), "put back already");
}

}  // namespace
}  // namespace penstock::core
