// Rows as parsers make them, for those who take batches.
#pragma once

#include "core/base/random.h"
#include "core/contract/parser.h"
#include "core/record/record_batch.h"
#include "core/record/schema.h"

#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

std::vector<RecordBatch> BatchesOf(Parser& parser, absl::string_view text);
// What the parser of `format` ("csv", "ndjson", "msgpack") makes of `text`.
std::vector<RecordBatch> BatchesOf(absl::string_view format,
                                   const Schema& schema,
                                   absl::string_view text);
// A few rows of `schema` as MessagePack, as JSON and, if nothing is nested, as
// CSV.
std::vector<RecordBatch> BatchesOfRandomRows(Random& random,
                                             const Schema& schema);
// A column `a`, an array of structs of two members with long names.
Schema ArrayOfStructs();
// A thousand of them, as short as they come: a byte each in MessagePack.
std::string PackedEmptyStructs();
// PENSTOCK_PROPERTY_RUNS, or `usual`.
int PropertyRuns(int usual);

}  // namespace penstock::core
