// One value of Avro as a value of a column.
#pragma once

#include "core/format/avro/avro_cursor.h"
#include "core/format/avro/avro_schema.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Reads the value that comes next, of `node`, which is neither union, record,
// array, map nor null, and passes it.
// What a column takes: core/format/README.md, "Avro".
// Returns: as RowTokens::TakeSingle.
ValueFault ReadAvroValue(AvroCursor& cursor, const AvroNode& node,
                         const Column& column, ValueArena& arena, Value& value,
                         absl::string_view& text);

// The text of a decimal: `bytes` in two's complement, big-endian, with `scale`
// digits behind the point. Returns: false if it has more digits than any
// column.
bool PrintAvroDecimal(absl::string_view bytes, uint32_t scale, std::string& to);

// Whether `number` of a logical type can be a value of that kind; then `value`
// is that: a date, time, timestamp or timestamptz.
bool AvroTimeValue(AvroLogical logical, int64_t number, Value& value);

}  // namespace penstock::core
