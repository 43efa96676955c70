#include "client/cli/text_table.h"

#include "core/base/check.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock::client {
namespace {

// Begins with a digit and has no letters but a unit: "12", "1.23 M", "-".
bool IsNumber(absl::string_view cell) {
  return cell == "-" ||
         (!cell.empty() &&
          absl::ascii_isdigit(static_cast<unsigned char>(cell.front())) != 0 &&
          cell.size() <= 12);
}

// Cells quote what others chose, names of files among it: that must neither
// steer the terminal nor begin a row.
std::string Printable(absl::string_view cell) {
  std::string text;
  for (size_t i = 0; i < cell.size(); ++i) {
    const auto byte = static_cast<unsigned char>(cell[i]);
    // U+0080 to U+009F, control characters in two bytes.
    const bool is_c1 = byte == 0xc2 && i + 1 < cell.size() &&
                       static_cast<unsigned char>(cell[i + 1]) < 0xa0;
    if (byte == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || is_c1) {
      text += '?';
      if (is_c1) ++i;
    } else {
      text += cell[i];
    }
  }
  return text;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void TextTable::Add(std::vector<std::string> row) {
  CHECK_EQ(row.size(), rows_.front().size());
  for (std::string& cell : row) cell = Printable(cell);
  rows_.push_back(std::move(row));
}

std::string TextTable::ToString() const {
  const size_t columns = rows_.front().size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (size_t column = 0; column < columns; ++column) {
      const std::string& cell = rows_[i][column];
      widths[column] = std::max(widths[column], cell.size());
      if (i > 0 && !IsNumber(cell)) right[column] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t column = 0; column < columns; ++column) {
      const std::string fill(widths[column] - row[column].size(), ' ');
      absl::StrAppend(&line, column == 0 ? "" : "  ",
                      right[column] ? fill + row[column] : row[column] + fill);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string ShortNumber(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.*f%s", unit == 0 ? 0 : 2, value, kUnits[unit]);
}

std::string ShortDuration(absl::Duration duration) {
  if (duration < absl::Seconds(1)) {
    return absl::FormatDuration(absl::Floor(duration, absl::Milliseconds(1)));
  }
  return absl::FormatDuration(absl::Floor(duration, absl::Seconds(1)));
}

std::string Wrapped(absl::string_view text, size_t width, size_t indent) {
  std::string wrapped;
  std::string line;
  const auto put = [&] {
    if (line.empty()) return;
    absl::StrAppend(&wrapped, std::string(indent, ' '), line, "\n");
    line.clear();
  };
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) put();
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  put();
  return wrapped;
}

}  // namespace penstock::client
