// Texts that are hard on parsers, from a seed.
#pragma once

#include "core/base/random.h"

#include <cstddef>
#include <string>

namespace penstock::core {

// One good JSON document, without LF: nested up to `depth_max` levels, with
// white space in between, escapes and characters of every length.
std::string RandomJson(Random& random, int depth_max = 3);

// `text` with one to three bytes changed, added, removed or swapped. No LF
// comes in.
std::string Damage(std::string text, Random& random);

// Lines of NDJSON, good and damaged, with blank lines, CR before LF here and
// there, perhaps without a last line end.
std::string RandomNdjson(Random& random, size_t lines);

// Values of JSON, good and damaged, one behind the other or in arrays, on one
// line or many.
std::string RandomJsonStream(Random& random, size_t values);

// Lines of changes in Debezium's envelope or as insert and delete, and of what
// only looks like one; some damaged.
std::string RandomChanges(Random& random, size_t lines);

// Lines of any bytes.
std::string RandomRawLines(Random& random, size_t lines);

}  // namespace penstock::core
