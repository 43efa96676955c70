// Open: levels, limits, progress, and what an error leaves behind.
#include "core/connector/opening.h"

#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Level = std::optional<FtModel>;
constexpr Level kNone = std::nullopt;
constexpr Level kAtLeast = FtModel::kAtLeastOnce;
constexpr Level kExactly = FtModel::kExactlyOnce;

struct LevelCase {
  std::string name;
  Level asked;
  Level source;
  Level sink;
  // nullopt: refused.
  std::optional<Level> level;
  // With allow_lower.
  Level lower;
};

std::string LevelCaseName(const testing::TestParamInfo<LevelCase>& info) {
  return info.param.name;
}

class DecideLevelTest : public testing::TestWithParam<LevelCase> {};

TEST_P(DecideLevelTest, Decides) {
  const LevelCase& c = GetParam();
  const auto strict = DecideLevel(c.asked, false, true, c.source, c.sink);
  if (c.level.has_value()) {
    ASSERT_OK(strict.status());
    EXPECT_EQ(*strict, *c.level);
  } else {
    EXPECT_THAT(strict.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasReason(Reason::LEVEL_REFUSED)));
  }
  const auto lenient = DecideLevel(c.asked, true, true, c.source, c.sink);
  ASSERT_OK(lenient.status());
  EXPECT_EQ(*lenient, c.lower);
}

INSTANTIATE_TEST_SUITE_P(
    Levels, DecideLevelTest,
    testing::Values(
        LevelCase{"Exact", kExactly, kExactly, kExactly, kExactly, kExactly},
        LevelCase{"LowerThanPossible", kAtLeast, kExactly, kExactly, kAtLeast,
                  kAtLeast},
        LevelCase{"NoneAsked", kNone, kExactly, kExactly, kNone, kNone},
        LevelCase{"SourceIsShort", kExactly, kAtLeast, kExactly, {}, kAtLeast},
        LevelCase{"SinkIsShort", kExactly, kExactly, kAtLeast, {}, kAtLeast},
        LevelCase{"SourceHasNone", kAtLeast, kNone, kExactly, {}, kNone},
        LevelCase{"BothAreShort", kExactly, kAtLeast, kNone, {}, kNone}),
    LevelCaseName);

TEST(DecideLevelTest, WithoutASourceTheSinkDecides) {
  EXPECT_THAT(DecideLevel(kExactly, false, false, kNone, kExactly),
              IsOkAndHolds(kExactly));
}

TEST(DecideLevelTest, NamesWhoIsShort) {
  const absl::Status status =
      DecideLevel(kExactly, false, true, kExactly, kAtLeast).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("the sink"));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("sink"), "at_least_once");
}

TEST(CheckProgressTest, BetweenCheckpointAndJournalIsFine) {
  EXPECT_OK(CheckProgress({5, 7, 9}, 3, 5, 9));
}

TEST(CheckProgressTest, BelowTheCheckpointIsBehind) {
  const absl::Status status = CheckProgress({5, 4}, 2, 5, 9);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasReason(Reason::PROGRESS_BEHIND)));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("shard"), "1");
}

TEST(CheckProgressTest, AboveTheJournalIsAhead) {
  EXPECT_THAT(CheckProgress({10}, 1, 5, 9), HasReason(Reason::PROGRESS_AHEAD));
}

TEST(CheckProgressTest, MissingShardIsLost) {
  EXPECT_THAT(CheckProgress({5}, 2, 5, 9), HasReason(Reason::PROGRESS_LOST));
}

class OpenTest : public testing::Test {
 protected:
  Harness harness_;
};

TEST_F(OpenTest, SaysWhereItStandsAndWhatItIs) {
  harness_.request.base_steps = 7;
  const OpenReply reply = harness_.MustOpen();
  EXPECT_EQ(reply.instance, harness_.connector->instance());
  EXPECT_EQ(reply.instance.size(), 32u);
  EXPECT_EQ(reply.position, "{\"ranges\":[[0,0]]}");
  EXPECT_EQ(reply.base_steps, 7u);
  EXPECT_THAT(reply.shard_progress, ElementsAre(7, 7));
  EXPECT_EQ(reply.level, FtModel::kExactlyOnce);
  const ConnectorStatus status = harness_.Status();
  EXPECT_EQ(status.state, ConnectorState::kOpened);
  EXPECT_EQ(status.made_steps, 7u);
  EXPECT_EQ(status.completed_steps, 7u);
  EXPECT_EQ(status.checkpointed_steps, 7u);
}

TEST_F(OpenTest, EachLifeIsAnotherInstance) {
  const std::string first = harness_.MustOpen().instance;
  harness_.MustClose();
  EXPECT_NE(harness_.MustOpen().instance, first);
}

TEST_F(OpenTest, ReaderIsPausedAtBirth) {
  harness_.source.AppendNumbered("k", 10);
  harness_.MustOpen();
  EXPECT_EQ(harness_.source.records_read(), 0u);
}

TEST_F(OpenTest, StartsAtTheCheckpointsPosition) {
  harness_.source.AppendNumbered("k", 10);
  harness_.request.position = "{\"ranges\":[[0,4]]}";
  EXPECT_EQ(harness_.MustOpen().position, "{\"ranges\":[[4,4]]}");
  harness_.MustExtend();
  EXPECT_EQ(harness_.MustQueue(0)->amount.records, 6u);
}

TEST_F(OpenTest, ExpiredPositionIsRefusedAndTheTargetClosed) {
  harness_.request.position = "{\"ranges\":[[0,4]]}";
  const Answer<OpenReply> answer = harness_.Open();
  EXPECT_THAT(answer.status(), HasReason(Reason::POSITION_EXPIRED));
  EXPECT_EQ(harness_.state(), ConnectorState::kClosed);
  EXPECT_FALSE(harness_.source.has_reader());
  EXPECT_OK(harness_.Disconnect().status());
}

TEST_F(OpenTest, LevelBelowTheOneAskedIsRefused) {
  FakeTarget::Options target;
  target.level = FtModel::kAtLeastOnce;
  Harness harness(FakeSource::Options(), target);
  EXPECT_THAT(harness.Open().status(), HasReason(Reason::LEVEL_REFUSED));
}

TEST_F(OpenTest, LowerLevelIsShownWhereItIsAllowed) {
  FakeTarget::Options target;
  target.level = FtModel::kAtLeastOnce;
  Harness harness(FakeSource::Options(), target);
  harness.request.spec.allow_lower = true;
  const OpenReply reply = harness.MustOpen();
  EXPECT_EQ(reply.level, FtModel::kAtLeastOnce);
  EXPECT_THAT(reply.shard_progress, IsEmpty());
  EXPECT_EQ(harness.Status().level_asked, FtModel::kExactlyOnce);
  EXPECT_EQ(harness.Status().level, FtModel::kAtLeastOnce);
}

TEST_F(OpenTest, LimitsAreChecked) {
  harness_.request.spec.shards = 1000;
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(OpenTest, UnknownTypesAreRefusedByName) {
  harness_.request.spec.sink = std::make_shared<NamedConfig>("sinc");
  const absl::Status status = harness_.Open().status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"sinc\""));
}

TEST_F(OpenTest, UnknownRouteIsRefused) {
  harness_.request.spec.route = std::make_shared<NamedConfig>("by_moon");
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(OpenTest, LowerWriterIsFenced) {
  harness_.MustOpen();
  harness_.MustClose();
  harness_.request.writer.open_number = 0;
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::WRITER_FENCED));
}

TEST_F(OpenTest, ProgressBelowTheCheckpointIsRefused) {
  harness_.MustOpen();
  harness_.MustClose();
  harness_.request.base_steps = 3;
  harness_.request.journaled_steps = 3;
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::PROGRESS_BEHIND));
}

TEST_F(OpenTest, ProgressAboveTheJournalIsRefused) {
  harness_.source.AppendNumbered("k", 30);
  harness_.MustOpen();
  harness_.MustExtend();
  harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  harness_.MustClose();
  // The controller has forgotten that it journaled step 0.
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::PROGRESS_AHEAD));
}

TEST_F(OpenTest, LostProgressIsRefused) {
  harness_.MustOpen();
  harness_.MustClose();
  harness_.database.ForgetProgress(harness_.table());
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::PROGRESS_LOST));
}

TEST_F(OpenTest, ForeignProgressIsRefused) {
  harness_.MustOpen();
  harness_.MustClose();
  harness_.request.incarnation = "another";
  EXPECT_THAT(harness_.Open().status(), HasReason(Reason::FOREIGN_PROGRESS));
}

TEST_F(OpenTest, NothingIsLegalBeforeItIsOpen) {
  const Answer<OpenReply> open = harness_.StartOpen();
  Answer<Nothing> extend;
  harness_.connector->Extend(extend.Callback());
  Answer<Nothing> release;
  harness_.connector->Release(0, release.Callback());
  EXPECT_THAT(extend.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(release.status(), HasReason(Reason::ILLEGAL_TRANSITION));
  harness_.RunUntilIdle();
  EXPECT_OK(open.status());
}

TEST_F(OpenTest, OpensOnce) {
  harness_.MustOpen();
  Answer<OpenReply> again;
  harness_.connector->Open(again.Callback());
  EXPECT_THAT(again.status(), HasReason(Reason::ILLEGAL_TRANSITION));
}

TEST_F(OpenTest, OutputOnlyConnectorRefusesReaderVerbs) {
  harness_.request.spec.source = nullptr;
  harness_.MustOpen();
  EXPECT_THAT(harness_.Extend().status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(harness_.QueueStep(0).status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_EQ(harness_.state(), ConnectorState::kOpened);
  EXPECT_OK(harness_.Disconnect().status());
}

TEST_F(OpenTest, PartitionRouteKeepsAPartitionTogether) {
  harness_.request.spec.route = std::make_shared<NamedConfig>("partition");
  harness_.source.AppendNumbered("k", 30);
  harness_.MustOpen();
  harness_.MustExtend();
  harness_.MustQueue(0);
  EXPECT_OK(harness_.Release(1).status());
  EXPECT_EQ(harness_.database.Lines(harness_.table(), 0).size(), 30u);
}

TEST_F(OpenTest, EncoderIsAskedForLinesWhereTheSinkWantsThem) {
  harness_.MustOpen();
  EXPECT_EQ(harness_.frames_asked, FrameKind::kConcatenated);
}

TEST_F(OpenTest, TheColumnsAreToldToSourceEncoderAndSink) {
  const Schema schema{{{.name = "id", .type = SqlType::kBigint}}};
  harness_.request.spec.schema = schema;
  harness_.MustOpen();
  EXPECT_EQ(harness_.source.schema(), schema);
  EXPECT_EQ(harness_.schema_asked, schema);
  EXPECT_EQ(harness_.database.schema(harness_.table()), schema);
}

TEST_F(OpenTest, TheColumnsAreToldToTheParser) {
  Schema asked;
  harness_.registry.RegisterParser(
      "format",
      [&asked](const ComponentConfig&, const Schema& schema)
          -> absl::StatusOr<std::unique_ptr<Parser>> {
        asked = schema;
        return nullptr;
      });
  const Schema schema{{{.name = "id", .type = SqlType::kBigint}}};
  harness_.request.spec.schema = schema;
  harness_.request.spec.format = std::make_shared<NamedConfig>("format");
  harness_.MustOpen();
  EXPECT_EQ(asked, schema);
}

// One that tells when a copy of it is made, as for each shard.
class TellingEncoder final : public RowEncoder {
 public:
  explicit TellingEncoder(int& copies) : copies_(copies) {}
  absl::Status Encode(const Record& /*record*/, FrameBuffer& /*out*/) override {
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t /*records*/,
                       size_t /*payload_bytes*/) const override {
    return 0;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    ++copies_;
    return std::make_unique<TellingEncoder>(copies_);
  }

 private:
  int& copies_;
};

TEST(OpenEncoderTest, TheSinksOwnEncoderIsUsedIfItBringsOne) {
  int copies = 0;
  Harness harness({}, {.make_encoder = [&copies] {
                    return std::make_unique<TellingEncoder>(copies);
                  }});
  harness.MustOpen();
  EXPECT_GT(copies, 0);
}

TEST(OpenMessagesTest, EncoderIsAskedForMessagesWhereTheSinkWantsThem) {
  Harness harness({}, {.frames = FrameKind::kMessages});
  harness.MustOpen();
  EXPECT_EQ(harness.frames_asked, FrameKind::kMessages);
}

}  // namespace
}  // namespace penstock::core
