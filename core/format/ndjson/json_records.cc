#include "core/format/ndjson/json_records.h"

#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/ndjson/line_checker.h"

#include <absl/strings/match.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

absl::string_view TagOf(JsonFault fault) {
  switch (fault) {
    case JsonFault::kNone:
      break;
    case JsonFault::kSyntax:
      return "syntax";
    case JsonFault::kTrailingData:
      return "trailing_data";
    case JsonFault::kInvalidUtf8:
      return "invalid_utf8";
    case JsonFault::kInvalidUnicode:
      return "invalid_unicode";
    case JsonFault::kOutOfRange:
      return "out_of_range";
    case JsonFault::kTooDeep:
      return "too_deep";
  }
  return "none";
}

ParseError ErrorOf(JsonProblem problem) {
  ParseError error;
  error.tag = std::string(TagOf(problem.fault));
  error.description = std::move(problem.description);
  if (!problem.field.empty()) error.field = std::move(problem.field);
  error.suggestion = std::move(problem.suggestion);
  return error;
}

}  // namespace

JsonTask::JsonTask(const Fragment& fragment_, ParseProgress& progress,
                   uint32_t columns)
    : fragment(fragment_),
      text(fragment.block->data() + fragment.begin, fragment.size),
      result(fragment, progress, columns) {
  if (fragment.offset == 0 && absl::StartsWith(text, kByteOrderMark)) {
    begin = static_cast<uint32_t>(kByteOrderMark.size());
  }
}

absl::StatusOr<JsonOptions> JsonOptions::Of(
    size_t record_bytes_max, const std::optional<std::string>& key,
    const EnvelopeConfig& envelope, const Schema& schema,
    absl::string_view format) {
  JsonOptions options{.record_bytes_max = record_bytes_max,
                      .schema = schema,
                      .envelope = envelope};
  ASSIGN_OR_RETURN(options.key, KeyPath::ParseIfAny(key));
  ASSIGN_OR_RETURN(options.columns,
                   ChangeColumns::Make(envelope, schema, format));
  return options;
}

JsonRecords::JsonRecords(JsonOptions options)
    : options_(std::move(options)),
      document_key_(options_.envelope.kind == EnvelopeKind::kRaw
                        ? options_.key
                        : std::nullopt),
      rows_(options_.schema.IsEmpty()
                ? nullptr
                : std::make_unique<RowReader>(options_.schema)),
      changes_(ChangeReader::MakeIfAny(options_.envelope, options_.columns,
                                       KeyPath::NamesOf(options_.key),
                                       "text_envelope_err")) {}

void JsonRecords::Add(JsonTask& task, uint32_t begin, uint32_t end) {
  const absl::string_view document = task.text.substr(begin, end - begin);
  std::optional<KeyTracker> key;
  if (document_key_.has_value()) {
    key.emplace(*document_key_, document.find('\\') != absl::string_view::npos);
  }
  JsonProblem problem =
      LineChecker(document, key.has_value() ? &*key : nullptr).Check();
  if (problem.fault != JsonFault::kNone) {
    return AddBad(task, begin, end, ErrorOf(std::move(problem)));
  }
  if (changes_ != nullptr) return AddScannedChange(task, begin, end);
  if (rows_ != nullptr) {
    if (!ReadScannedRow(*rows_, document, task.result.value_arena())) {
      return AddBadRow(task, begin, end);
    }
    task.result.AddRow(rows_->row());
  }
  AddRecord(task, begin, end, key.has_value() ? key->token() : KeyToken{},
            begin);
}

void JsonRecords::AddTooLarge(JsonTask& task, uint32_t begin, uint32_t end) {
  task.result.AddError(
      begin,
      RecordTooLarge(task.text.substr(begin, end - begin), record_bytes_max()));
}

void JsonRecords::AddBadRow(JsonTask& task, uint32_t begin, uint32_t end) {
  AddBad(task, begin, end, rows_->TakeError());
}

void JsonRecords::AddBad(JsonTask& task, uint32_t begin, uint32_t end,
                         ParseError error) {
  error.invalid_text = CutInvalidText(task.text.substr(begin, end - begin));
  task.result.AddError(begin, std::move(error));
}

}  // namespace penstock::core
