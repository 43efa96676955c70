#include "proto/wire/step.h"

#include "core/base/error.h"
#include "proto/penstock/v1/step.pb.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using core::Resume;
using ::testing::Contains;
using ::testing::Field;

// Not how any library would write it: order, blanks, escapes, 2^63 - 1.
constexpr char kOddSeek[] =
    "{ \"z\":9223372036854775807,\"a\" : [1.50, 1e2,null],\"\\u0061\":{} }";

core::StepResult FullResult() {
  core::StepResult result;
  result.step = INT64_MAX;
  result.amount = {.records = 3, .bytes = INT64_MAX};
  result.resume = Resume(
      Resume::Replay{.seek = kOddSeek, .replay = "\xc0", .hash = 0xFEDCBA98});
  result.position_complete = true;
  result.hash = core::StepHash{.value = 0xFEDCBA98, .count = 3};
  result.watermarks = {
      {.timestamp = absl::FromUnixSeconds(1), .metadata = "{\"b\":1,\"a\":2}"},
      {.timestamp = absl::FromUnixSeconds(2), .metadata = std::nullopt}};
  result.transaction_started = true;
  result.transaction_committed = true;
  result.transaction_label = "t1";
  result.end_of_input = true;
  result.stopped_because = core::StopReason::kEndOfInput;
  result.skipped_records = 1;
  return result;
}

// What `message` becomes when it was sent.
v1::StepResult Sent(const v1::StepResult& message) {
  v1::StepResult received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

TEST(StepTest, FullResultComesBack) {
  ASSERT_OK_AND_ASSIGN(DecodedStep step,
                       FromProto(Sent(ToProto(FullResult()))));
  EXPECT_EQ(step.result, FullResult());
  EXPECT_EQ(step.replay_data, std::nullopt);
}

TEST(StepTest, SeekPassesByteForByte) {
  const v1::StepResult message = Sent(ToProto(FullResult()));
  EXPECT_EQ(message.resume().replay().seek().json(), kOddSeek);
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(message));
  EXPECT_EQ(step.result.resume.seek(), kOddSeek);
}

TEST(StepTest, BytesThatAreNoUtf8PassInSeekAndMetadata) {
  core::StepResult result = FullResult();
  result.resume = Resume(Resume::Seek{std::string("\xFF\0\x80", 3)});
  result.hash.reset();
  result.watermarks[0].metadata = "\xFE";
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(Sent(ToProto(result))));
  EXPECT_EQ(step.result, result);
}

TEST(StepTest, EqualResultsHaveEqualBytes) {
  EXPECT_EQ(ToProto(FullResult()).SerializeAsString(),
            ToProto(FullResult()).SerializeAsString());
}

TEST(StepTest, EncodingIsFrozen) {
  v1::StepResult expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        step: 9223372036854775807
        amount { records: 3 bytes: 9223372036854775807 }
        resume {
          replay {
            seek { format: "json" version: 1 }
            data { msgpack: "\300" }
            hash {
              algorithm: HASH_ALGORITHM_XXH3_64
              count: 3
              value: 0xFEDCBA98
            }
          }
        }
        watermarks {
          ingest_time { seconds: 1 }
          metadata: "{\"b\":1,\"a\":2}"
        }
        watermarks { ingest_time { seconds: 2 } }
        transaction { started: true label: "t1" committed: true }
        end_of_input: true
        stopped_because: STOP_REASON_END_OF_INPUT
        skipped_records: 1
        position_complete: true
      )pb",
      &expected));
  expected.mutable_resume()->mutable_replay()->mutable_seek()->set_json(
      kOddSeek);
  EXPECT_EQ(ToProto(FullResult()).SerializeAsString(),
            expected.SerializeAsString());
}

TEST(StepTest, BarrierComesBack) {
  core::StepResult result;
  result.position_complete = false;
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(Sent(ToProto(result))));
  EXPECT_TRUE(step.result.resume.IsBarrier());
  EXPECT_EQ(step.result, result);
}

TEST(StepTest, ResumeThatIsAbsentIsABarrier) {
  v1::StepResult message = ToProto(FullResult());
  message.clear_resume();
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(message));
  EXPECT_TRUE(step.result.resume.IsBarrier());
}

TEST(StepTest, CountOfAHashThatIsNotCarriedIsThatOfTheRecords) {
  core::StepResult result = FullResult();
  result.hash.reset();
  EXPECT_EQ(ToProto(result).resume().replay().hash().count(), 3u);
}

core::StepResult ResultWithReplayData(size_t bytes) {
  core::StepResult result = FullResult();
  result.resume = Resume(Resume::Replay{
      .seek = "null", .replay = std::string(bytes, '\xc3'), .hash = 1});
  result.hash = core::StepHash{.value = 1, .count = 3};
  return result;
}

TEST(StepTest, LongReplayDataIsNamedAndFilledInAgain) {
  const core::StepResult result = ResultWithReplayData(300'000);
  const v1::StepResult message = Sent(ToProto(result));
  EXPECT_LT(message.ByteSizeLong(), 1000u);
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(message));
  const std::string data(300'000, '\xc3');
  EXPECT_EQ(step.replay_data, PartOf(data));
  FillReplayData(data, step);
  EXPECT_EQ(step.replay_data, std::nullopt);
  EXPECT_EQ(step.result, result);
}

core::StepResult ResultWithFullPosition(size_t bytes) {
  core::StepResult result = FullResult();
  result.position_complete = false;
  result.full_position = std::string(bytes, '9');
  return result;
}

TEST(StepTest, AFullPositionThatFitsIsInline) {
  const core::StepResult result = ResultWithFullPosition(200'000);
  const v1::StepResult message = Sent(ToProto(result));
  EXPECT_EQ(message.full_position().json(), *result.full_position);
  EXPECT_EQ(message.full_position().format(), "json");
  EXPECT_EQ(message.full_position().version(), 1u);
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(message));
  EXPECT_EQ(step.full_position, std::nullopt);
  EXPECT_EQ(step.result, result);
}

TEST(StepTest, ALongFullPositionIsNamedAndFilledInAgain) {
  const core::StepResult result = ResultWithFullPosition(300'000);
  const v1::StepResult message = Sent(ToProto(result));
  EXPECT_LT(message.ByteSizeLong(), 1000u);
  ASSERT_OK_AND_ASSIGN(DecodedStep step, FromProto(message));
  EXPECT_EQ(step.full_position, PartOf(*result.full_position));
  FillFullPosition(*result.full_position, step);
  EXPECT_EQ(step.full_position, std::nullopt);
  EXPECT_EQ(step.result, result);
}

TEST(StepTest, AFullPositionAndReplayDataMayBothBeLong) {
  core::StepResult result = ResultWithReplayData(300'000);
  result.full_position = std::string(300'000, '9');
  const v1::StepResult message = Sent(ToProto(result));
  EXPECT_LT(message.ByteSizeLong(), 1000u);
  EXPECT_TRUE(message.full_position().has_part());
  EXPECT_TRUE(message.resume().replay().data().has_part());
}

TEST(StepTest, ReplayDataThatFitsIsInline) {
  EXPECT_TRUE(ToProto(ResultWithReplayData(200'000))
                  .resume()
                  .replay()
                  .data()
                  .has_msgpack());
}

TEST(StepTest, NothingIsLongerThanTheLimitForItsReplayData) {
  for (const size_t bytes : {261'000, 262'000, 262'144, 263'000}) {
    EXPECT_LE(ToProto(ResultWithReplayData(bytes)).ByteSizeLong(),
              kStepResultBytesMax);
  }
}

// Each is a StepResult that must be refused, and the field that is named.
struct Wrong {
  const char* name;
  void (*change)(v1::StepResult&);
  const char* field;
};
class WrongStepTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongStepTest, IsRefusedByName) {
  v1::StepResult message = ToProto(FullResult());
  GetParam().change(message);
  const auto step = FromProto(message, "result");
  ASSERT_FALSE(step.ok());
  EXPECT_THAT(GetViolations(step.status()),
              Contains(Field(&FieldViolation::field, GetParam().field)));
}

v1::Resume::Replay& ReplayOf(v1::StepResult& message) {
  return *message.mutable_resume()->mutable_replay();
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongStepTest,
    ::testing::Values(
        Wrong{"NoSeek", [](auto& m) { ReplayOf(m).clear_seek(); },
              "result.resume.replay.seek"},
        Wrong{"NoJson",
              [](auto& m) { ReplayOf(m).mutable_seek()->clear_json(); },
              "result.resume.replay.seek.json"},
        Wrong{"SeekInParts",
              [](auto& m) { ReplayOf(m).mutable_seek()->mutable_part(); },
              "result.resume.replay.seek.part"},
        Wrong{"OtherFormat",
              [](auto& m) { ReplayOf(m).mutable_seek()->set_format("xml"); },
              "result.resume.replay.seek.format"},
        Wrong{"NewerVersion",
              [](auto& m) { ReplayOf(m).mutable_seek()->set_version(2); },
              "result.resume.replay.seek.version"},
        Wrong{"NoData", [](auto& m) { ReplayOf(m).clear_data(); },
              "result.resume.replay.data"},
        Wrong{"NoHash", [](auto& m) { ReplayOf(m).clear_hash(); },
              "result.resume.replay.hash.algorithm"},
        Wrong{"OtherAlgorithm",
              [](auto& m) {
                ReplayOf(m).mutable_hash()->set_algorithm(
                    static_cast<v1::HashAlgorithm>(7));
              },
              "result.resume.replay.hash.algorithm"},
        Wrong{"NoSeekInSeek",
              [](auto& m) { m.mutable_resume()->mutable_seek(); },
              "result.resume.seek.seek"},
        Wrong{"FullPosition", [](auto& m) { m.mutable_full_position(); },
              "result.full_position.format"},
        Wrong{"NoIngestTime",
              [](auto& m) { m.mutable_watermarks(1)->clear_ingest_time(); },
              "result.watermarks[1].ingest_time"},
        Wrong{
            "UnspecifiedStop",
            [](auto& m) { m.set_stopped_because(v1::STOP_REASON_UNSPECIFIED); },
            "result.stopped_because"},
        Wrong{"UnknownStop",
              [](auto& m) {
                m.set_stopped_because(static_cast<v1::StopReason>(99));
              },
              "result.stopped_because"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(StepTest, WrongStepIsAnInvalidRequest) {
  v1::StepResult message = ToProto(FullResult());
  message.clear_stopped_because();
  EXPECT_THAT(FromProto(message), HasReason(Reason::INVALID_REQUEST));
}

TEST(StepTest, BlockersComeBack) {
  const core::Blocker blocker = {.kind = core::Blocker::Kind::kUnflushedShard,
                                 .step = 7,
                                 .shard = 3,
                                 .since = absl::FromUnixMillis(1500),
                                 .text = "writing"};
  ASSERT_OK_AND_ASSIGN(const core::Blocker back, FromProto(ToProto(blocker)));
  EXPECT_EQ(back.kind, blocker.kind);
  EXPECT_EQ(back.step, blocker.step);
  EXPECT_EQ(back.shard, blocker.shard);
  EXPECT_EQ(back.since, blocker.since);
  EXPECT_EQ(back.text, blocker.text);
}

TEST(StepTest, BlockerOfUnknownKindIsRefused) {
  v1::Blocker blocker = ToProto(core::Blocker());
  blocker.set_kind(static_cast<v1::BlockerKind>(99));
  EXPECT_THAT(FromProto(blocker), HasReason(Reason::INVALID_REQUEST));
}

}  // namespace
}  // namespace penstock::wire
