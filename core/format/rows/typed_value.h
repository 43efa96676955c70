// Values that have a type of their own, as values of a declared column: what
// binary formats need.
// See core/format/README.md.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

bool IsIntegerType(SqlType type);

// Each makes `value` of what its name says. On a fault `text` is what to call
// it: what was printed, in the arena, or what it was before.
// Requires: the column is neither array, map, struct nor variant.

// Text that lies nowhere for long.
ValueFault ValueOfText(const Column& column, absl::string_view printed,
                       ValueArena& arena, Value& value,
                       absl::string_view& text);
// A number, true or false, likewise.
ValueFault ValueOfToken(const Column& column, absl::string_view printed,
                        ValueArena& arena, Value& value,
                        absl::string_view& text);
ValueFault ValueOfReal(const Column& column, float real, ValueArena& arena,
                       Value& value, absl::string_view& text);
ValueFault ValueOfReal(const Column& column, double real, ValueArena& arena,
                       Value& value, absl::string_view& text);
// A date, time, timestamp or timestamptz: as it is, or in a column of another
// type by its text.
ValueFault ValueOfTime(const Column& column, const Value& time,
                       ValueArena& arena, Value& value,
                       absl::string_view& text);
// Bytes of the record, which the value may view.
ValueFault ValueOfBytes(const Column& column, absl::string_view bytes,
                        ValueArena& arena, Value& value,
                        absl::string_view& text);
// The same, meant as text.
ValueFault ValueOfString(const Column& column, absl::string_view bytes,
                         ValueArena& arena, Value& value,
                         absl::string_view& text);

// Of what went wrong in two places: the one that did first.
inline ValueFault FirstFault(ValueFault one, ValueFault other) {
  return one == ValueFault::kNone ? other : one;
}

// Appends text as a string of JSON. Errors: kNotUtf8; it is appended all the
// same.
ValueFault AppendTextJson(absl::string_view text, std::string& json);

}  // namespace penstock::core
