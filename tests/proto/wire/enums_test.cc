#include "proto/wire/enums.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

namespace penstock::wire {
namespace {

constexpr int kUnknown = 4711;

// Each value of the proto enum but UNSPECIFIED has a core value of its own,
// which gives it back; UNSPECIFIED and unknown values have none.
template <typename Proto>
void ExpectEveryValueHasItsOwn(const google::protobuf::EnumDescriptor& type) {
  std::set<int> core_values;
  for (int i = 0; i < type.value_count(); ++i) {
    const auto value = static_cast<Proto>(type.value(i)->number());
    const auto core_value = FromProto(value);
    EXPECT_EQ(core_value.has_value(), value != 0) << type.value(i)->name();
    if (!core_value.has_value()) continue;
    EXPECT_EQ(ToProto(*core_value), value) << type.value(i)->name();
    core_values.insert(static_cast<int>(*core_value));
  }
  EXPECT_EQ(core_values.size(), static_cast<size_t>(type.value_count()) - 1);
  EXPECT_EQ(FromProto(static_cast<Proto>(kUnknown)), std::nullopt);
  EXPECT_EQ(FromProto(static_cast<Proto>(-1)), std::nullopt);
}

TEST(EnumsTest, ConnectorState) {
  ExpectEveryValueHasItsOwn<v1::ConnectorState>(
      *v1::ConnectorState_descriptor());
  EXPECT_EQ(ToProto(core::ConnectorState::kClosed), v1::CONNECTOR_STATE_CLOSED);
}

TEST(EnumsTest, Condition) {
  ExpectEveryValueHasItsOwn<v1::Condition>(*v1::Condition_descriptor());
  EXPECT_EQ(ToProto(core::Condition::kNeedsConfig), v1::CONDITION_NEEDS_CONFIG);
}

TEST(EnumsTest, BlockerKind) {
  ExpectEveryValueHasItsOwn<v1::BlockerKind>(*v1::BlockerKind_descriptor());
  EXPECT_EQ(ToProto(core::Blocker::Kind::kUnflushedShard),
            v1::BLOCKER_KIND_UNFLUSHED_SHARD);
}

TEST(EnumsTest, StopReason) {
  ExpectEveryValueHasItsOwn<v1::StopReason>(*v1::StopReason_descriptor());
  EXPECT_EQ(ToProto(core::StopReason::kByteLimit), v1::STOP_REASON_BYTE_LIMIT);
}

TEST(EnumsTest, ColumnType) {
  ExpectEveryValueHasItsOwn<v1::ColumnType>(*v1::ColumnType_descriptor());
  EXPECT_EQ(ToProto(core::SqlType::kTimestamptz), v1::COLUMN_TYPE_TIMESTAMPTZ);
}

TEST(EnumsTest, NoStepReason) {
  ExpectEveryValueHasItsOwn<v1::NoStepReason>(*v1::NoStepReason_descriptor());
  EXPECT_EQ(ToProto(core::NoStepReason::kPaused), v1::NO_STEP_REASON_PAUSED);
}

TEST(EnumsTest, BadRecordPolicy) {
  ExpectEveryValueHasItsOwn<v1::BadRecordPolicy>(
      *v1::BadRecordPolicy_descriptor());
  EXPECT_EQ(ToProto(core::BadRecordPolicy::kFail), v1::BAD_RECORD_POLICY_FAIL);
}

TEST(EnumsTest, ErrorReasonsAreTheSameWordsInBothLists) {
  ExpectEveryValueHasItsOwn<v1::ErrorReason>(*v1::ErrorReason_descriptor());
  EXPECT_EQ(
      core::AllReasons().size(),
      static_cast<size_t>(v1::ErrorReason_descriptor()->value_count()) - 1);
  for (const core::Reason reason : core::AllReasons()) {
    EXPECT_EQ(v1::ErrorReason_Name(ToProto(reason)),
              absl::StrCat("ERROR_REASON_", core::ReasonName(reason)));
    EXPECT_EQ(FromProto(ToProto(reason)), reason);
  }
}

TEST(EnumsTest, LevelsTellNoneFromUnknown) {
  for (const auto level :
       {v1::DELIVERY_LEVEL_NONE, v1::DELIVERY_LEVEL_AT_LEAST_ONCE,
        v1::DELIVERY_LEVEL_EXACTLY_ONCE}) {
    EXPECT_TRUE(LevelFromProto(level).ok);
    EXPECT_EQ(LevelToProto(LevelFromProto(level).level), level);
  }
  EXPECT_EQ(LevelFromProto(v1::DELIVERY_LEVEL_NONE).level, std::nullopt);
  EXPECT_FALSE(LevelFromProto(v1::DELIVERY_LEVEL_UNSPECIFIED).ok);
  EXPECT_FALSE(LevelFromProto(static_cast<v1::DeliveryLevel>(kUnknown)).ok);
}

}  // namespace
}  // namespace penstock::wire
