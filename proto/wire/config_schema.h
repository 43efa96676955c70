// Configurations as JSON Schema, made of their descriptors.
#pragma once

#include "proto/penstock/v1/connector.pb.h"

#include <string>
#include <vector>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace penstock::wire {

// JSON Schema (draft 2020-12) of `message` as a pipeline file has it: enum
// values short and in lower case, durations and sizes as text with a unit,
// nothing that the message does not know. Pretty, ends with a line end.
std::string ConfigSchema(const google::protobuf::Descriptor& message);

// The fields of `message` and of what is in it, by path (`retry.delay_max`); of
// one that contains itself the inner ones are left out.
std::vector<v1::ConfigField> ConfigFields(
    const google::protobuf::Descriptor& message);

// How an enum value is written in a pipeline file: `exactly_once`.
std::string ShortEnumName(const google::protobuf::EnumValueDescriptor& value);

}  // namespace penstock::wire
