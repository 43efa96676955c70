// Format and columns of an input, from a sample of it.
// See core/format/README.md, "A guess".
#pragma once

#include "core/format/csv/config.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

struct InferOptions {
  // "csv", "json", "msgpack", "ndjson" or "raw"; empty: to be guessed.
  std::string format = {};
  // Of csv; nullopt: to be guessed.
  std::optional<char> delimiter = {};
  std::optional<bool> header = {};
  // The input's name, which may say the format; empty: it has none.
  std::string name = {};
  // The sample is the whole input.
  bool is_whole = true;
  // Records that are looked at; from 1.
  uint64_t records_max = 100'000;
};

struct InferredInput {
  std::string format;
  // If it is csv.
  CsvConfig csv;
  // Empty: records have no columns.
  Schema schema;
  // Records looked at, without a header; of them, bad ones whatever the
  // columns.
  uint64_t records = 0;
  uint64_t bad = 0;
  // Whether these are all that there are.
  bool is_whole = true;
  // What was not clear, a sentence each: "id: bigint: widened, there are ...".
  std::vector<std::string> notes;
};

// What of the input is known: a guess that takes every good record of the
// sample and loses nothing of it, in no wider columns than that needs.
// Bound: the sample once more, and 10,000 places of values.
// Errors: INVALID_CONFIG if there is nothing to infer from.
absl::StatusOr<InferredInput> InferInput(absl::string_view sample,
                                         const InferOptions& options);

}  // namespace penstock::core
