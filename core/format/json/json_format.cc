#include "core/format/json/json_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/change_form.h"
#include "core/format/format_config.h"
#include "core/format/message_encoder.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/rows/row_json.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

size_t PassBlanks(absl::string_view text, size_t at) {
  while (at < text.size() && IsJsonBlank(text[at])) ++at;
  return at;
}

// A byte of a number, a literal or what was meant as one.
bool IsOfToken(char c) {
  return !IsJsonBlank(c) &&
         absl::string_view("\",:[]{}").find(c) == absl::string_view::npos;
}

uint64_t CountLines(absl::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::optional<size_t> JsonSplitter::Input(absl::string_view data) {
  std::optional<size_t> boundary;
  size_t at = 0;
  while (at < data.size()) {
    if (scanner_.IsBetween() && IsJsonBlank(data[at])) {
      at = PassBlanks(data, at);
      boundary = at;
      continue;
    }
    const std::optional<size_t> end = scanner_.Next(data, at);
    if (!end.has_value()) break;
    boundary = at = *end;
  }
  return boundary;
}

// A number at the end may go on; all else has ended by itself.
std::optional<size_t> JsonSplitter::PassSeam(char before,
                                             absl::string_view behind) const {
  if (IsOfToken(before) && IsOfToken(behind.front())) return std::nullopt;
  return 0;
}

ParseResult JsonParser::Parse(const Fragment& fragment) {
  JsonTask task(fragment, progress_, records_.columns());
  const absl::string_view text = task.text;
  ValueScanner scanner;
  size_t at = task.begin;
  // Up to where lines were counted.
  size_t counted = 0;
  while (at < text.size() && !task.result.IsFull()) {
    const size_t begin = PassBlanks(text, at);
    if (begin == text.size()) {
      at = begin;
      break;
    }
    at = scanner.Next(text, begin).value_or(text.size());
    const size_t place = PlaceOf(scanner, begin);
    task.result.AddLines(CountLines(text.substr(counted, place - counted)));
    counted = place;
    AddUnit(task, scanner, static_cast<uint32_t>(begin),
            static_cast<uint32_t>(place), static_cast<uint32_t>(at));
  }
  task.result.AddLines(CountLines(text.substr(counted, at - counted)) +
                       fragment.cut_lines);
  return std::move(task.result).Build(static_cast<uint32_t>(at));
}

size_t JsonParser::PlaceOf(const ValueScanner& scanner, size_t begin) const {
  if (scanner.kind() != ValueScanner::Kind::kValue) return begin;
  // How much of it a source has read does not show.
  const bool is_far = scanner.value_begin() - begin >= UnitBytesMax();
  return is_far ? begin : scanner.value_begin();
}

bool JsonParser::IsTooLong(absl::string_view unit) const {
  if (unit.size() != UnitBytesMax()) return unit.size() > UnitBytesMax();
  // A source that has read as much reads on only if it sees the end in it, and
  // some units end but before the next byte.
  return !ValueScanner().Next(unit, 0).has_value();
}

void JsonParser::AddUnit(JsonTask& task, const ValueScanner& scanner,
                         uint32_t begin, uint32_t place, uint32_t end) {
  const bool is_value = scanner.kind() == ValueScanner::Kind::kValue;
  const absl::string_view unit = task.text.substr(begin, end - begin);
  if (task.fragment.is_cut || IsTooLong(unit) ||
      (is_value && end - place > records_.record_bytes_max())) {
    return records_.AddTooLarge(task, place, end);
  }
  if (is_value) return records_.Add(task, place, end);
  if (scanner.kind() == ValueScanner::Kind::kNone) return;
  ParseError error;
  error.tag = "syntax";
  error.description =
      absl::StrCat("expected a value behind '", unit.substr(0, 1), "'");
  error.invalid_text = CutInvalidText(unit);
  error.suggestion = "JSON has no trailing commas; see whether it was cut off";
  task.result.AddError(begin, std::move(error));
}

absl::Status JsonEncoder::Encode(const Record& record, FrameBuffer& out) {
  if (!record.value.has_value()) {
    return MakeError(Reason::UNSUPPORTED,
                     "encode a record as JSON: its value is null, and text has "
                     "no form for that; choose a format that does");
  }
  RETURN_IF_ERROR(CheckRowForm(record));
  const absl::string_view value = *record.value;
  const size_t first = PassBlanks(value, 0);
  // By itself it would be read as its elements.
  const bool is_array = first < value.size() && value[first] == '[';
  if (is_array) out.PushBack('[');
  out.Append(value);
  if (is_array) out.PushBack(']');
  out.PushBack('\n');
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Parser>> MakeJsonParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const JsonConfig* const json,
                   CheckFormatConfig<JsonConfig>(config, "json"));
  ASSIGN_OR_RETURN(JsonOptions options, JsonOptions::Of(*json, schema));
  return std::make_unique<JsonParser>(std::move(options));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeJsonEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const JsonConfig* const json,
                   CheckFormatConfig<JsonConfig>(config, "json"));
  if (json->envelope.HasColumns()) {
    return std::make_unique<RowJsonEncoder>(
        schema, frames, FindOpColumn(json->envelope.op, schema));
  }
  switch (frames) {
    case FrameKind::kConcatenated:
      return std::make_unique<JsonEncoder>();
    case FrameKind::kMessages:
      return std::make_unique<MessageEncoder>();
  }
  return MakeError(Reason::INTERNAL, "make format json: unknown frames");
}

}  // namespace penstock::core
