// Replay of an input that somebody changed (rule 6, INV-3), over gRPC.
#include "core/base/filesystem.h"
#include "core/sinks/file/file_sink_reader.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

using core::ConnectorState;
using core::HasReason;
using core::Reason;

class TamperedReplayTest : public ::testing::Test {
 protected:
  TamperedReplayTest()
      : text_(Lines("a line that is long enough to matter ", 4000)),
        source_(worker_.Write("in", text_)),
        out_(worker_.directory().Path("out")),
        caller_(worker_.control(), "shop", 1) {}

  // Makes steps 0 and 1 that nobody releases; then the worker dies.
  void SetUp() override {
    ASSERT_OK(caller_.Open(LinesSpec("orders", source_, out_)));
    ASSERT_OK(caller_.Extend());
    for (core::Step step = 0; step < 2; ++step) {
      core::QueueRequest request;
      request.step = step;
      request.previous_steps = step;
      request.max_records = 1500;
      request.wait = absl::Seconds(10);
      ASSERT_OK_AND_ASSIGN(const core::QueueReply reply,
                           caller_.StartQueue(request).Get());
      ASSERT_NE(reply.result, nullptr);
      journal_.push_back(*reply.result);
    }
    worker_.Restart();
  }

  Caller Reopen() {
    Caller next(worker_.control(), "shop", 2);
    next.open.first_open = false;
    next.open.journaled_steps = 2;
    EXPECT_OK(next.Open(LinesSpec("orders", source_, out_)));
    return next;
  }

  uint64_t VisibleLines() {
    auto reader = core::FileSinkReader::Open(core::PosixFileSystem(), out_);
    if (!reader.ok()) return 0;
    uint64_t count = 0;
    for (uint32_t shard = 0; shard < reader->shards(); ++shard) {
      core::FileSinkLines lines = reader->Lines(shard);
      absl::string_view line;
      for (auto more = lines.Next(line); more.ok() && *more;
           more = lines.Next(line)) {
        ++count;
      }
    }
    return count;
  }

  RealWorker worker_;
  const std::string text_;
  const std::string source_;
  const std::string out_;
  Caller caller_;
  std::vector<core::StepResult> journal_;
};

TEST_F(TamperedReplayTest, UntouchedInputReplaysAndBecomesVisible) {
  Caller next = Reopen();
  EXPECT_EQ(VisibleLines(), 0u);
  ASSERT_OK_AND_ASSIGN(const core::ReplayReply reply,
                       next.Replay(journal_[0], 0));
  EXPECT_EQ(reply.amount, journal_[0].amount);
  EXPECT_FALSE(reply.already_held);
  // The worker releases a replayed step itself.
  ASSERT_OK_AND_ASSIGN(const core::PrepareCheckpointReply ready,
                       next.Prepare(1));
  EXPECT_TRUE(ready.ready);
  EXPECT_EQ(VisibleLines(), journal_[0].amount.records);
}

TEST_F(TamperedReplayTest, StepThatEveryShardHoldsIsSkipped) {
  Caller next = Reopen();
  ASSERT_OK(next.Replay(journal_[0], 0));
  ASSERT_OK(next.Prepare(1));
  ASSERT_OK(next.Delete());
  ASSERT_OK(next.Open(LinesSpec("orders", source_, out_)));
  ASSERT_OK_AND_ASSIGN(const core::ReplayReply held,
                       next.Replay(journal_[0], 0));
  EXPECT_TRUE(held.already_held);
  ASSERT_OK_AND_ASSIGN(const core::ReplayReply made,
                       next.Replay(journal_[1], 1));
  EXPECT_FALSE(made.already_held);
  ASSERT_OK(next.Prepare(2));
  EXPECT_EQ(VisibleLines(),
            journal_[0].amount.records + journal_[1].amount.records);
}

// Where in the file: behind what the fingerprint covers, so that only the hash
// can tell.
TEST_F(TamperedReplayTest, ChangedByteIsDataLossWithBothHashes) {
  std::string changed = text_;
  changed[60'000] ^= 1;
  worker_.Write("in", changed);
  Caller next = Reopen();
  const auto replayed = next.Replay(journal_[0], 0);
  ASSERT_THAT(replayed, HasReason(Reason::REPLAY_MISMATCH));
  EXPECT_EQ(replayed.status().code(), absl::StatusCode::kDataLoss);
  const core::ErrorMetadata found =
      core::GetErrorInfo(replayed.status())->metadata;
  const std::string expected =
      absl::StrCat(absl::Hex(journal_[0].hash->value, absl::kZeroPad16));
  EXPECT_EQ(found.at("expected_hash"), expected);
  EXPECT_NE(found.at("actual_hash"), expected);
  EXPECT_EQ(found.at("actual_hash").size(), expected.size());
  EXPECT_EQ(found.at("actual_count"), found.at("expected_count"));
  EXPECT_EQ(next.State(), ConnectorState::kFailed);
  // Nothing of it becomes visible, released or not, and it stays so.
  (void)next.Release(1);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, next.Get());
  EXPECT_EQ(status.completed_steps, 0u);
  // Asked again, it says the same.
  EXPECT_THAT(next.Replay(journal_[0], 0), HasReason(Reason::REPLAY_MISMATCH));
  ASSERT_OK(next.Disconnect());
  EXPECT_EQ(VisibleLines(), 0u);
}

TEST_F(TamperedReplayTest, WorkerOutlivesIt) {
  std::string changed = text_;
  changed[60'000] ^= 1;
  worker_.Write("in", changed);
  Caller next = Reopen();
  ASSERT_THAT(next.Replay(journal_[0], 0), HasReason(Reason::REPLAY_MISMATCH));
  // Another connector of the same worker goes on.
  Caller other(worker_.control(), "bakery", 1);
  const std::string path = worker_.Write("bread", Lines("bread ", 10));
  ASSERT_OK(other.Open(LinesSpec("bread", path, "", 1)));
  ASSERT_OK(other.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, other.Queue(0, 0));
  ASSERT_NE(reply.result, nullptr);
  EXPECT_EQ(reply.result->amount.records, 10u);
}

TEST_F(TamperedReplayTest, OtherFileIsAnExpiredPosition) {
  const std::string position(*journal_[0].resume.seek());
  worker_.Write("in", Lines("quite another file ", 4000));
  Caller next(worker_.control(), "shop", 2);
  next.open.first_open = false;
  next.open.position = position;
  next.open.base_steps = 0;
  next.open.journaled_steps = 2;
  EXPECT_THAT(next.Open(LinesSpec("orders", source_, out_)),
              HasReason(Reason::POSITION_EXPIRED));
}

}  // namespace
}  // namespace penstock
