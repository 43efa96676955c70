#include "core/format/csv/csv_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/csv/bad_csv.h"
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_splitter.h"
#include "core/format/csv/scanner_inl.h"
#include "core/format/format_config.h"
#include "core/format/line_encoder.h"
#include "core/format/ndjson/line_checker.h"
#include "core/format/value_text/value_text.h"
#include "core/record/key_hash.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// Comments, blank lines and the header together.
constexpr size_t kPrologueBytesMax = size_t{1} << 20;
// How much is checked for its encoding at once.
constexpr size_t kCheckedBytes = size_t{16} << 10;
// Names in a header.
constexpr uint32_t kNamesMax = uint32_t{1} << 16;

bool IsUtf8(absl::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

bool ReadShortBoolean(absl::string_view text, Value& value) {
  const bool is_true = text == "true";
  if (!is_true && text != "false") return false;
  value = Value::Bool(is_true);
  return true;
}

}  // namespace

// One call of Parse.
struct CsvParser::Task {
  CsvPlace Place() const {
    return {.offset = static_cast<uint64_t>(fragment.offset),
            .line = line + result.lines()};
  }

  const Fragment& fragment;
  const absl::string_view text;
  // Of its first line.
  const uint64_t line;
  ResultBuilder result;
  // Up to where the text is known to be UTF-8; up to where something is not.
  size_t good_end = 0;
  size_t doubtful_end = 0;
};

CsvParser::CsvParser(CsvConfig config, Schema schema,
                     std::optional<CsvLayout> layout)
    : config_(std::move(config)),
      has_null_tokens_(!config_.null_tokens.empty()),
      schema_(std::move(schema)),
      scanner_(config_.dialect, config_.record_bytes_max) {
  for (const Column& column : schema_.columns) {
    kinds_.push_back(KindOf(column));
  }
  if (layout.has_value()) SetLayout(*std::move(layout));
}

void CsvParser::SetLayout(CsvLayout layout) {
  scanner_.SetFieldsMax(layout.FieldsUsed());
  columns_of_fields_.assign(layout.FieldsUsed(), kNoColumn);
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    columns_of_fields_[layout.columns[i]] = static_cast<uint32_t>(i);
  }
  layout_ = std::move(layout);
}

ParseResult CsvParser::Parse(const Fragment& fragment) {
  const absl::string_view text(fragment.block->data() + fragment.begin,
                               fragment.size);
  // Nobody told it, or its line end never came.
  if (!layout_.has_value() && header_problem_.empty() &&
      (fragment.offset == 0 || fragment.is_last)) {
    (void)Learn(text.substr(0, kPrologueBytesMax),
                static_cast<uint64_t>(fragment.offset), fragment.is_last);
  }
  Task task{
      .fragment = fragment,
      .text = text,
      .line = progress_.line,
      .result = {fragment, progress_, static_cast<uint32_t>(kinds_.size())}};
  const bool has_mark =
      fragment.offset == 0 && absl::StartsWith(text, kByteOrderMark);
  scanner_.Begin(text, has_mark ? kByteOrderMark.size() : 0);
  while (!scanner_.AtEnd() && !task.result.IsFull()) {
    if (!ParsePlainRow(task)) ParseRecord(task, scanner_.Next());
  }
  return std::move(task.result).Build(scanner_.position());
}

uint64_t CsvParser::LinesOf(const Task& task, const CsvRecord& record) const {
  // An input may end behind an LF inside of quotes; nothing is a line then.
  const bool ends_in_lf = !task.fragment.is_cut &&
                          record.end == task.text.size() &&
                          task.text.back() == '\n';
  return record.lines - (ends_in_lf ? 1 : 0);
}

void CsvParser::ParseRecord(Task& task, const CsvRecord& record) {
  const bool is_header =
      static_cast<uint64_t>(task.fragment.offset) + record.begin < header_end_;
  if (record.is_comment || is_header) {
    task.result.AddLines(LinesOf(task, record));
    return;
  }
  const bool is_too_large =
      record.end - record.begin > config_.record_bytes_max ||
      task.fragment.is_cut;
  if (is_too_large && record.fault != CsvFault::kOpenQuote) {
    return AddError(task, record, RecordTooLarge("", config_.record_bytes_max));
  }
  if (record.fault != CsvFault::kNone) {
    return AddError(task, record,
                    BadCsv(task.text, record, task.Place(),
                           config_.record_bytes_max, is_too_large));
  }
  if (record.is_blank && !config_.keep_blank_lines) {
    task.result.AddLines(LinesOf(task, record));
    return;
  }
  if (!CheckRecord(task, record)) return;
  if (!kinds_.empty() && !ReadRow(task, record)) return;
  const bool has_key =
      layout_->key.has_value() && *layout_->key < record.field_count;
  AddRecord(task, record,
            has_key ? &scanner_.fields()[*layout_->key] : nullptr);
}

bool CsvParser::CheckRecord(Task& task, const CsvRecord& record) {
  ParseError error;
  if (!layout_.has_value()) {
    error.tag = "no_header";
    error.description = header_problem_.empty()
                            ? "the input has no header to know the fields by"
                            : header_problem_;
  } else if (!config_.flexible && layout_->fields.has_value() &&
             record.field_count != *layout_->fields) {
    error.tag = "field_count";
    error.description = absl::StrCat(
        "the record has ", record.field_count, " fields, the ",
        config_.header ? "header names " : "schema has ", *layout_->fields);
    error.suggestion =
        "put fields with delimiters or line ends in quotes, or allow other "
        "numbers of fields (flexible: true)";
  } else if (!kinds_.empty() && !CheckUtf8(task, record)) {
    error.tag = "invalid_utf8";
    error.description = "the record is not UTF-8, and columns are";
    error.suggestion = "convert the input to UTF-8";
  } else {
    return true;
  }
  AddError(task, record, std::move(error));
  return false;
}

bool CsvParser::CheckUtf8(Task& task, const CsvRecord& record) {
  if (record.end <= task.good_end) return true;
  if (record.end > task.doubtful_end) {
    // Many records at once, up to where no character is torn.
    size_t end =
        std::min<size_t>(task.text.size(), size_t{record.next} + kCheckedBytes);
    while (end > record.next && end < task.text.size() &&
           (static_cast<unsigned char>(task.text[end]) & 0xc0) == 0x80) {
      --end;
    }
    if (IsUtf8(task.text.substr(record.begin, end - record.begin))) {
      task.good_end = end;
      return true;
    }
    task.doubtful_end = end;
  }
  return IsUtf8(task.text.substr(record.begin, record.end - record.begin));
}

CsvParser::ColumnKind CsvParser::KindOf(const Column& column) {
  ColumnKind kind{.nullable = column.nullable};
  if (IsIntegerType(column.type)) {
    kind.way = ColumnWay::kInteger;
    kind.range = IntegerRangeOf(column.type);
  } else if (column.type == SqlType::kVarchar && column.precision == 0) {
    kind.way = ColumnWay::kAnyText;
  } else if (column.type == SqlType::kDouble) {
    kind.way = ColumnWay::kDouble;
  } else if (column.type == SqlType::kBoolean) {
    kind.way = ColumnWay::kBoolean;
  }
  return kind;
}

// Inline always: it runs for every field.
[[gnu::always_inline]] inline ValueFault CsvParser::ReadField(
    size_t column, absl::string_view text, ValueArena& arena,
    Value& value) const {
  const ColumnKind& kind = kinds_[column];
  bool is_read = false;
  switch (kind.way) {
    case ColumnWay::kAnyText:
      value = Value::String(text);
      is_read = true;
      break;
    case ColumnWay::kInteger:
      is_read = ParseShortInteger(text, kind.range, value);
      break;
    case ColumnWay::kDouble:
      is_read = ParseShortDouble(text, value);
      break;
    case ColumnWay::kBoolean:
      is_read = ReadShortBoolean(text, value);
      break;
    case ColumnWay::kOther:
      break;
  }
  if (is_read) [[likely]] {
    return ValueFault::kNone;
  }
  return ReadOtherField(schema_.columns[column], text, arena, value);
}

ValueFault CsvParser::ReadOtherField(const Column& column,
                                     absl::string_view text, ValueArena& arena,
                                     Value& value) {
  if (column.type != SqlType::kVariant) {
    return ParseValueText(column, text, arena, value);
  }
  if (LineChecker(text).Check().fault != JsonFault::kNone) {
    return ValueFault::kNotJson;
  }
  value = Value::Variant(text);
  return ValueFault::kNone;
}

bool CsvParser::ParsePlainRow(Task& task) {
  if (kinds_.empty() || !layout_.has_value() || task.fragment.is_cut ||
      static_cast<uint64_t>(task.fragment.offset) + scanner_.position() <
          header_end_) {
    return false;
  }
  ValueArena& arena = task.result.value_arena();
  const size_t fields = columns_of_fields_.size();
  const uint32_t* const columns = columns_of_fields_.data();
  const uint32_t key_number = layout_->key.value_or(kNoColumn);
  // Nulls, until they are read.
  Value* const row = task.result.NewRow().data();
  CsvField key;
  bool good = true;
  const auto take = [&](uint32_t number, CsvField field)
      __attribute__((always_inline)) {
    if (number == key_number) [[unlikely]]
      key = field;
    if (number >= fields || columns[number] == kNoColumn) return;
    const uint32_t column = columns[number];
    const absl::string_view text = TextOf(task.text, field, arena);
    if (!field.is_quoted && IsNull(text)) {
      good &= kinds_[column].nullable;
    } else {
      good &= ReadField(column, text, arena, row[column]) == ValueFault::kNone;
    }
  };
  if (scanner_.NextPlain(take)) [[likely]] {
    const CsvRecord& record = scanner_.record();
    const bool is_whole = layout_->fields.has_value() && !config_.flexible
                              ? record.field_count == *layout_->fields
                              : record.field_count >= fields;
    if (good && is_whole && record.begin != record.end &&
        record.end - record.begin <= config_.record_bytes_max &&
        CheckUtf8(task, record)) [[likely]] {
      AddRecord(task, record, key_number == kNoColumn ? nullptr : &key);
      return true;
    }
    scanner_.GoBack();
  }
  task.result.DropRow();
  return false;
}

bool CsvParser::ReadRow(Task& task, const CsvRecord& record) {
  ValueArena& arena = task.result.value_arena();
  const CsvField* const fields = scanner_.fields().data();
  const uint32_t* const places = layout_->columns.data();
  // Nulls, until they are read.
  const std::span<Value> row = task.result.NewRow();
  for (size_t i = 0; i < row.size(); ++i) {
    ValueFault fault = ValueFault::kNull;
    absl::string_view text;
    bool is_null = true;
    if (places[i] < record.field_count) [[likely]] {
      const CsvField& field = fields[places[i]];
      text = TextOf(task.text, field, arena);
      is_null = !field.is_quoted && IsNull(text);
    }
    if (!is_null) [[likely]] {
      fault = ReadField(i, text, arena, row[i]);
    } else if (kinds_[i].nullable) {
      continue;
    }
    if (fault != ValueFault::kNone) [[unlikely]] {
      task.result.DropRow();
      AddBadValue(task, record, i, fault, text);
      return false;
    }
  }
  return true;
}

void CsvParser::AddBadValue(Task& task, const CsvRecord& record, size_t column,
                            ValueFault fault, absl::string_view text) {
  const uint32_t place = layout_->columns[column];
  const uint32_t at =
      place < record.field_count ? scanner_.fields()[place].begin : record.end;
  const Column& of = schema_.columns[column];
  ParseError error = BadValue(of.name, of, fault, text);
  absl::StrAppend(&error.description, ", in ",
                  ShowCsvField(task.text, record, task.Place(), place, at));
  AddError(task, record, std::move(error));
}

void CsvParser::AddRecord(Task& task, const CsvRecord& record,
                          const CsvField* key_field) {
  RecordEntry entry{.value_begin = task.fragment.begin + record.begin,
                    .value_size = record.end - record.begin,
                    .offset = task.fragment.offset + record.begin};
  if (key_field != nullptr) {
    const CsvField& field = *key_field;
    absl::string_view key =
        task.text.substr(field.begin, field.end - field.begin);
    if (field.is_quoted || !IsNull(key)) {
      std::string unescaped;
      entry.key_begin = task.fragment.begin + field.begin;
      if (field.has_escapes) {
        unescaped.resize(key.size());
        unescaped.resize(UnescapeCsv(config_.dialect, key, unescaped.data()));
        key = unescaped;
        entry.key_begin = task.result.AddToArena(key);
        entry.key_in_arena = true;
      }
      entry.key_size = static_cast<uint32_t>(key.size());
      entry.key_hash = KeyHash(key);
      entry.has_key_hash = true;
    }
  }
  task.result.AddRecord(entry);
  task.result.AddLines(LinesOf(task, record));
}

void CsvParser::AddError(Task& task, const CsvRecord& record,
                         ParseError error) {
  error.invalid_text =
      CutInvalidText(task.text.substr(record.begin, record.end - record.begin));
  task.result.AddError(record.begin, std::move(error));
  task.result.AddLines(LinesOf(task, record));
}

bool CsvParser::IsNullToken(absl::string_view text) const {
  return std::find(config_.null_tokens.begin(), config_.null_tokens.end(),
                   text) != config_.null_tokens.end();
}

absl::string_view CsvParser::TextOf(absl::string_view text,
                                    const CsvField& field,
                                    ValueArena& arena) const {
  const absl::string_view content(text.data() + field.begin,
                                  field.end - field.begin);
  if (!field.has_escapes) [[likely]] {
    return content;
  }
  return arena.Write(content.size(), [&](char* to) {
    return UnescapeCsv(config_.dialect, content, to);
  });
}

std::unique_ptr<Splitter> CsvParser::MakeSplitter() const {
  return std::make_unique<CsvSplitter>(config_.dialect,
                                       config_.record_bytes_max);
}

std::unique_ptr<Parser> CsvParser::Fork() const {
  auto fork = std::make_unique<CsvParser>(config_, schema_, layout_);
  fork->header_end_ = header_end_;
  fork->header_problem_ = header_problem_;
  return fork;
}

void CsvParser::SetPosition(uint64_t record_number, uint64_t line) {
  progress_.record_number = record_number;
  progress_.line = line;
}

size_t CsvParser::PrologueBytesMax() const {
  return config_.header ? kPrologueBytesMax : 0;
}

absl::StatusOr<bool> CsvParser::LearnPrologue(absl::string_view beginning,
                                              uint64_t offset) {
  return Learn(beginning, offset, false);
}

absl::StatusOr<bool> CsvParser::Learn(absl::string_view text, uint64_t offset,
                                      bool is_whole) {
  if (!config_.header) return true;
  layout_.reset();
  header_end_ = 0;
  scanner_.SetFieldsMax(1);
  absl::StatusOr<bool> learned = ReadHeader(text, offset, is_whole);
  // For the records, should they come nevertheless.
  header_problem_ = std::string(learned.status().message());
  return learned;
}

absl::StatusOr<bool> CsvParser::ReadHeader(absl::string_view text,
                                           uint64_t offset, bool is_whole) {
  CsvScanner scanner(config_.dialect, config_.record_bytes_max);
  // Room for no more fields than there can be: it is filled each time.
  const auto delimiters = static_cast<size_t>(
      std::count(text.begin(), text.end(), config_.dialect.delimiter));
  scanner.SetFieldsMax(
      static_cast<uint32_t>(std::min<size_t>(kNamesMax, delimiters + 1)));
  const bool has_mark = offset == 0 && absl::StartsWith(text, kByteOrderMark);
  scanner.Begin(text, has_mark ? kByteOrderMark.size() : 0);
  while (!scanner.AtEnd()) {
    const CsvRecord& record = scanner.Next();
    if (record.is_comment || record.is_blank) continue;
    // Its line end may still come.
    if (record.next == record.end && !is_whole) break;
    if (record.end - record.begin > config_.record_bytes_max) {
      return MakeError(Reason::INVALID_CONFIG,
                       absl::StrCat("read a CSV header: it is longer than ",
                                    config_.record_bytes_max,
                                    " bytes; raise limits.record_bytes_max"));
    }
    if (record.fault != CsvFault::kNone || record.field_count > kNamesMax) {
      return MakeError(
          Reason::INVALID_CONFIG,
          absl::StrCat("read a CSV header: ",
                       record.field_count > kNamesMax
                           ? "it has too many fields"
                           : BadCsv(text, record, {.line = 1},
                                    config_.record_bytes_max, false)
                                 .description));
    }
    std::vector<std::string> names;
    for (const CsvField& field : scanner.fields()) {
      std::string name(text.substr(field.begin, field.end - field.begin));
      if (field.has_escapes) {
        const std::string escaped = name;
        name.resize(UnescapeCsv(config_.dialect, escaped, name.data()));
      }
      names.push_back(std::move(name));
    }
    ASSIGN_OR_RETURN(CsvLayout layout, LayoutByNames(config_, schema_, names));
    SetLayout(std::move(layout));
    header_end_ = offset + record.next;
    return true;
  }
  if (text.size() < kPrologueBytesMax) return false;
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("read a CSV header: none ends within the first ",
                   kPrologueBytesMax,
                   " bytes; see delimiter and quote, or "
                   "whether there is one (header: false)"));
}

namespace {

absl::StatusOr<const CsvConfig*> CheckConfig(const ComponentConfig& config) {
  ASSIGN_OR_RETURN(const CsvConfig* const csv,
                   CheckFormatConfig<CsvConfig>(config, "csv"));
  const std::optional<CsvDialectProblem> wrong = CheckCsvDialect(csv->dialect);
  if (wrong.has_value()) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("format csv: ", wrong->field, " ", wrong->problem),
        {{"field", std::string(wrong->field)}});
  }
  if (csv->key.has_value() && csv->key_column.has_value()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format csv: key and key_column name one field; give one "
                     "of them",
                     {{"field", "key_column"}});
  }
  return csv;
}

absl::Status CheckColumns(const Schema& schema) {
  for (const Column& column : schema.columns) {
    if (column.children.empty()) continue;
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("format csv: column ", column.name, " is ",
                     ColumnTypeText(column),
                     ", but a field is one value; declare it variant to keep "
                     "JSON, or varchar"),
        {{"field", "schema"}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Parser>> MakeCsvParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const CsvConfig* const csv, CheckConfig(config));
  RETURN_IF_ERROR(CheckColumns(schema));
  std::optional<CsvLayout> layout;
  if (!csv->header) {
    ASSIGN_OR_RETURN(layout, LayoutByOrder(*csv, schema));
  }
  return std::make_unique<CsvParser>(*csv, schema, std::move(layout));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeCsvEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const CsvConfig* const csv, CheckConfig(config));
  RETURN_IF_ERROR(CheckColumns(schema));
  if (frames == FrameKind::kMessages) return MakeTextEncoder(frames);
  return std::make_unique<CsvEncoder>(*csv, schema.columns.size());
}

}  // namespace penstock::core
