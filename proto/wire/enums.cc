#include "proto/wire/enums.h"

#include "core/base/check.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <string>

namespace penstock::wire {
namespace {

constexpr absl::string_view kReasonPrefix = "ERROR_REASON_";

}  // namespace

v1::ConnectorState ToProto(core::ConnectorState state) {
  switch (state) {
    case core::ConnectorState::kOpened:
      return v1::CONNECTOR_STATE_OPENED;
    case core::ConnectorState::kReplaying:
      return v1::CONNECTOR_STATE_REPLAYING;
    case core::ConnectorState::kReplayed:
      return v1::CONNECTOR_STATE_REPLAYED;
    case core::ConnectorState::kRunning:
      return v1::CONNECTOR_STATE_RUNNING;
    case core::ConnectorState::kPaused:
      return v1::CONNECTOR_STATE_PAUSED;
    case core::ConnectorState::kFailed:
      return v1::CONNECTOR_STATE_FAILED;
    case core::ConnectorState::kClosed:
      return v1::CONNECTOR_STATE_CLOSED;
  }
  LOG(FATAL) << "no such ConnectorState: " << static_cast<int>(state);
}

std::optional<core::ConnectorState> FromProto(v1::ConnectorState state) {
  switch (state) {
    case v1::CONNECTOR_STATE_OPENED:
      return core::ConnectorState::kOpened;
    case v1::CONNECTOR_STATE_REPLAYING:
      return core::ConnectorState::kReplaying;
    case v1::CONNECTOR_STATE_REPLAYED:
      return core::ConnectorState::kReplayed;
    case v1::CONNECTOR_STATE_RUNNING:
      return core::ConnectorState::kRunning;
    case v1::CONNECTOR_STATE_PAUSED:
      return core::ConnectorState::kPaused;
    case v1::CONNECTOR_STATE_FAILED:
      return core::ConnectorState::kFailed;
    case v1::CONNECTOR_STATE_CLOSED:
      return core::ConnectorState::kClosed;
    default:
      return std::nullopt;
  }
}

v1::Condition ToProto(core::Condition condition) {
  switch (condition) {
    case core::Condition::kOk:
      return v1::CONDITION_OK;
    case core::Condition::kDegraded:
      return v1::CONDITION_DEGRADED;
    case core::Condition::kStalled:
      return v1::CONDITION_STALLED;
    case core::Condition::kNeedsConfig:
      return v1::CONDITION_NEEDS_CONFIG;
    case core::Condition::kFatal:
      return v1::CONDITION_FATAL;
  }
  LOG(FATAL) << "no such Condition: " << static_cast<int>(condition);
}

std::optional<core::Condition> FromProto(v1::Condition condition) {
  switch (condition) {
    case v1::CONDITION_OK:
      return core::Condition::kOk;
    case v1::CONDITION_DEGRADED:
      return core::Condition::kDegraded;
    case v1::CONDITION_STALLED:
      return core::Condition::kStalled;
    case v1::CONDITION_NEEDS_CONFIG:
      return core::Condition::kNeedsConfig;
    case v1::CONDITION_FATAL:
      return core::Condition::kFatal;
    default:
      return std::nullopt;
  }
}

v1::BlockerKind ToProto(core::Blocker::Kind kind) {
  switch (kind) {
    case core::Blocker::Kind::kBarrier:
      return v1::BLOCKER_KIND_BARRIER;
    case core::Blocker::Kind::kOpenTransaction:
      return v1::BLOCKER_KIND_OPEN_TRANSACTION;
    case core::Blocker::Kind::kReplay:
      return v1::BLOCKER_KIND_REPLAY;
    case core::Blocker::Kind::kUnflushedShard:
      return v1::BLOCKER_KIND_UNFLUSHED_SHARD;
    case core::Blocker::Kind::kUnreleasedStep:
      return v1::BLOCKER_KIND_UNRELEASED_STEP;
    case core::Blocker::Kind::kUnfinishedStep:
      return v1::BLOCKER_KIND_UNFINISHED_STEP;
  }
  LOG(FATAL) << "no such BlockerKind: " << static_cast<int>(kind);
}

std::optional<core::Blocker::Kind> FromProto(v1::BlockerKind kind) {
  switch (kind) {
    case v1::BLOCKER_KIND_BARRIER:
      return core::Blocker::Kind::kBarrier;
    case v1::BLOCKER_KIND_OPEN_TRANSACTION:
      return core::Blocker::Kind::kOpenTransaction;
    case v1::BLOCKER_KIND_REPLAY:
      return core::Blocker::Kind::kReplay;
    case v1::BLOCKER_KIND_UNFLUSHED_SHARD:
      return core::Blocker::Kind::kUnflushedShard;
    case v1::BLOCKER_KIND_UNRELEASED_STEP:
      return core::Blocker::Kind::kUnreleasedStep;
    case v1::BLOCKER_KIND_UNFINISHED_STEP:
      return core::Blocker::Kind::kUnfinishedStep;
    default:
      return std::nullopt;
  }
}

v1::StopReason ToProto(core::StopReason reason) {
  switch (reason) {
    case core::StopReason::kMinMet:
      return v1::STOP_REASON_MIN_MET;
    case core::StopReason::kLinger:
      return v1::STOP_REASON_LINGER;
    case core::StopReason::kBatchLimit:
      return v1::STOP_REASON_BATCH_LIMIT;
    case core::StopReason::kByteLimit:
      return v1::STOP_REASON_BYTE_LIMIT;
    case core::StopReason::kWaitOver:
      return v1::STOP_REASON_WAIT_OVER;
    case core::StopReason::kEndOfInput:
      return v1::STOP_REASON_END_OF_INPUT;
    case core::StopReason::kBarrierCleared:
      return v1::STOP_REASON_BARRIER_CLEARED;
    case core::StopReason::kTransaction:
      return v1::STOP_REASON_TRANSACTION;
    case core::StopReason::kBlocked:
      return v1::STOP_REASON_BLOCKED;
  }
  LOG(FATAL) << "no such StopReason: " << static_cast<int>(reason);
}

std::optional<core::StopReason> FromProto(v1::StopReason reason) {
  switch (reason) {
    case v1::STOP_REASON_MIN_MET:
      return core::StopReason::kMinMet;
    case v1::STOP_REASON_LINGER:
      return core::StopReason::kLinger;
    case v1::STOP_REASON_BATCH_LIMIT:
      return core::StopReason::kBatchLimit;
    case v1::STOP_REASON_BYTE_LIMIT:
      return core::StopReason::kByteLimit;
    case v1::STOP_REASON_WAIT_OVER:
      return core::StopReason::kWaitOver;
    case v1::STOP_REASON_END_OF_INPUT:
      return core::StopReason::kEndOfInput;
    case v1::STOP_REASON_BARRIER_CLEARED:
      return core::StopReason::kBarrierCleared;
    case v1::STOP_REASON_TRANSACTION:
      return core::StopReason::kTransaction;
    case v1::STOP_REASON_BLOCKED:
      return core::StopReason::kBlocked;
    default:
      return std::nullopt;
  }
}

v1::NoStepReason ToProto(core::NoStepReason reason) {
  switch (reason) {
    case core::NoStepReason::kWaitOver:
      return v1::NO_STEP_REASON_WAIT_OVER;
    case core::NoStepReason::kEndOfInput:
      return v1::NO_STEP_REASON_END_OF_INPUT;
    case core::NoStepReason::kPaused:
      return v1::NO_STEP_REASON_PAUSED;
    case core::NoStepReason::kInterrupted:
      return v1::NO_STEP_REASON_INTERRUPTED;
  }
  LOG(FATAL) << "no such NoStepReason: " << static_cast<int>(reason);
}

std::optional<core::NoStepReason> FromProto(v1::NoStepReason reason) {
  switch (reason) {
    case v1::NO_STEP_REASON_WAIT_OVER:
      return core::NoStepReason::kWaitOver;
    case v1::NO_STEP_REASON_END_OF_INPUT:
      return core::NoStepReason::kEndOfInput;
    case v1::NO_STEP_REASON_PAUSED:
      return core::NoStepReason::kPaused;
    case v1::NO_STEP_REASON_INTERRUPTED:
      return core::NoStepReason::kInterrupted;
    default:
      return std::nullopt;
  }
}

v1::BadRecordPolicy ToProto(core::BadRecordPolicy policy) {
  switch (policy) {
    case core::BadRecordPolicy::kSkip:
      return v1::BAD_RECORD_POLICY_SKIP;
    case core::BadRecordPolicy::kFail:
      return v1::BAD_RECORD_POLICY_FAIL;
  }
  LOG(FATAL) << "no such BadRecordPolicy: " << static_cast<int>(policy);
}

std::optional<core::BadRecordPolicy> FromProto(v1::BadRecordPolicy policy) {
  switch (policy) {
    case v1::BAD_RECORD_POLICY_SKIP:
      return core::BadRecordPolicy::kSkip;
    case v1::BAD_RECORD_POLICY_FAIL:
      return core::BadRecordPolicy::kFail;
    default:
      return std::nullopt;
  }
}

v1::ColumnType ToProto(core::SqlType type) {
  switch (type) {
    case core::SqlType::kBoolean:
      return v1::COLUMN_TYPE_BOOLEAN;
    case core::SqlType::kTinyint:
      return v1::COLUMN_TYPE_TINYINT;
    case core::SqlType::kSmallint:
      return v1::COLUMN_TYPE_SMALLINT;
    case core::SqlType::kInteger:
      return v1::COLUMN_TYPE_INTEGER;
    case core::SqlType::kBigint:
      return v1::COLUMN_TYPE_BIGINT;
    case core::SqlType::kTinyintUnsigned:
      return v1::COLUMN_TYPE_TINYINT_UNSIGNED;
    case core::SqlType::kSmallintUnsigned:
      return v1::COLUMN_TYPE_SMALLINT_UNSIGNED;
    case core::SqlType::kIntegerUnsigned:
      return v1::COLUMN_TYPE_INTEGER_UNSIGNED;
    case core::SqlType::kBigintUnsigned:
      return v1::COLUMN_TYPE_BIGINT_UNSIGNED;
    case core::SqlType::kReal:
      return v1::COLUMN_TYPE_REAL;
    case core::SqlType::kDouble:
      return v1::COLUMN_TYPE_DOUBLE;
    case core::SqlType::kDecimal:
      return v1::COLUMN_TYPE_DECIMAL;
    case core::SqlType::kVarchar:
      return v1::COLUMN_TYPE_VARCHAR;
    case core::SqlType::kVarbinary:
      return v1::COLUMN_TYPE_VARBINARY;
    case core::SqlType::kDate:
      return v1::COLUMN_TYPE_DATE;
    case core::SqlType::kTime:
      return v1::COLUMN_TYPE_TIME;
    case core::SqlType::kTimestamp:
      return v1::COLUMN_TYPE_TIMESTAMP;
    case core::SqlType::kTimestamptz:
      return v1::COLUMN_TYPE_TIMESTAMPTZ;
    case core::SqlType::kUuid:
      return v1::COLUMN_TYPE_UUID;
    case core::SqlType::kArray:
      return v1::COLUMN_TYPE_ARRAY;
    case core::SqlType::kMap:
      return v1::COLUMN_TYPE_MAP;
    case core::SqlType::kStruct:
      return v1::COLUMN_TYPE_STRUCT;
    case core::SqlType::kVariant:
      return v1::COLUMN_TYPE_VARIANT;
  }
  LOG(FATAL) << "no such SqlType: " << static_cast<int>(type);
}

std::optional<core::SqlType> FromProto(v1::ColumnType type) {
  switch (type) {
    case v1::COLUMN_TYPE_BOOLEAN:
      return core::SqlType::kBoolean;
    case v1::COLUMN_TYPE_TINYINT:
      return core::SqlType::kTinyint;
    case v1::COLUMN_TYPE_SMALLINT:
      return core::SqlType::kSmallint;
    case v1::COLUMN_TYPE_INTEGER:
      return core::SqlType::kInteger;
    case v1::COLUMN_TYPE_BIGINT:
      return core::SqlType::kBigint;
    case v1::COLUMN_TYPE_TINYINT_UNSIGNED:
      return core::SqlType::kTinyintUnsigned;
    case v1::COLUMN_TYPE_SMALLINT_UNSIGNED:
      return core::SqlType::kSmallintUnsigned;
    case v1::COLUMN_TYPE_INTEGER_UNSIGNED:
      return core::SqlType::kIntegerUnsigned;
    case v1::COLUMN_TYPE_BIGINT_UNSIGNED:
      return core::SqlType::kBigintUnsigned;
    case v1::COLUMN_TYPE_REAL:
      return core::SqlType::kReal;
    case v1::COLUMN_TYPE_DOUBLE:
      return core::SqlType::kDouble;
    case v1::COLUMN_TYPE_DECIMAL:
      return core::SqlType::kDecimal;
    case v1::COLUMN_TYPE_VARCHAR:
      return core::SqlType::kVarchar;
    case v1::COLUMN_TYPE_VARBINARY:
      return core::SqlType::kVarbinary;
    case v1::COLUMN_TYPE_DATE:
      return core::SqlType::kDate;
    case v1::COLUMN_TYPE_TIME:
      return core::SqlType::kTime;
    case v1::COLUMN_TYPE_TIMESTAMP:
      return core::SqlType::kTimestamp;
    case v1::COLUMN_TYPE_TIMESTAMPTZ:
      return core::SqlType::kTimestamptz;
    case v1::COLUMN_TYPE_UUID:
      return core::SqlType::kUuid;
    case v1::COLUMN_TYPE_ARRAY:
      return core::SqlType::kArray;
    case v1::COLUMN_TYPE_MAP:
      return core::SqlType::kMap;
    case v1::COLUMN_TYPE_STRUCT:
      return core::SqlType::kStruct;
    case v1::COLUMN_TYPE_VARIANT:
      return core::SqlType::kVariant;
    default:
      return std::nullopt;
  }
}

v1::DeliveryLevel LevelToProto(std::optional<core::FtModel> level) {
  if (!level.has_value()) return v1::DELIVERY_LEVEL_NONE;
  switch (*level) {
    case core::FtModel::kAtLeastOnce:
      return v1::DELIVERY_LEVEL_AT_LEAST_ONCE;
    case core::FtModel::kExactlyOnce:
      return v1::DELIVERY_LEVEL_EXACTLY_ONCE;
  }
  LOG(FATAL) << "no such level: " << static_cast<int>(*level);
}

DecodedLevel LevelFromProto(v1::DeliveryLevel level) {
  switch (level) {
    case v1::DELIVERY_LEVEL_NONE:
      return {.ok = true, .level = std::nullopt};
    case v1::DELIVERY_LEVEL_AT_LEAST_ONCE:
      return {.ok = true, .level = core::FtModel::kAtLeastOnce};
    case v1::DELIVERY_LEVEL_EXACTLY_ONCE:
      return {.ok = true, .level = core::FtModel::kExactlyOnce};
    default:
      return {};
  }
}

v1::ErrorReason ToProto(core::Reason reason) {
  // One word in both lists; the tests hold them against each other.
  v1::ErrorReason result = v1::ERROR_REASON_UNSPECIFIED;
  CHECK(v1::ErrorReason_Parse(
      absl::StrCat(kReasonPrefix, core::ReasonName(reason)), &result));
  return result;
}

std::optional<core::Reason> FromProto(v1::ErrorReason reason) {
  const std::string& name = v1::ErrorReason_Name(reason);
  return core::ParseReason(absl::StripPrefix(name, kReasonPrefix));
}

}  // namespace penstock::wire
