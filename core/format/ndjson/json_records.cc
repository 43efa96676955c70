#include "core/format/ndjson/json_records.h"

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

JsonRecords::JsonRecords(size_t record_bytes_max, std::optional<KeyPath> key,
                         const Schema& schema)
    : record_bytes_max_(record_bytes_max),
      key_(std::move(key)),
      rows_(schema.IsEmpty() ? nullptr : std::make_unique<RowReader>(schema)) {}

Schema JsonRecords::schema() const {
  return rows_ == nullptr ? Schema() : rows_->schema();
}

uint32_t JsonRecords::columns() const {
  return rows_ == nullptr ? 0 : static_cast<uint32_t>(rows_->row().size());
}

void JsonRecords::Add(JsonTask& task, uint32_t begin, uint32_t end) {
  const absl::string_view document = task.text.substr(begin, end - begin);
  std::optional<KeyTracker> key;
  if (key_.has_value()) {
    key.emplace(*key_, document.find('\\') != absl::string_view::npos);
  }
  JsonProblem problem =
      LineChecker(document, key.has_value() ? &*key : nullptr).Check();
  if (problem.fault != JsonFault::kNone) {
    ParseError error = ErrorOf(std::move(problem));
    error.invalid_text = CutInvalidText(document);
    return task.result.AddError(begin, std::move(error));
  }
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
      RecordTooLarge(task.text.substr(begin, end - begin), record_bytes_max_));
}

void JsonRecords::AddBadRow(JsonTask& task, uint32_t begin, uint32_t end) {
  ParseError error = rows_->TakeError();
  error.invalid_text = CutInvalidText(task.text.substr(begin, end - begin));
  task.result.AddError(begin, std::move(error));
}

}  // namespace penstock::core
