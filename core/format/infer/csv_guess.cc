#include "core/format/infer/csv_guess.h"

#include "core/base/json_text.h"
#include "core/format/bad_record.h"
#include "core/format/csv/scanner.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <span>

namespace penstock::core {
namespace {

constexpr absl::string_view kMark = "\xef\xbb\xbf";
constexpr absl::string_view kNullToken = "\\N";
// Those that are least likely to stand in text as often in every line, first.
constexpr absl::string_view kDelimiters = "\t;|,";
constexpr size_t kRecordBytesMax = size_t{16} << 20;

void Begin(CsvScanner& scanner, absl::string_view text) {
  scanner.Begin(text, absl::StartsWith(text, kMark) ? kMark.size() : 0);
}

bool IsNoRecord(const CsvRecord& record) {
  return record.is_comment || record.is_blank;
}

struct Tally {
  uint64_t records = 0;
  uint64_t bad = 0;
  uint32_t fields = 1;
};

// How well a dialect goes with the text.
Tally Try(const CsvDialect& dialect, absl::string_view text) {
  CsvScanner scanner(dialect, kRecordBytesMax);
  absl::flat_hash_map<uint32_t, uint64_t> widths;
  Tally tally;
  for (Begin(scanner, text); !scanner.AtEnd();) {
    const CsvRecord& record = scanner.Next();
    if (IsNoRecord(record)) continue;
    ++tally.records;
    if (record.fault == CsvFault::kNone) ++widths[record.field_count];
  }
  uint64_t most = 0;
  for (const auto& [fields, count] : widths) {
    if (count < most || (count == most && fields < tally.fields)) continue;
    most = count;
    tally.fields = fields;
  }
  tally.bad = tally.records - most;
  return tally;
}

// Ways to write what stands between `delimiter`s, the plainest first; only
// those of which the text has a sign.
std::vector<CsvDialect> DialectsWith(char delimiter, absl::string_view text) {
  std::vector<CsvDialect> dialects = {{.delimiter = delimiter}};
  const auto add = [&](auto change) {
    for (size_t i = 0, size = dialects.size(); i < size; ++i) {
      CsvDialect dialect = dialects[i];
      change(dialect);
      if (!CheckCsvDialect(dialect).has_value()) dialects.push_back(dialect);
    }
  };
  if (absl::StartsWith(text, "#") || absl::StrContains(text, "\n#")) {
    add([](CsvDialect& dialect) { dialect.comment = '#'; });
  }
  if (absl::StrContains(text, std::string{delimiter, ' '})) {
    add([](CsvDialect& dialect) { dialect.trim = true; });
  }
  if (absl::StrContains(text, "\\\"")) {
    add([](CsvDialect& dialect) { dialect.escape = CsvEscape::kBackslash; });
  }
  if (absl::StrContains(text, '"')) {
    add([](CsvDialect& dialect) {
      dialect.escape = CsvEscape::kDoubled;
      dialect.quote.reset();
    });
  }
  return dialects;
}

// Records of a text, their fields and what they are.
class Table {
 public:
  Table(absl::string_view text, const CsvDialectGuess& guess, CsvGuess& to)
      : text_(text),
        dialect_(guess.dialect),
        fields_(guess.fields),
        to_(to),
        columns_(fields_) {}

  // Looks at all records but the first, of which it keeps the fields.
  void Observe(uint64_t records_max, GuessRules& rules) {
    CsvScanner scanner(dialect_, kRecordBytesMax);
    scanner.SetFieldsMax(fields_);
    for (Begin(scanner, text_); !scanner.AtEnd();) {
      const CsvRecord& record = scanner.Next();
      if (IsNoRecord(record)) continue;
      if (to_.records == records_max) {
        rules.is_whole = false;
        break;
      }
      progress_.record = to_.records++;
      if (!Read(record, scanner.fields())) {
        ++to_.bad;
      } else if (to_.records == 1) {
        first_ = cells_;
      } else {
        ObserveCells(cells_);
      }
    }
  }

  // Whether the first record names the fields, by what it and the others are.
  bool FirstIsHeader(GuessRules& rules) const {
    if (first_.empty()) return false;
    const bool is_text = absl::c_all_of(first_, [](const auto& cell) {
      return !cell.has_value() || ClassifyField(*cell).of == ValueClass::kText;
    });
    if (!is_text || absl::c_all_of(first_, [](const auto& cell) {
          return !cell.has_value();
        })) {
      return false;
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (first_[i].has_value() && columns_[i].count() > 0 &&
          columns_[i].CountOf(ValueClass::kText) == 0) {
        return true;
      }
    }
    absl::flat_hash_set<std::string> names;
    const bool are_names = absl::c_all_of(first_, [&](const auto& cell) {
      return cell.has_value() && IsIdentifier(*cell) &&
             names.insert(*cell).second;
    });
    rules.notes.push_back(absl::StrCat(
        "header: all is text, so that the first record may be a header or "
        "not; by its words it is taken for ",
        are_names ? "one; say --header no" : "none; say --header yes",
        " if that is wrong"));
    return are_names;
  }

  void TakeHeader(GuessRules& rules) {
    to_.config.header = true;
    --to_.records;
    absl::flat_hash_map<std::string, int> seen;
    for (const auto& cell : first_) ++seen[cell.value_or("")];
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string name = first_[i].value_or("");
      if (IsColumnName(name) && seen[name] == 1) {
        AddColumn(i, name, rules);
        continue;
      }
      rules.notes.push_back(
          absl::StrCat("field ", i + 1, ": left out, for '", ShowText(name),
                       "' is no name of a column, or of two"));
    }
  }

  void TakeNumbers(GuessRules& rules) {
    progress_.record = 0;
    rules.records_before = 1;
    if (!first_.empty()) ObserveCells(first_);
    for (size_t i = 0; i < columns_.size(); ++i) {
      AddColumn(i, absl::StrCat("c", i + 1), rules);
    }
  }

  bool has_null_token() const { return has_null_token_; }

 private:
  using Cells = std::vector<std::optional<std::string>>;

  static bool IsIdentifier(absl::string_view text) {
    return !text.empty() && !absl::ascii_isdigit(text[0]) &&
           absl::c_all_of(text, [](char byte) {
             return absl::ascii_isalnum(byte) || byte == '_';
           });
  }

  // The record's fields to cells_; false: it is a bad one.
  bool Read(const CsvRecord& record, std::span<const CsvField> fields) {
    if (record.fault != CsvFault::kNone || record.field_count != fields_ ||
        record.end - record.begin > kRecordBytesMax ||
        !IsUtf8(text_.substr(record.begin, record.end - record.begin))) {
      return false;
    }
    cells_.assign(fields_, std::nullopt);
    for (size_t i = 0; i < fields_; ++i) {
      const CsvField& field = fields[i];
      std::string text(text_.substr(field.begin, field.end - field.begin));
      if (!field.is_quoted && text == kNullToken) has_null_token_ = true;
      if (!field.is_quoted && (text.empty() || text == kNullToken)) continue;
      if (field.has_escapes) {
        text.resize(UnescapeCsv(dialect_, std::string(text), text.data()));
      }
      cells_[i] = std::move(text);
    }
    return true;
  }

  void ObserveCells(const Cells& cells) {
    for (size_t i = 0; i < fields_; ++i) {
      if (cells[i].has_value()) {
        columns_[i].Add(ClassifyField(*cells[i]), *cells[i], progress_);
      } else {
        columns_[i].AddNull();
      }
    }
  }

  void AddColumn(size_t field, std::string name, GuessRules& rules) {
    if (rules.columns_left == 0) {
      rules.notes.push_back(
          absl::StrCat(name, ": left out, a schema has no more columns"));
      return;
    }
    Column column = *columns_[field].Build(name, false, 0, rules);
    column.name = std::move(name);
    to_.schema.columns.push_back(std::move(column));
  }

  const absl::string_view text_;
  const CsvDialect dialect_;
  const uint32_t fields_;
  CsvGuess& to_;
  std::vector<ValueGuess> columns_;
  GuessProgress progress_;
  // Null: nullopt.
  Cells cells_;
  Cells first_;
  bool has_null_token_ = false;
};

}  // namespace

CsvDialectGuess GuessCsvDialect(absl::string_view text,
                                std::optional<char> delimiter) {
  const absl::string_view delimiters =
      delimiter.has_value() ? absl::string_view(&*delimiter, 1) : kDelimiters;
  CsvDialectGuess best;
  Tally best_tally;
  for (const char each : delimiters) {
    Tally tally = {.bad = UINT64_MAX};
    CsvDialect dialect;
    for (const CsvDialect& tried : DialectsWith(each, text)) {
      const Tally now = Try(tried, text);
      if (now.bad >= tally.bad) continue;
      tally = now;
      dialect = tried;
    }
    // A text without the delimiter is good by it, too: one field a record.
    const bool is_clear = tally.fields > 1 && tally.bad * 10 <= tally.records;
    if (best.is_clear && is_clear && tally.bad == best_tally.bad) {
      best.rivals.push_back(each);
    } else if (!best.is_clear || (is_clear && tally.bad < best_tally.bad)) {
      // Where none is clear it is the last one, the comma.
      best = {.dialect = dialect, .fields = tally.fields, .is_clear = is_clear};
      best_tally = tally;
    }
  }
  return best;
}

CsvGuess GuessCsv(absl::string_view text, const CsvDialectGuess& dialect,
                  std::optional<bool> header, uint64_t records_max,
                  GuessRules& rules) {
  CsvGuess guess;
  guess.config.dialect = dialect.dialect;
  for (const char rival : dialect.rivals) {
    rules.notes.push_back(absl::StrCat(
        "delimiter: '", ShowText(std::string(1, dialect.dialect.delimiter)),
        "'; '", ShowText(std::string(1, rival)),
        "' parts the records as evenly: say --delimiter if that is meant"));
  }
  Table table(text, dialect, guess);
  table.Observe(records_max, rules);
  const bool has_header =
      header.has_value() ? *header : table.FirstIsHeader(rules);
  if (has_header && guess.records > 0) {
    table.TakeHeader(rules);
  } else {
    table.TakeNumbers(rules);
  }
  if (table.has_null_token()) {
    guess.config.null_tokens.push_back(std::string(kNullToken));
  }
  return guess;
}

}  // namespace penstock::core
