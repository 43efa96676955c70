#include "proto/wire/proto_time.h"

#include <absl/time/time.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::wire {
namespace {

TEST(ProtoTimeTest, TimesComeBack) {
  const absl::Time time =
      absl::FromUnixSeconds(1'700'000'000) + absl::Nanoseconds(123'456'789);
  EXPECT_EQ(TimeToProto(time).seconds(), 1'700'000'000);
  EXPECT_EQ(TimeToProto(time).nanos(), 123'456'789);
  EXPECT_EQ(TimeFromProto(TimeToProto(time)), time);
}

TEST(ProtoTimeTest, NanosecondsCountForwardBefore1970) {
  const absl::Time time = absl::UnixEpoch() - absl::Nanoseconds(1);
  EXPECT_EQ(TimeToProto(time).seconds(), -1);
  EXPECT_EQ(TimeToProto(time).nanos(), 999'999'999);
  EXPECT_EQ(TimeFromProto(TimeToProto(time)), time);
}

TEST(ProtoTimeTest, EndlessTimesBecomeTheEndsOfTheRange) {
  EXPECT_EQ(TimeToProto(absl::InfinitePast()).seconds(), -62'135'596'800);
  EXPECT_EQ(TimeToProto(absl::InfiniteFuture()).seconds(), 253'402'300'799);
  EXPECT_TRUE(TimeFromProto(TimeToProto(absl::InfinitePast())).has_value());
  EXPECT_TRUE(TimeFromProto(TimeToProto(absl::InfiniteFuture())).has_value());
}

TEST(ProtoTimeTest, TimesOutOfRangeAreRefused) {
  google::protobuf::Timestamp time;
  time.set_seconds(253'402'300'800);
  EXPECT_EQ(TimeFromProto(time), std::nullopt);
  time.set_seconds(0);
  time.set_nanos(-1);
  EXPECT_EQ(TimeFromProto(time), std::nullopt);
  time.set_nanos(1'000'000'000);
  EXPECT_EQ(TimeFromProto(time), std::nullopt);
}

TEST(ProtoTimeTest, DurationsComeBack) {
  const absl::Duration duration = -absl::Milliseconds(1500);
  EXPECT_EQ(DurationToProto(duration).seconds(), -1);
  EXPECT_EQ(DurationToProto(duration).nanos(), -500'000'000);
  EXPECT_EQ(DurationFromProto(DurationToProto(duration)), duration);
}

TEST(ProtoTimeTest, EndlessDurationsBecomeTheEndOfTheRange) {
  EXPECT_EQ(DurationToProto(absl::InfiniteDuration()).seconds(),
            315'576'000'000);
}

TEST(ProtoTimeTest, DurationsWithMixedSignsAreRefused) {
  google::protobuf::Duration duration;
  duration.set_seconds(1);
  duration.set_nanos(-1);
  EXPECT_EQ(DurationFromProto(duration), std::nullopt);
}

}  // namespace
}  // namespace penstock::wire
