// MessagePack records as rows.
#pragma once

#include "core/format/rows/row_reader.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// Reads the row of a record. What a column takes of what MessagePack has,
// besides what it takes of text (core/format/README.md):
//   boolean        true, false
//   numbers        integers and floats, as their shortest text
//   varbinary      bin
//   uuid           bin of 16 bytes
//   timestamptz    the extension -1
//   varchar        str that is UTF-8, numbers, true and false
//   variant        what JSON can say, as JSON
// Returns: as RowReader::Read. Requires: the record is one good value.
[[nodiscard]] bool ReadPackedRow(RowReader& reader, absl::string_view record,
                                 ValueArena& arena);

// The extension that is a moment.
inline constexpr int8_t kMsgpackMoment = -1;
// The timestamptz that such an extension is, with at most `decimals` decimals
// of a second. Errors: kNotTimestamp, kTooManyDecimals, kOutOfRange.
[[nodiscard]] ValueFault ReadMsgpackMoment(absl::string_view bytes,
                                           uint32_t decimals, Value& value);

}  // namespace penstock::core
