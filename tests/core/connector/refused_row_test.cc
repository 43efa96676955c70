// Rows that the target refuses, records that cannot be parsed or encoded: what
// a connector makes of them (INV-8, 11).
#include "core/contract/sink_error.h"
#include "core/sinks/dead_letter_file/dead_letter_file.h"
#include "tests/core/connector/harness.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RefusedRowTest : public testing::Test {
 protected:
  RefusedRowTest() : harness_({}, {.tells_rows_apart = true}) {
    harness_.registry.RegisterDeadLetter("file", MakeDeadLetterFile);
    harness_.database.SetJudge([](const std::vector<std::string>& /*present*/,
                                  const std::vector<std::string>& added) {
      for (const std::string& row : added) {
        if (absl::StartsWith(row, "bad")) return MakeRowRefused("a bad row");
      }
      return absl::OkStatus();
    });
    harness_.request.spec.shards = 1;
  }
  void KeepDeadLetters() {
    auto config = std::make_shared<DeadLetterFileConfig>();
    config->path = "/dead";
    harness_.request.spec.dead_letter = config;
    harness_.request.spec.on_refused_row = BadRecordPolicy::kSkip;
  }
  void Start() {
    harness_.MustOpen();
    harness_.MustExtend();
  }
  void RunStep(Step step, const std::vector<std::string>& records) {
    harness_.source.Append(0, records);
    harness_.MustQueue(step);
    EXPECT_OK(harness_.Release(step + 1).status());
  }
  // As a controller that has journaled one step does.
  void ReopenBehindStep0() {
    harness_.MustClose();
    harness_.request.journaled_steps = 1;
    harness_.MustOpen();
  }
  std::vector<std::string> Letters() {
    std::vector<std::string> letters;
    for (const std::string& path : harness_.files().Files()) {
      if (!absl::StartsWith(path, "/dead/")) continue;
      for (const absl::string_view line : absl::StrSplit(
               *harness_.files().Contents(path), '\n', absl::SkipEmpty())) {
        letters.emplace_back(line);
      }
    }
    return letters;
  }

  Harness harness_;
};

TEST_F(RefusedRowTest, GoToTheDeadLettersAndTheRestToTheTarget) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"a:1", "bad:2", "b:3"});
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1", "b:3"));
  EXPECT_THAT(Letters(),
              ElementsAre(testing::AllOf(
                  HasSubstr("\"id\":\"incarnation/connector/0/0/1\""),
                  HasSubstr("\"data\":\"bad:2\\n\""))));
  EXPECT_EQ(harness_.Status().completed_steps, 1u);
  EXPECT_EQ(harness_.state(), ConnectorState::kRunning);
}

TEST_F(RefusedRowTest, AreShownAndTheCountsAddUp) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"a:1", "bad:2", "unencodable", "b:3"});
  RunStep(1, {"bad:4"});
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(status.records_refused, 2u);
  // Of the record that could not be encoded, too.
  EXPECT_EQ(status.dead_letters, status.records_refused + 1);
  EXPECT_EQ(
      status.extended_total.records,
      status.records_out + status.records_skipped + status.records_discarded);
  EXPECT_EQ(status.records_out,
            harness_.Lines().size() + status.records_refused);
  EXPECT_EQ(status.inflight_bytes, 0u);
}

TEST_F(RefusedRowTest, WithoutAnOutputEndTheConnectorUnlessThePolicySaysSkip) {
  Start();
  harness_.source.Append(0, {"a:1", "bad:2"});
  harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_THAT(harness_.Status().health.reason,
              testing::AllOf(HasSubstr("row 1 of step 0"),
                             HasSubstr("offset 1"), HasSubstr("dead_letter")));
}

TEST_F(RefusedRowTest, AreOnlyCountedIfThePolicyIsToSkip) {
  harness_.request.spec.on_refused_row = BadRecordPolicy::kSkip;
  Start();
  RunStep(0, {"a:1", "bad:2"});
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1"));
  EXPECT_EQ(harness_.Status().records_refused, 1u);
  EXPECT_EQ(harness_.Status().dead_letters, 0u);
}

TEST_F(RefusedRowTest, TooManyStopTheConnector) {
  KeepDeadLetters();
  harness_.request.spec.refused_rows.total_max = 1;
  Start();
  RunStep(0, {"a:1", "bad:2"});
  harness_.source.Append(0, {"bad:3"});
  harness_.MustQueue(1);
  EXPECT_OK(harness_.Release(2).status());
  EXPECT_EQ(harness_.state(), ConnectorState::kFailed);
  EXPECT_THAT(harness_.QueueStep(2).status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(harness_.Status().health.reason, HasSubstr("total_max is 1"));
}

TEST_F(RefusedRowTest, AFullOutputDegradesAndLosesNothing) {
  KeepDeadLetters();
  Start();
  harness_.files().FailNext(FileOperation::kAppend, "/dead",
                            MakeError(Reason::STORAGE_FULL, "full"), 2);
  RunStep(0, {"a:1", "bad:2"});
  EXPECT_EQ(harness_.Status().health.condition, Condition::kDegraded);
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  harness_.Advance(absl::Seconds(30));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1"));
  EXPECT_THAT(Letters(), SizeIs(1));
}

TEST_F(RefusedRowTest, AnOutputOfUnknownTypeIsRefusedAtOpen) {
  harness_.request.spec.dead_letter = std::make_shared<NamedConfig>("pigeon");
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(RefusedRowTest, RecordsThatCannotBeEncodedAreKeptAsWell) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"a:1", "unencodable", "b:3"});
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1", "b:3"));
  EXPECT_THAT(Letters(),
              ElementsAre(testing::AllOf(
                  HasSubstr("\"id\":\"incarnation/connector/p0/o1\""),
                  HasSubstr("\"data\":\"unencodable\""))));
  EXPECT_EQ(harness_.Status().records_skipped, 1u);
  EXPECT_EQ(harness_.Status().dead_letters, 1u);
  EXPECT_EQ(harness_.Status().inflight_bytes, 0u);
}

TEST_F(RefusedRowTest, AStepOfRecordsThatCannotBeEncodedCompletes) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"unencodable"});
  EXPECT_THAT(Letters(), SizeIs(1));
  EXPECT_EQ(harness_.Status().completed_steps, 1u);
}

// --- Records that cannot be parsed.

constexpr char kFirstBadId[] = "\"id\":\"incarnation/connector/p0/o1\"";

TEST_F(RefusedRowTest, RecordsThatCannotBeParsedAreKeptAsWell) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"a:1", "!", "b:3"});
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1", "b:3"));
  EXPECT_THAT(Letters(), ElementsAre(testing::AllOf(
                             HasSubstr(kFirstBadId), HasSubstr("\"step\":0"),
                             HasSubstr("\"reason\":\"MALFORMED_FRAME\""),
                             HasSubstr("no_record: it begins with !"),
                             HasSubstr("\"data\":\"!\""))));
  EXPECT_EQ(harness_.Status().parse_errors, 1u);
  EXPECT_EQ(harness_.Status().dead_letters, 1u);
  EXPECT_EQ(harness_.Status().records_refused, 0u);
  EXPECT_EQ(harness_.Status().inflight_bytes, 0u);
}

TEST_F(RefusedRowTest, AStepOfRecordsThatCannotBeParsedCompletes) {
  KeepDeadLetters();
  Start();
  RunStep(0, {"!", "!!"});
  EXPECT_THAT(Letters(), SizeIs(2));
  EXPECT_EQ(harness_.Status().completed_steps, 1u);
  EXPECT_EQ(harness_.Status().inflight_bytes, 0u);
}

TEST_F(RefusedRowTest, NothingIsCommittedBeforeALetterOfTheParserIsDurable) {
  KeepDeadLetters();
  Start();
  harness_.files().FailNext(FileOperation::kAppend, "/dead",
                            MakeError(Reason::STORAGE_FULL, "full"), 1);
  RunStep(0, {"a:1", "!"});
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.Status().health.condition, Condition::kDegraded);
  harness_.Advance(absl::Seconds(30));
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1"));
  EXPECT_EQ(harness_.Status().health.condition, Condition::kOk);
}

// After it nobody knows what is on the disk: the connector ends, and a replay
// writes letter and rows again.
TEST_F(RefusedRowTest, NothingIsCommittedBehindALetterThatWasNotSynced) {
  KeepDeadLetters();
  Start();
  harness_.files().FailNext(FileOperation::kSync, "/dead",
                            MakeError(Reason::IO_ERROR, "not synced"), 1);
  RunStep(0, {"a:1", "!"});
  harness_.Advance(absl::Seconds(30));
  EXPECT_THAT(harness_.Lines(), IsEmpty());
  EXPECT_EQ(harness_.Status().completed_steps, 0u);
  EXPECT_EQ(harness_.Status().health.condition, Condition::kFatal);
}

TEST_F(RefusedRowTest, AReplayWritesTheSameLettersOfTheParserOnceMore) {
  KeepDeadLetters();
  Start();
  harness_.source.Append(0, {"a:1", "!", "b:3", "!!"});
  const auto result = harness_.MustQueue(0);
  ReopenBehindStep0();
  ASSERT_OK(harness_.Replay(*result, 0).status());
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1", "b:3"));
  const std::vector<std::string> letters = Letters();
  ASSERT_THAT(letters, SizeIs(2));
  EXPECT_THAT(letters[0], HasSubstr(kFirstBadId));
  EXPECT_THAT(letters[1], HasSubstr("incarnation/connector/p0/o3"));
}

TEST_F(RefusedRowTest, AStepThatTheTargetHoldsHasNoMoreLettersInReplay) {
  KeepDeadLetters();
  Start();
  harness_.source.Append(0, {"a:1", "!"});
  const auto result = harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_THAT(Letters(), SizeIs(1));
  ReopenBehindStep0();
  const Answer<ReplayReply> replay = harness_.Replay(*result, 0);
  ASSERT_OK(replay.status());
  EXPECT_TRUE(replay->already_held);
  EXPECT_THAT(Letters(), SizeIs(1));
}

TEST_F(RefusedRowTest, AFloodOfBadRecordsStaysWithinTheBudget) {
  KeepDeadLetters();
  harness_.request.spec.limits.inflight_bytes_max = 16'384;
  harness_.request.spec.limits.chunk_bytes = 1'024;
  Start();
  harness_.source.Append(0, std::vector<std::string>(200, "!"));
  Step step = 0;
  for (; Letters().size() < 200 && step < 100; ++step) {
    harness_.MustQueue(step);
    EXPECT_LE(harness_.Status().inflight_bytes, 16'384u);
    EXPECT_OK(harness_.Release(step + 1).status());
  }
  EXPECT_THAT(Letters(), SizeIs(200));
  EXPECT_GT(step, 5u);
}

TEST_F(RefusedRowTest, WithoutAnOutputWhatCannotBeParsedIsOnlyCounted) {
  Start();
  RunStep(0, {"a:1", "!"});
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1"));
  EXPECT_EQ(harness_.Status().parse_errors, 1u);
  EXPECT_EQ(harness_.Status().dead_letters, 0u);
}

TEST_F(RefusedRowTest, BelowExactlyOnceWhatCannotBeParsedIsKeptToo) {
  KeepDeadLetters();
  harness_.request.spec.level = FtModel::kAtLeastOnce;
  Start();
  RunStep(0, {"a:1", "!"});
  harness_.Advance(absl::Seconds(1));
  EXPECT_THAT(harness_.Lines(), ElementsAre("a:1"));
  EXPECT_THAT(Letters(), ElementsAre(HasSubstr(kFirstBadId)));
}

}  // namespace
}  // namespace penstock::core
