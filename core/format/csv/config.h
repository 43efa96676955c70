// What can be set of the format "csv".
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// How a quote is written inside of quotes.
enum class CsvEscape : uint8_t {
  kDoubled,    // twice: RFC 4180
  kBackslash,  // behind a backslash, which is written \\ itself
};

// Which bytes mean something. Each is one of ASCII; they differ from each other
// and from CR and LF.
struct CsvDialect {
  char delimiter = ',';
  // nullopt: there are no quotes, and every byte means itself.
  std::optional<char> quote = '"';
  CsvEscape escape = CsvEscape::kDoubled;
  // A line that begins with it is no record.
  std::optional<char> comment;
  // Blanks (space and tab) around a field are not of it.
  bool trim = false;

  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

// Whether `byte` may stand around a field and is not of it.
constexpr bool IsCsvBlank(const CsvDialect& dialect, char byte) {
  return dialect.trim && (byte == ' ' || byte == '\t') &&
         byte != dialect.delimiter;
}

// What is wrong with a dialect, and in which of its fields.
struct CsvDialectProblem {
  absl::string_view field;
  absl::string_view problem;
};

// nullopt: it is good.
constexpr std::optional<CsvDialectProblem> CheckCsvDialect(
    const CsvDialect& dialect) {
  const auto is_usable = [](char byte) {
    return byte != '\n' && byte != '\r' &&
           static_cast<unsigned char>(byte) < 0x80;
  };
  constexpr absl::string_view kUnusable = "must be ASCII, not CR or LF";
  if (!is_usable(dialect.delimiter)) return {{"delimiter", kUnusable}};
  if (dialect.quote.has_value()) {
    if (!is_usable(*dialect.quote)) return {{"quote", kUnusable}};
    if (dialect.quote == dialect.delimiter) {
      return {{"quote", "is the delimiter, too"}};
    }
    if (dialect.escape == CsvEscape::kBackslash &&
        (dialect.quote == '\\' || dialect.delimiter == '\\')) {
      return {{"escape", "is the delimiter or the quote, too"}};
    }
  } else if (dialect.escape == CsvEscape::kBackslash) {
    return {{"escape", "means nothing where there are no quotes"}};
  }
  if (dialect.comment.has_value()) {
    if (!is_usable(*dialect.comment)) return {{"comment", kUnusable}};
    if (dialect.comment == dialect.delimiter ||
        dialect.comment == dialect.quote ||
        IsCsvBlank(dialect, *dialect.comment)) {
      return {{"comment", "is delimiter, quote or blank, too"}};
    }
  }
  if (dialect.trim && dialect.quote.has_value() &&
      IsCsvBlank(dialect, *dialect.quote)) {
    return {{"quote", "is a blank that is trimmed"}};
  }
  return std::nullopt;
}

struct CsvConfig final : ComponentConfig {
  CsvDialect dialect;
  // The first record names the fields and is none.
  bool header = false;
  // Records may have other numbers of fields than there are names or columns.
  bool flexible = false;
  // An empty line is a record with one empty field, not nothing.
  bool keep_blank_lines = false;
  // A field without quotes that is empty is null.
  bool empty_is_null = true;
  // So is one without quotes that is one of these.
  std::vector<std::string> null_tokens;
  // Where a record's key is: the field of this name, or of this number, from 1.
  // At most one of them.
  std::optional<std::string> key;
  std::optional<uint32_t> key_column;
  // Longest record in bytes, line end not counted. From 1.
  size_t record_bytes_max = size_t{16} << 20;

  absl::string_view type() const override { return "csv"; }
};

}  // namespace penstock::core
