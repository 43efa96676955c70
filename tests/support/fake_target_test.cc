#include "tests/support/fake_target.h"

#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTable[] = "p/c";
using Operation = FakeDatabase::Operation;

OutputOpen OpenAs(uint64_t open_number, uint32_t shards = 1) {
  OutputOpen open;
  open.incarnation = "inc";
  open.pipeline = "p";
  open.connector = "c";
  open.writer = {.epoch = 1, .open_number = open_number};
  open.base_steps = 5;
  open.first_open = open_number == 1;
  open.shards = shards;
  open.level = FtModel::kExactlyOnce;
  return open;
}

class FakeTargetTest : public ::testing::Test {
 protected:
  // A target that is open, and its endpoint of shard 0.
  struct Process {
    std::unique_ptr<FakeTarget> target;
    std::unique_ptr<OutputEndpoint> endpoint;
  };
  Process Open(uint64_t open_number, FakeTarget::Options options = {}) {
    Process process;
    process.target = std::make_unique<FakeTarget>(database_, options);
    OutputOpen open = OpenAs(open_number);
    open.level = options.level;
    EXPECT_OK(process.target->Open(open));
    process.endpoint = *process.target->MakeEndpoint(0);
    return process;
  }

  static absl::Status Write(OutputEndpoint& endpoint, StepRange steps,
                            absl::string_view frame) {
    absl::Status status = endpoint.BatchStart({.steps = steps});
    if (status.ok()) status = endpoint.PushBuffer(frame);
    if (status.ok()) status = endpoint.BatchEnd();
    return status;
  }
  static absl::Status Commit(Process& process, StepRange steps) {
    absl::Status answer = absl::UnknownError("not answered");
    process.target->Committer().Commit(
        0, steps, [&](absl::Status status) { answer = std::move(status); });
    return answer;
  }

  FakeDatabase database_;
};

TEST_F(FakeTargetTest, TheFirstOpenCreatesProgressAtItsBase) {
  FakeTarget target(database_);
  EXPECT_THAT(target.Open(OpenAs(1, 2)), IsOkAndHolds(ElementsAre(5, 5)));
  EXPECT_EQ(database_.Progress(kTable, 1), 5u);
  EXPECT_EQ(database_.shards(kTable), 2u);
}

TEST_F(FakeTargetTest, ABatchIsVisibleWithItsProgressWhenItEnded) {
  Process process = Open(1);
  ASSERT_OK(process.endpoint->BatchStart({.steps = {5, 7}}));
  ASSERT_OK(process.endpoint->PushBuffer("a\n"));
  EXPECT_THAT(database_.Lines(kTable, 0), IsEmpty());
  ASSERT_OK(process.endpoint->PushBuffer("b\nc\n"));
  ASSERT_OK(process.endpoint->BatchEnd());
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a", "b", "c"));
  EXPECT_EQ(database_.Progress(kTable, 0), 7u);
}

TEST_F(FakeTargetTest, ADeadProcessLeavesOnlyWhatItCommitted) {
  {
    Process process = Open(1);
    ASSERT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
    ASSERT_OK(process.endpoint->BatchStart({.steps = {6, 7}}));
    ASSERT_OK(process.endpoint->PushBuffer("b\n"));
  }
  FakeTarget next(database_);
  EXPECT_THAT(next.Open(OpenAs(2)), IsOkAndHolds(ElementsAre(6)));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
}

TEST_F(FakeTargetTest, OnlyAHigherWriterOpens) {
  Open(1);
  Process process = Open(3);
  for (const uint64_t open_number : {2u, 3u}) {
    FakeTarget late(database_);
    EXPECT_THAT(late.Open(OpenAs(open_number)),
                HasReason(Reason::WRITER_FENCED));
  }
  ASSERT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
}

TEST_F(FakeTargetTest, AnOlderWriterIsFenced) {
  Process old = Open(1);
  ASSERT_OK(old.endpoint->BatchStart({.steps = {5, 6}}));
  Process next = Open(2);
  EXPECT_THAT(old.endpoint->BatchEnd(), HasReason(Reason::WRITER_FENCED));
  ASSERT_OK(Write(*next.endpoint, {5, 6}, "b\n"));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("b"));
}

TEST_F(FakeTargetTest, ProgressIsComparedBeforeItIsSet) {
  Process process = Open(1);
  EXPECT_THAT(Write(*process.endpoint, {6, 7}, "a\n"),
              HasReason(Reason::PROGRESS_BEHIND));
  ASSERT_OK(Write(*process.endpoint, {5, 9}, "b\n"));
  EXPECT_THAT(Write(*process.endpoint, {5, 7}, "c\n"),
              HasReason(Reason::PROGRESS_AHEAD));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("b"));
}

TEST_F(FakeTargetTest, ABatchWhoseAnswerWasLostIsNotWrittenTwice) {
  Process process = Open(1);
  database_.LoseNextAnswer(Operation::kBatchEnd);
  EXPECT_THAT(Write(*process.endpoint, {5, 6}, "a\n"),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
  EXPECT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
}

TEST_F(FakeTargetTest, ProgressOfAnotherIncarnationIsRefused) {
  Open(1);
  OutputOpen open = OpenAs(2);
  open.incarnation = "another";
  FakeTarget foreign(database_);
  EXPECT_THAT(foreign.Open(open), HasReason(Reason::FOREIGN_PROGRESS));
}

TEST_F(FakeTargetTest, AbsentProgressIsLostAfterTheFirstOpen) {
  Open(1);
  database_.ForgetProgress(kTable);
  FakeTarget target(database_);
  EXPECT_THAT(target.Open(OpenAs(2)), HasReason(Reason::PROGRESS_LOST));
}

TEST_F(FakeTargetTest, TheNumberOfShardsChangesAtACleanCheckpointOnly) {
  Process process = Open(1);
  FakeTarget clean(database_);
  EXPECT_THAT(clean.Open(OpenAs(2, 3)), IsOkAndHolds(ElementsAre(5, 5, 5)));
  ASSERT_OK(clean.MakeEndpoint(0));
  auto endpoint = *clean.MakeEndpoint(2);
  ASSERT_OK(Write(*endpoint, {5, 6}, "a\n"));
  FakeTarget unclean(database_);
  EXPECT_THAT(unclean.Open(OpenAs(3, 1)), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(FakeTargetTest, BelowExactlyOnceThereIsNoProgress) {
  Process process = Open(1, {.level = FtModel::kAtLeastOnce});
  ASSERT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
  ASSERT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a", "a"));
  EXPECT_FALSE(database_.Progress(kTable, 0).has_value());
}

TEST_F(FakeTargetTest, WithASeparateCommitterBatchEndOnlyStages) {
  Process process = Open(1, {.separate_committer = true});
  const std::string frame = "a\n";
  ASSERT_OK(Write(*process.endpoint, {5, 6}, frame));
  EXPECT_THAT(database_.Lines(kTable, 0), IsEmpty());
  EXPECT_OK(Commit(process, {5, 6}));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
  EXPECT_THAT(Commit(process, {5, 6}), HasReason(Reason::INTERNAL));
}

TEST_F(FakeTargetTest, ACommitMayRunOnAnExecutor) {
  ManualExecutor executor;
  Process process =
      Open(1, {.separate_committer = true, .commit_executor = &executor});
  const std::string frame = "a\n";
  ASSERT_OK(Write(*process.endpoint, {5, 6}, frame));
  std::optional<absl::Status> answer;
  process.target->Committer().Commit(
      0, {5, 6}, [&](absl::Status status) { answer = std::move(status); });
  EXPECT_FALSE(answer.has_value());
  EXPECT_THAT(database_.Lines(kTable, 0), IsEmpty());
  executor.RunUntilIdle();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
}

TEST_F(FakeTargetTest, HeldAnswersComeWhenTheyAreAskedFor) {
  Process process = Open(1, {.separate_committer = true});
  process.target->HoldAnswers();
  const std::string frame = "a\n";
  ASSERT_OK(Write(*process.endpoint, {5, 6}, frame));
  std::optional<absl::Status> answer;
  process.target->Committer().Commit(
      0, {5, 6}, [&](absl::Status status) { answer = std::move(status); });
  EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(process.target->held_answers(), 1u);
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
  process.target->AnswerAll();
  EXPECT_EQ(answer, absl::OkStatus());
}

TEST_F(FakeTargetTest, FailuresAreMetInTurn) {
  Process process = Open(1);
  database_.FailNext(Operation::kPush, MakeError(Reason::UNAVAILABLE, ""), 2);
  EXPECT_THAT(Write(*process.endpoint, {5, 6}, "a\n"),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(Write(*process.endpoint, {5, 6}, "a\n"),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
  EXPECT_THAT(database_.Lines(kTable, 0), ElementsAre("a"));
}

TEST_F(FakeTargetTest, HooksSeeEachCallAndEachCommit) {
  Process process = Open(1);
  std::vector<Operation> calls;
  database_.SetHook([&](const FakeDatabase::Call& call) {
    EXPECT_EQ(call.table, kTable);
    calls.push_back(call.operation);
    return std::nullopt;
  });
  int commits = 0;
  database_.SetOnCommit([&](const std::string& table, ShardIndex shard,
                            const FakeDatabase::Transaction& transaction) {
    EXPECT_EQ(table, kTable);
    EXPECT_EQ(shard, 0u);
    EXPECT_EQ(transaction.steps, (StepRange{5, 6}));
    ++commits;
  });
  ASSERT_OK(Write(*process.endpoint, {5, 6}, "a\n"));
  EXPECT_THAT(calls, ElementsAre(Operation::kBatchStart, Operation::kPush,
                                 Operation::kBatchEnd));
  EXPECT_EQ(commits, 1);
}

TEST_F(FakeTargetTest, CallsInAWrongOrderAreFoundOut) {
  Process process = Open(1);
  EXPECT_THAT(process.endpoint->PushBuffer("a\n"), HasReason(Reason::INTERNAL));
  EXPECT_THAT(process.endpoint->BatchEnd(), HasReason(Reason::INTERNAL));
}

TEST_F(FakeTargetTest, ABufferThatIsTooLargeIsRefused) {
  Process process = Open(1, {.buffer_bytes_max = 3});
  EXPECT_THAT(Write(*process.endpoint, {5, 6}, "long\n"),
              HasReason(Reason::RECORD_TOO_LARGE));
  EXPECT_THAT(database_.Transactions(kTable, 0), SizeIs(0));
}

TEST_F(FakeTargetTest, MessagesAreKeptAsTheyCame) {
  Process process = Open(1, {.frames = FrameKind::kMessages});
  const MessageHeader headers[] = {{"h", std::nullopt}};
  ASSERT_OK(process.endpoint->BatchStart({.steps = {5, 6}}));
  ASSERT_OK(process.endpoint->PushKey("k", std::nullopt, headers));
  ASSERT_OK(process.endpoint->BatchEnd());
  EXPECT_THAT(database_.Messages(kTable, 0),
              ElementsAre(FakeDatabase::Message{
                  "k", std::nullopt, {{"h", std::nullopt}}}));
}

}  // namespace
}  // namespace penstock::core
