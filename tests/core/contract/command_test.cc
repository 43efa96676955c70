#include "core/contract/command.h"

#include "core/contract/reader.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

std::optional<PipelineState> TransitionOf(const InputReaderCommand& command) {
  const std::optional<NonFtInputReaderCommand> nonft = AsNonFt(command);
  if (!nonft.has_value()) return std::nullopt;
  const auto* transition = std::get_if<NonFtTransition>(&*nonft);
  if (transition == nullptr) return std::nullopt;
  return transition->state;
}

// Seed: "as_nonft: this command translated, or None if that is not possible
// (because this command is only for fault-tolerant endpoints)".
TEST(AsNonFtTest, ReplayHasNoCounterpart) {
  EXPECT_FALSE(AsNonFt(ReplayCommand{}).has_value());
}

TEST(AsNonFtTest, SkipHasNoCounterpart) {
  EXPECT_FALSE(AsNonFt(SkipCommand{}).has_value());
}

TEST(AsNonFtTest, ExtendIsTheTransitionToRunning) {
  EXPECT_EQ(TransitionOf(ExtendCommand{}), PipelineState::kRunning);
}

TEST(AsNonFtTest, PauseIsTheTransitionToPaused) {
  EXPECT_EQ(TransitionOf(PauseCommand{}), PipelineState::kPaused);
}

TEST(AsNonFtTest, DisconnectIsTheTransitionToTerminated) {
  EXPECT_EQ(TransitionOf(DisconnectCommand{}), PipelineState::kTerminated);
}

TEST(AsNonFtTest, QueueIsQueue) {
  const std::optional<NonFtInputReaderCommand> nonft =
      AsNonFt(QueueCommand{.checkpoint_requested = true});
  ASSERT_TRUE(nonft.has_value());
  EXPECT_TRUE(std::holds_alternative<NonFtQueue>(*nonft));
}

class SilentReader final : public InputReader {
 public:
  void Request(InputReaderCommand /*command*/) override {}
  bool IsClosed() const override { return false; }
};

// Seed: "the default implementation returns 0".
TEST(InputReaderTest, UsesNoMemoryUnlessItSaysSo) {
  EXPECT_EQ(SilentReader().MemoryBytes(), 0u);
}

}  // namespace
}  // namespace penstock::core
