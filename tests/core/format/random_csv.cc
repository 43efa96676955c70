#include "tests/core/format/random_csv.h"

#include <absl/strings/string_view.h>

#include <array>

namespace penstock::core {
namespace {

// Few, so that what matters comes often.
std::string RandomPiece(Random& random, const CsvDialect& dialect) {
  constexpr std::array<absl::string_view, 12> kPieces = {
      "a", "bc",     "12",     "-7.5", " ", "\t",
      "'", "\u00e9", "\u20ac", "\xff", "#", "\\"};
  if (random.Uniform(40) == 0) return "\xef\xbb\xbf";
  if (random.Uniform(8) == 0) return std::string(1, dialect.delimiter);
  return std::string(kPieces[random.Uniform(kPieces.size())]);
}

std::string Plain(Random& random, const CsvDialect& dialect) {
  std::string text;
  for (uint64_t left = random.Uniform(4); left > 0; --left) {
    const std::string piece = RandomPiece(random, dialect);
    if (piece[0] != dialect.delimiter) text += piece;
  }
  return text;
}

std::string Quoted(Random& random, const CsvDialect& dialect) {
  const std::string quote(1, *dialect.quote);
  const bool backslash = dialect.escape == CsvEscape::kBackslash;
  std::string text = quote;
  for (uint64_t left = random.Uniform(6); left > 0; --left) {
    switch (random.Uniform(6)) {
      case 0:
        text += backslash ? "\\" + quote : quote + quote;
        break;
      case 1:
        text += "\n";
        break;
      case 2:
        text += "\r\n";
        break;
      case 3:
        text += backslash ? "\\\\" : "\\";
        break;
      default: {
        const std::string piece = RandomPiece(random, dialect);
        if (piece != "\\") text += piece;
      }
    }
  }
  return text + quote;
}

std::string Faulty(Random& random, const CsvDialect& dialect) {
  const std::string quote(1, *dialect.quote);
  switch (random.Uniform(5)) {
    case 0:
      return "a" + quote + "b";
    case 1:
      return Quoted(random, dialect) + "x" + quote;
    case 2:
      return "a\rb";
    case 3:
      return quote + "\\x" + quote;
    default:
      return quote;
  }
}

}  // namespace

std::string RandomCsv(Random& random, size_t lines, const CsvDialect& dialect) {
  std::string text;
  if (random.Uniform(4) == 0) text += "\xef\xbb\xbf";
  for (size_t i = 0; i < lines; ++i) {
    const uint64_t kind = random.Uniform(12);
    if (kind == 1 && dialect.comment.has_value()) {
      text += *dialect.comment + Plain(random, dialect) + "\"it's, \"x";
    } else if (kind > 1) {
      const uint64_t fields = random.Uniform(8) == 0 ? random.Uniform(5) : 3;
      for (uint64_t field = 0; field < fields; ++field) {
        if (field > 0) text += dialect.delimiter;
        if (random.Uniform(8) == 0) text += random.Bernoulli(0.5) ? " " : "\t";
        const uint64_t form = random.Uniform(dialect.quote ? 20 : 10);
        text += form < 10   ? Plain(random, dialect)
                : form < 19 ? Quoted(random, dialect)
                            : Faulty(random, dialect);
        if (random.Uniform(8) == 0) text += " ";
      }
    }
    if (random.Uniform(4) == 0) text += '\r';
    if (i + 1 < lines || random.Bernoulli(0.5)) text += '\n';
  }
  return text;
}

}  // namespace penstock::core
