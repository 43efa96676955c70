#include "client/controller/connector_journal.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::client {
namespace {

core::StepResult Row(core::Step step, bool complete = true) {
  core::StepResult result;
  result.step = step;
  result.resume = core::Resume(core::Resume::Replay{
      .seek = absl::StrCat(step), .replay = "\xc0", .hash = step});
  result.position_complete = complete;
  return result;
}

core::StepResult Barrier(core::Step step) {
  core::StepResult result;
  result.step = step;
  return result;
}

std::shared_ptr<const core::StepResult> Shared(core::StepResult row) {
  return std::make_shared<const core::StepResult>(std::move(row));
}

TEST(ConnectorJournalTest, StartsAtTheBaseWithNothingToCheckpoint) {
  const ConnectorJournal journal(7, "p", {});
  EXPECT_EQ(journal.journaled_steps(), 7u);
  EXPECT_FALSE(journal.cut().has_value());
  EXPECT_TRUE(journal.IsCutAtEnd());
  EXPECT_EQ(journal.At(7), nullptr);
}

TEST(ConnectorJournalTest, TheCutIsTheNewestCompleteStepThatIsNoBarrier) {
  ConnectorJournal journal(0, "p", {Row(0), Row(3), Row(4, false)});
  journal.Append(Shared(Barrier(9)));
  ASSERT_TRUE(journal.cut().has_value());
  EXPECT_EQ(journal.cut()->steps, 4u);
  EXPECT_EQ(journal.cut()->position, "3");
  EXPECT_EQ(journal.journaled_steps(), 10u);
  EXPECT_FALSE(journal.IsCutAtEnd());
  journal.Append(Shared(Row(12)));
  EXPECT_EQ(journal.cut()->steps, 13u);
  EXPECT_TRUE(journal.IsCutAtEnd());
}

// Only the checkpoint needs it; the journal would hold it as often.
TEST(ConnectorJournalTest, AFullPositionIsACutAndInNoRow) {
  ConnectorJournal journal(0, "p", {Row(0), Row(3, false)});
  const uint64_t bytes = journal.bytes();
  core::StepResult whole = Row(4, false);
  whole.full_position = std::string(100'000, '9');
  journal.Append(Shared(whole));
  EXPECT_TRUE(journal.IsCutAtEnd());
  EXPECT_EQ(journal.cut()->steps, 5u);
  EXPECT_EQ(journal.cut()->position, whole.full_position);
  EXPECT_EQ(journal.At(4)->full_position, std::nullopt);
  EXPECT_EQ(journal.bytes(), bytes / 2 * 3);
}

TEST(ConnectorJournalTest, FindsTheNextStepOverGaps) {
  const ConnectorJournal journal(0, "p", {Row(0), Row(3), Row(8)});
  EXPECT_EQ(journal.At(0)->step, 0u);
  EXPECT_EQ(journal.At(1)->step, 3u);
  EXPECT_EQ(journal.At(4)->step, 8u);
  EXPECT_EQ(journal.At(9), nullptr);
}

TEST(ConnectorJournalTest, TrimDropsWhatTheCheckpointHolds) {
  ConnectorJournal journal(0, "p", {Row(0), Row(3), Row(8)});
  const uint64_t bytes = journal.bytes();
  journal.Trim({.steps = 4, .position = "3"});
  EXPECT_EQ(journal.base_steps(), 4u);
  EXPECT_EQ(journal.position(), "3");
  EXPECT_EQ(journal.rows(), 1u);
  EXPECT_EQ(journal.bytes(), bytes / 3);
  EXPECT_EQ(journal.cut()->steps, 9u);
  journal.Trim({.steps = 9, .position = "8"});
  EXPECT_FALSE(journal.cut().has_value());
  EXPECT_EQ(journal.bytes(), 0u);
  EXPECT_EQ(journal.journaled_steps(), 9u);
}

TEST(ConnectorJournalTest, NotesMoveTheCutAndAreForgotten) {
  ConnectorJournal journal(2, "p", {});
  journal.Note(Row(2));
  journal.Note(Row(5));
  EXPECT_EQ(journal.rows(), 0u);
  EXPECT_EQ(journal.cut()->steps, 6u);
  EXPECT_EQ(journal.journaled_steps(), 6u);
  journal.ForgetNotes();
  EXPECT_FALSE(journal.cut().has_value());
  EXPECT_EQ(journal.journaled_steps(), 2u);
}

}  // namespace
}  // namespace penstock::client
