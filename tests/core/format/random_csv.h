// Texts that are hard on readers of CSV, from a seed.
#pragma once

#include "core/base/random.h"
#include "core/format/csv/config.h"

#include <cstddef>
#include <string>

namespace penstock::core {

// Lines of fields: plain, quoted over several lines, doubled and escaped,
// faulty; blank lines, comments, marks, CR here and there, perhaps without a
// last line end.
std::string RandomCsv(Random& random, size_t lines,
                      const CsvDialect& dialect = {});

}  // namespace penstock::core
