// Every enum of the protocol <-> its core enum.
//
// ToProto is total. FromProto gives nullopt for UNSPECIFIED and for a value
// that this program does not know; the caller names the field.
#pragma once

#include "core/base/error.h"
#include "core/connector/requests.h"
#include "core/connector/state_machine.h"
#include "core/contract/ft_model.h"
#include "core/contract/health.h"
#include "core/record/schema.h"
#include "proto/penstock/v1/common.pb.h"
#include "proto/penstock/v1/control.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/penstock/v1/step.pb.h"

#include <optional>

namespace penstock::wire {

v1::ConnectorState ToProto(core::ConnectorState state);
v1::Condition ToProto(core::Condition condition);
v1::BlockerKind ToProto(core::Blocker::Kind kind);
v1::StopReason ToProto(core::StopReason reason);
v1::NoStepReason ToProto(core::NoStepReason reason);
v1::BadRecordPolicy ToProto(core::BadRecordPolicy policy);
v1::ColumnType ToProto(core::SqlType type);
// nullopt is level none.
v1::DeliveryLevel LevelToProto(std::optional<core::FtModel> level);
// As in ErrorReason; the text on the wire is core::ReasonName.
v1::ErrorReason ToProto(core::Reason reason);

std::optional<core::ConnectorState> FromProto(v1::ConnectorState state);
std::optional<core::Condition> FromProto(v1::Condition condition);
std::optional<core::Blocker::Kind> FromProto(v1::BlockerKind kind);
std::optional<core::StopReason> FromProto(v1::StopReason reason);
std::optional<core::NoStepReason> FromProto(v1::NoStepReason reason);
std::optional<core::BadRecordPolicy> FromProto(v1::BadRecordPolicy policy);
std::optional<core::SqlType> FromProto(v1::ColumnType type);
std::optional<core::Reason> FromProto(v1::ErrorReason reason);

// Tells "unknown" (`ok` false) from level none (`level` nullopt).
struct DecodedLevel {
  bool ok = false;
  std::optional<core::FtModel> level;
};
DecodedLevel LevelFromProto(v1::DeliveryLevel level);

}  // namespace penstock::wire
