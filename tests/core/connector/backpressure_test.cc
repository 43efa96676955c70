#include "core/connector/backpressure.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(ResolveLimitsTest, DefaultsHoldForAFewShards) {
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits,
                       ResolveLimits(ConnectorLimits(), 4));
  EXPECT_EQ(limits.shard_queue_chunks, 8u);
  EXPECT_EQ(limits.step_bytes, 8 * kMiB);
  EXPECT_EQ(limits.step_bytes_max, 16 * kMiB);
}

TEST(ResolveLimitsTest, ManyShardsGetShorterQueues) {
  // The low mark of 32 MiB is to hold 2 * 32 * queue * 256 KiB.
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits,
                       ResolveLimits(ConnectorLimits(), 32));
  EXPECT_EQ(limits.shard_queue_chunks, 2u);
}

TEST(ResolveLimitsTest, QueueOfOneChunkIsTheLeast) {
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits,
                       ResolveLimits(ConnectorLimits(), 64));
  EXPECT_EQ(limits.shard_queue_chunks, 1u);
}

TEST(ResolveLimitsTest, TooManyShardsForTheBudgetAreRefusedWithARemedy) {
  const absl::Status status = ResolveLimits(ConnectorLimits(), 65).status();
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasReason(Reason::INVALID_CONFIG)));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"),
            "limits.inflight_bytes_max");
  EXPECT_THAT(std::string(status.message()), HasSubstr("lower chunk_bytes"));
}

TEST(ResolveLimitsTest, AsksNoLongerQueueThanConfigured) {
  ConnectorLimits asked;
  asked.shard_queue_chunks = 3;
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits, ResolveLimits(asked, 1));
  EXPECT_EQ(limits.shard_queue_chunks, 3u);
}

TEST(ResolveLimitsTest, StepIsAtMostAQuarterOfTheBudget) {
  ConnectorLimits asked;
  asked.inflight_bytes_max = 8 * kMiB;
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits, ResolveLimits(asked, 1));
  EXPECT_EQ(limits.step_bytes_max, 2 * kMiB);
  EXPECT_EQ(limits.step_bytes, 2 * kMiB);
}

TEST(ResolveLimitsTest, PartsThatExceedTheWholeAreRefused) {
  ConnectorLimits asked;
  asked.memory_max = 159 * kMiB;
  const absl::Status status = ResolveLimits(asked, 1).status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"), "limits.memory_max");
  asked.memory_max = 160 * kMiB;
  EXPECT_OK(ResolveLimits(asked, 1));
}

TEST(ResolveLimitsTest, SumsThatOverflowAreRefused) {
  ConnectorLimits asked;
  asked.queued_bytes_max = UINT64_MAX;
  EXPECT_THAT(ResolveLimits(asked, 1), HasReason(Reason::INVALID_CONFIG));
}

struct BadLimit {
  std::string field;
  std::function<void(ConnectorLimits&)> spoil;
};

std::string BadLimitName(const testing::TestParamInfo<BadLimit>& info) {
  return info.param.field + std::to_string(info.index);
}

class BadLimitTest : public testing::TestWithParam<BadLimit> {};

TEST_P(BadLimitTest, IsRefusedByName) {
  ConnectorLimits limits;
  GetParam().spoil(limits);
  const absl::Status status = ResolveLimits(limits, 1).status();
  ASSERT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("field"),
            "limits." + GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadLimitTest,
    testing::Values(
        BadLimit{"record_bytes_max",
                 [](ConnectorLimits& l) { l.record_bytes_max = 0; }},
        BadLimit{"block_bytes", [](ConnectorLimits& l) { l.block_bytes = 0; }},
        BadLimit{"queued_bytes_max",
                 [](ConnectorLimits& l) { l.queued_bytes_max = 0; }},
        BadLimit{"chunk_bytes", [](ConnectorLimits& l) { l.chunk_bytes = 0; }},
        BadLimit{"shard_queue_chunks",
                 [](ConnectorLimits& l) { l.shard_queue_chunks = 0; }},
        BadLimit{"step_bytes", [](ConnectorLimits& l) { l.step_bytes = 0; }},
        BadLimit{"step_bytes_max",
                 [](ConnectorLimits& l) { l.step_bytes_max = 0; }},
        BadLimit{"step_records_max",
                 [](ConnectorLimits& l) { l.step_records_max = 0; }},
        BadLimit{"steps_outstanding_max",
                 [](ConnectorLimits& l) { l.steps_outstanding_max = 0; }},
        BadLimit{"retained_bytes_max",
                 [](ConnectorLimits& l) { l.retained_bytes_max = 0; }},
        BadLimit{"step_linger",
                 [](ConnectorLimits& l) { l.step_linger = -absl::Seconds(1); }},
        BadLimit{"inflight_low",
                 [](ConnectorLimits& l) { l.inflight_low = 0; }},
        BadLimit{"inflight_low",
                 [](ConnectorLimits& l) { l.inflight_low = std::nan(""); }},
        BadLimit{"inflight_high",
                 [](ConnectorLimits& l) { l.inflight_high = 0.4; }},
        BadLimit{"inflight_high",
                 [](ConnectorLimits& l) { l.inflight_high = 1.1; }}),
    BadLimitName);

TEST(ResolveLimitsTest, NoShardsAreRefused) {
  EXPECT_THAT(ResolveLimits(ConnectorLimits(), 0),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(CapsOfTest, RequestMayAskForLessNotForMore) {
  ASSERT_OK_AND_ASSIGN(const ConnectorLimits limits,
                       ResolveLimits(ConnectorLimits(), 1));
  QueueRequest request;
  EXPECT_EQ(CapsOf(request, limits).bytes, 16 * kMiB);
  EXPECT_EQ(CapsOf(request, limits).records, UINT64_MAX);
  request.max_bytes = 5;
  request.max_records = 7;
  EXPECT_EQ(CapsOf(request, limits).bytes, 5u);
  EXPECT_EQ(CapsOf(request, limits).records, 7u);
  request.max_bytes = UINT64_MAX;
  EXPECT_EQ(CapsOf(request, limits).bytes, 16 * kMiB);
  EXPECT_EQ(CapsOf(request, limits).payload_bytes_max, 16 * kMiB);
  EXPECT_EQ(CapsOf(request, limits).reserved_bytes_max, 16 * kMiB);
}

}  // namespace
}  // namespace penstock::core
