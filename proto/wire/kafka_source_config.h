// The configuration of the source "kafka", both ways.
#pragma once

#include "core/sources/kafka/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/violations.h"

#include <memory>
#include <string>

namespace penstock::wire {

// `path`: that of the message. What the source would refuse is refused here.
std::shared_ptr<core::KafkaSourceConfig> KafkaSourceFromProto(
    const v1::KafkaSource& message, const std::string& path,
    Violations& violations);
v1::KafkaSource KafkaSourceToProto(const core::KafkaSourceConfig& config);

}  // namespace penstock::wire
