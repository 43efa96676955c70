// Documents of JSON as rows.
#pragma once

#include "core/format/rows/row_reader.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// Reads the row of the line that begins at text[begin] and of which `next` is
// the first index of a StructuralWalker, or of `line`. `has_escapes`: whether a
// backslash is in it.
// Returns: as RowReader::Read. Requires: the line is one good JSON value.
[[nodiscard]] bool ReadIndexedRow(RowReader& reader, const char* text,
                                  uint32_t begin, const uint32_t* next,
                                  bool has_escapes, ValueArena& arena);
[[nodiscard]] bool ReadScannedRow(RowReader& reader, absl::string_view line,
                                  ValueArena& arena);

}  // namespace penstock::core
