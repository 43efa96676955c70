// Schemas of any types, rows that fit them, and their text in JSON.
#pragma once

#include "core/base/random.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// Requires: `depth` above 0 for an array, a map or a struct.
Column RandomColumnOf(Random& random, SqlType type, std::string name,
                      uint32_t depth);
// `depth`: how deep arrays, maps and structs are nested; 0: there are none. No
// variants, which a row of another format cannot have of one.
Column RandomColumn(Random& random, std::string name, uint32_t depth);
Schema RandomSchema(Random& random, size_t columns_max, uint32_t depth);

// Null one time in ten where that may be. Extremes are likely.
Value RandomValue(Random& random, const Column& column, ValueArena& arena);
std::vector<Value> RandomRow(Random& random, const Schema& schema,
                             ValueArena& arena);

// The shortest JSON that reads as the row: no blanks, no members that are null.
std::string RowJson(const Schema& schema, std::span<const Value> row);

}  // namespace penstock::core
