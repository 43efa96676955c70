#include "core/format/infer/infer.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/parser.h"
#include "core/format/csv/csv_splitter.h"
#include "core/format/infer/csv_guess.h"
#include "core/format/infer/value_guess.h"
#include "core/format/infer/walk.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"

#include <absl/functional/function_ref.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

// How many records tell formats apart.
constexpr uint64_t kTrialRecords = 1'000;

struct Tally {
  uint64_t records = 0;
  uint64_t bad = 0;
  // Records that are objects.
  uint64_t objects = 0;
  bool is_whole = true;
};

std::unique_ptr<Parser> MakeParser(absl::string_view format) {
  if (format == "msgpack") return *MakeMsgpackParser(MsgpackConfig());
  if (format == "json") return *MakeJsonParser(JsonConfig());
  return *MakeNdjsonParser(NdjsonConfig());
}

bool IsObject(absl::string_view format, absl::string_view value) {
  if (format != "msgpack") {
    const size_t first = value.find_first_not_of(" \t\r\n");
    return first != absl::string_view::npos && value[first] == '{';
  }
  const auto first = static_cast<unsigned char>(value[0]);
  return (first & 0xf0) == 0x80 || first == 0xde || first == 0xdf;
}

// Calls `on_object` with each good record that is an object, and its number.
Tally ForEachRecord(
    absl::string_view format, absl::string_view sample, bool is_whole,
    uint64_t records_max,
    absl::FunctionRef<void(absl::string_view, uint64_t)> on_object) {
  const std::unique_ptr<Parser> parser = MakeParser(format);
  const size_t size = is_whole
                          ? sample.size()
                          : parser->MakeSplitter()->Input(sample).value_or(0);
  auto block = std::make_shared<Block>(size);
  if (size > 0) std::memcpy(block->data(), sample.data(), size);
  Fragment fragment = {.block = std::move(block),
                       .size = static_cast<uint32_t>(size),
                       .is_last = is_whole};
  Tally tally = {.is_whole = is_whole};
  while (fragment.size > 0) {
    if (tally.records >= records_max) {
      tally.is_whole = false;
      break;
    }
    const ParseResult result = parser->Parse(fragment);
    uint64_t number = tally.records;
    auto error = result.errors.begin();
    for (size_t i = 0; i < result.batch.record_count(); ++i) {
      // Bad records have numbers as well.
      for (++number;
           error != result.errors.end() && error->record_number == number;
           ++number) {
        ++error;
      }
      const absl::string_view value = *result.batch.At(i).value;
      if (!IsObject(format, value)) continue;
      ++tally.objects;
      on_object(value, number);
    }
    tally.records += result.records;
    tally.bad += result.errors.size();
    fragment.RemovePrefix(result.bytes);
  }
  return tally;
}

Tally Try(absl::string_view format, absl::string_view sample,
          const InferOptions& options) {
  return ForEachRecord(format, sample, options.is_whole, kTrialRecords,
                       [](absl::string_view, uint64_t) {});
}

// What the name says; empty: nothing.
absl::string_view FormatOfName(absl::string_view name) {
  for (const char* packed : {".gz", ".zst", ".zstd"}) {
    if (absl::ConsumeSuffix(&name, packed)) break;
  }
  constexpr struct {
    absl::string_view suffix;
    absl::string_view format;
  } kSuffixes[] = {{".csv", "csv"},         {".tsv", "csv"},
                   {".ndjson", "ndjson"},   {".jsonl", "ndjson"},
                   {".msgpack", "msgpack"}, {".mpk", "msgpack"}};
  for (const auto& each : kSuffixes) {
    if (absl::EndsWithIgnoreCase(name, each.suffix)) return each.format;
  }
  return "";
}

std::string GuessFormat(absl::string_view sample, const InferOptions& options,
                        const CsvDialectGuess& dialect) {
  if (!options.format.empty()) return options.format;
  const absl::string_view named = FormatOfName(options.name);
  if (!named.empty()) return std::string(named);
  if (IsObject("msgpack", sample)) {
    const Tally tally = Try("msgpack", sample, options);
    if (tally.objects > 0 && tally.bad == 0) return "msgpack";
  }
  absl::string_view text = absl::StripPrefix(sample, "\xef\xbb\xbf");
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  if (absl::StartsWith(text, "{") || absl::StartsWith(text, "[")) {
    const Tally lines = Try("ndjson", sample, options);
    const Tally values = Try("json", sample, options);
    const bool by_line =
        lines.objects >= values.objects && lines.bad <= values.bad;
    if (lines.objects + values.objects > 0) return by_line ? "ndjson" : "json";
  }
  return dialect.is_clear ? "csv" : "raw";
}

void InferObjects(absl::string_view sample, const InferOptions& options,
                  InferredInput& input) {
  ValueGuess record(/*is_record=*/true);
  GuessProgress progress;
  const bool is_packed = input.format == "msgpack";
  const Tally tally =
      ForEachRecord(input.format, sample, options.is_whole, options.records_max,
                    [&](absl::string_view value, uint64_t number) {
                      progress.record = number;
                      if (is_packed) {
                        ObserveMsgpack(value, record, progress);
                      } else {
                        ObserveJson(value, record, progress);
                      }
                    });
  input.records = tally.records;
  // What is no object has no columns.
  input.bad = tally.records - tally.objects;
  input.is_whole = tally.is_whole;
  record.Settle();
  GuessRules rules = {.is_whole = tally.is_whole};
  input.schema = record.BuildSchema(rules);
  input.notes = std::move(rules.notes);
}

void InferFields(absl::string_view text, const CsvDialectGuess& dialect,
                 const InferOptions& options, InferredInput& input) {
  GuessRules rules = {.is_whole = options.is_whole, .has_variant = false};
  CsvGuess guess =
      GuessCsv(text, dialect, options.header, options.records_max, rules);
  input.csv = std::move(guess.config);
  input.schema = std::move(guess.schema);
  input.records = guess.records;
  input.bad = guess.bad;
  input.is_whole = rules.is_whole;
  input.notes = std::move(rules.notes);
}

}  // namespace

absl::StatusOr<InferredInput> InferInput(absl::string_view sample,
                                         const InferOptions& options) {
  if (sample.empty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "inferring a schema: there is nothing in the input");
  }
  if (absl::StartsWith(sample, "\xff\xfe") ||
      absl::StartsWith(sample, "\xfe\xff")) {
    return MakeError(
        Reason::INVALID_CONFIG,
        "inferring a schema: the input is UTF-16 by its byte order "
        "mark; convert it to UTF-8 first (iconv)");
  }
  // A record that is cut off is none.
  absl::string_view fields = sample;
  if (!options.is_whole) {
    const size_t line = sample.rfind('\n');
    fields = line == absl::string_view::npos ? "" : sample.substr(0, line + 1);
  }
  CsvDialectGuess dialect;
  if (options.format.empty() || options.format == "csv") {
    dialect = GuessCsvDialect(fields, options.delimiter);
  }
  InferredInput input;
  input.format = GuessFormat(sample, options, dialect);
  input.is_whole = options.is_whole;
  if (input.format == "csv") {
    if (!options.is_whole) {
      CsvSplitter splitter(dialect.dialect, input.csv.record_bytes_max);
      fields = sample.substr(0, splitter.Input(sample).value_or(0));
    }
    InferFields(fields, dialect, options, input);
  } else if (input.format != "raw") {
    InferObjects(sample, options, input);
  }
  return input;
}

}  // namespace penstock::core
