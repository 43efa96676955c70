// Single values of Protobuf as values of columns, and all values as JSON.
#pragma once

#include "core/format/protobuf/protobuf_place.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Reads a resolved place of kind kSingle.
// What a column takes: core/format/README.md, "Protobuf".
// Returns: as RowTokens::TakeSingle.
ValueFault ReadProtobufValue(const ProtobufPlaces& places,
                             const ProtobufPlace& place, const Column& column,
                             ValueArena& arena, Value& value,
                             absl::string_view& text);

// Appends the JSON of a value of any kind, as proto3 has it, with the names of
// the .proto file and integers of 64 bits as numbers. Errors: kNotUtf8,
// kOutOfRange (a time): JSON cannot say it.
ValueFault ProtobufToJson(const ProtobufPlaces& places,
                          const ProtobufPlace& place, std::string& json);

// What to call a value in a message.
absl::string_view ProtobufTypeName(const ProtobufPlaces& places,
                                   const ProtobufPlace& place);

}  // namespace penstock::core
