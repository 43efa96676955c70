#include "tests/core/format/parse_text.h"

#include "core/record/block.h"
#include "tests/core/format/row_text.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace penstock::core {
namespace {

auto Fields(const ParseError& error) {
  return std::tie(error.tag, error.description, error.record_number, error.line,
                  error.byte_offset, error.field, error.invalid_text,
                  error.suggestion);
}

// Parses pieces and adds up what comes of them.
class Feeder {
 public:
  explicit Feeder(Parser& parser) : parser_(&parser) {}

  // As after a restart: `parser` is told how far the one before it came.
  void GoOnWith(Parser& parser) {
    parser_ = &parser;
    parser_->SetPosition(parsed_.record_count + 1, parsed_.line_count + 1);
  }

  void Feed(absl::string_view piece, int64_t offset, bool is_last) {
    Feed(piece, offset, is_last, std::nullopt);
  }
  // `rest`: what a cut record has behind `piece`.
  void Feed(absl::string_view piece, int64_t offset, bool is_last,
            std::optional<absl::string_view> rest) {
    // The block is as large as the piece, so that a sanitizer sees every step
    // behind its end; the piece does not begin where the block does.
    constexpr uint32_t kBegin = 5;
    auto block = std::make_shared<Block>(kBegin + piece.size());
    std::memset(block->data(), '#', kBegin);
    if (!piece.empty()) {
      std::memcpy(block->data() + kBegin, piece.data(), piece.size());
    }
    Fragment fragment{.block = std::move(block),
                      .begin = kBegin,
                      .size = static_cast<uint32_t>(piece.size()),
                      .partition = 0,
                      .offset = offset,
                      .is_last = is_last,
                      .is_cut = rest.has_value()};
    if (rest.has_value()) {
      fragment.cut_lines =
          static_cast<uint64_t>(std::count(rest->begin(), rest->end(), '\n'));
    }
    const size_t block_bytes = fragment.block->capacity();
    while (fragment.size > 0) {
      const ParseResult result = parser_->Parse(fragment);
      Take(result);
      uint64_t bytes = 0;
      for (const ParseError& error : result.errors) {
        bytes += error.MemoryBytes();
      }
      if (!result.batch.IsEmpty()) {
        bytes += result.batch.MemoryBytes() - block_bytes;
      }
      result_bytes_.push_back(bytes);
      fragment.RemovePrefix(result.bytes);
    }
  }

  const std::vector<uint64_t>& result_bytes() const { return result_bytes_; }
  ParsedText Finish() {
    parsed_.hash = hasher_.Finish();
    return std::move(parsed_);
  }

 private:
  void Take(const ParseResult& result) {
    for (size_t i = 0; i < result.batch.record_count(); ++i) {
      const Record record = result.batch.At(i);
      parsed_.records.push_back(OwnedRecord::Of(record));
      parsed_.key_hashes.push_back(
          record.meta.has_key_hash ? record.meta.key_hash : 0);
      parsed_.rows.push_back(RowText(record.row));
    }
    result.batch.HashInto(hasher_);
    parsed_.errors.insert(parsed_.errors.end(), result.errors.begin(),
                          result.errors.end());
    parsed_.record_count += result.records;
    parsed_.line_count += result.lines;
    parsed_.passed_count += result.passed;
  }

  Parser* parser_;
  StepHasher hasher_;
  ParsedText parsed_;
  std::vector<uint64_t> result_bytes_;
};

}  // namespace

bool operator==(const ParseError& a, const ParseError& b) {
  return Fields(a) == Fields(b);
}

void PrintTo(const ParseError& error, std::ostream* out) {
  *out << error.tag << " record " << error.record_number << " line "
       << error.line << " byte " << error.byte_offset << " field "
       << error.field.value_or("(none)") << ": " << error.description << " ["
       << error.invalid_text << "] " << error.suggestion;
}

std::vector<std::string> ParsedText::values() const {
  std::vector<std::string> all;
  for (const OwnedRecord& record : records) all.push_back(*record.value);
  return all;
}

std::vector<std::string> ParsedText::keys() const {
  std::vector<std::string> all;
  for (const OwnedRecord& record : records) {
    all.push_back(record.key.value_or("(none)"));
  }
  return all;
}

std::vector<std::string> ParsedText::tags() const {
  std::vector<std::string> all;
  for (const ParseError& error : errors) all.push_back(error.tag);
  return all;
}

void PrintTo(const ParsedText& parsed, std::ostream* out) {
  *out << parsed.record_count << " records, " << parsed.line_count
       << " lines, good: " << absl::StrJoin(parsed.values(), " | ")
       << ", rows: " << absl::StrJoin(parsed.rows, " ; ");
  for (const ParseError& error : parsed.errors) {
    *out << "\n  ";
    PrintTo(error, out);
  }
}

void LearnBeginning(Parser& parser, absl::string_view text) {
  // Where that fails the records say so, too.
  const auto learned =
      parser.LearnPrologue(text.substr(0, parser.PrologueBytesMax()), 0);
  (void)learned;
}

ParsedText ParseInReads(Parser& parser, absl::string_view text,
                        size_t read_bytes, int64_t offset) {
  if (offset == 0) LearnBeginning(parser, text);
  const std::unique_ptr<Splitter> splitter = parser.MakeSplitter();
  const size_t cut_at = parser.RecordBytesMax() + Parser::kFramingBytesMax;
  Feeder feeder(parser);
  size_t at = 0;
  for (size_t size = read_bytes; at < text.size(); size = read_bytes) {
    std::optional<size_t> boundary;
    absl::string_view piece;
    while (true) {
      piece = text.substr(at, size);
      splitter->Clear();
      boundary = splitter->Input(piece);
      const bool at_end = at + piece.size() == text.size();
      if (boundary.has_value() || at_end || size >= cut_at) break;
      size = std::min(size * 2, std::max(cut_at, size));
    }
    const auto piece_offset = offset + static_cast<int64_t>(at);
    if (boundary.has_value()) {
      feeder.Feed(piece.substr(0, *boundary), piece_offset, false);
      at += *boundary;
    } else if (at + piece.size() == text.size()) {
      feeder.Feed(piece, piece_offset, true);
      at = text.size();
    } else {
      // The first boundary ends the record.
      size_t end = at + piece.size();
      for (; end < text.size() && !boundary.has_value(); ++end) {
        boundary = splitter->Input(text.substr(end, 1));
      }
      if (boundary == size_t{0}) --end;
      feeder.Feed(piece, piece_offset, false,
                  text.substr(at + piece.size(), end - at - piece.size()));
      at = end;
    }
  }
  return feeder.Finish();
}

ParsedText ParseWhole(Parser& parser, absl::string_view text) {
  LearnBeginning(parser, text);
  Feeder feeder(parser);
  feeder.Feed(text, 0, true);
  return feeder.Finish();
}

ParsedText ParseResumed(Parser& parser, absl::string_view text, size_t split) {
  LearnBeginning(parser, text);
  const size_t first =
      parser.MakeSplitter()->Input(text.substr(0, split)).value_or(0);
  Feeder feeder(parser);
  if (first > 0) feeder.Feed(text.substr(0, first), 0, false);
  const std::unique_ptr<Parser> other = parser.Fork();
  feeder.GoOnWith(*other);
  feeder.Feed(text.substr(first), static_cast<int64_t>(first), true);
  return feeder.Finish();
}

std::vector<uint64_t> ResultBytes(Parser& parser, absl::string_view text) {
  LearnBeginning(parser, text);
  Feeder feeder(parser);
  feeder.Feed(text, 0, true);
  return feeder.result_bytes();
}

ParsedText ParseSplit(Parser& parser, absl::string_view text,
                      const std::vector<size_t>& splits) {
  LearnBeginning(parser, text);
  const std::unique_ptr<Splitter> splitter = parser.MakeSplitter();
  Feeder feeder(parser);
  // Where the next piece begins, and how much the splitter has seen.
  size_t begin = 0;
  size_t seen = 0;
  for (const size_t split : splits) {
    const std::optional<size_t> boundary =
        splitter->Input(text.substr(seen, split - seen));
    if (boundary.has_value()) {
      const size_t end = seen + *boundary;
      feeder.Feed(text.substr(begin, end - begin), static_cast<int64_t>(begin),
                  false);
      begin = end;
    }
    seen = split;
  }
  feeder.Feed(text.substr(begin), static_cast<int64_t>(begin), true);
  return feeder.Finish();
}

}  // namespace penstock::core
