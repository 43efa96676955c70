#include "tests/core/format/csv/plain_reader.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <optional>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kMark = "\xef\xbb\xbf";

class PlainReader {
 public:
  PlainReader(absl::string_view text, const CsvDialect& dialect,
              size_t record_bytes_max)
      : text_(text), dialect_(dialect), record_bytes_max_(record_bytes_max) {}

  std::vector<PlainRecord> Read() {
    while (at_ < text_.size()) ReadRecord();
    return std::move(records_);
  }

 private:
  bool Is(size_t at, std::optional<char> byte) const {
    return byte.has_value() && at < text_.size() && text_[at] == *byte;
  }
  bool IsBlank(size_t at) const {
    return dialect_.trim && text_[at] != dialect_.delimiter &&
           (Is(at, ' ') || Is(at, '\t'));
  }
  bool IsLineEnd(size_t at) const {
    return at == text_.size() || Is(at, '\n') ||
           (Is(at, '\r') && (at + 1 == text_.size() || Is(at + 1, '\n')));
  }

  void ReadRecord() {
    const size_t start = at_;
    PlainRecord record{.begin = start, .line = line_};
    if (at_ == 0 && absl::StartsWith(text_, kMark)) record.begin = at_ = 3;
    const size_t begin = record.begin;
    while (absl::StartsWith(text_.substr(at_), kMark)) at_ += 3;
    if (Is(at_, dialect_.comment)) {
      record.is_good = false;
      while (!(at_ == text_.size() || Is(at_, '\n'))) ++at_;
      Finish(record, /*is_kept=*/at_ > begin && text_[begin] == kMark[0]);
      return;
    }
    is_good_ = true;
    record.cells.push_back(ReadCell(begin, start));
    while (Is(at_, dialect_.delimiter)) {
      ++at_;
      record.cells.push_back(ReadCell(at_, start));
    }
    record.is_good = is_good_;
    const bool is_blank = record.is_good && record.cells.size() == 1 &&
                          record.cells[0] == PlainCell{};
    Finish(record, !is_blank || at_ - begin > record_bytes_max_);
  }

  void Finish(PlainRecord& record, bool is_kept) {
    record.value = std::string(text_.substr(record.begin, at_ - record.begin));
    if (record.value.size() > record_bytes_max_) record.is_good = false;
    if (Is(at_, '\r')) ++at_;
    if (Is(at_, '\n')) {
      ++at_;
      ++line_;
    }
    if (is_kept) records_.push_back(std::move(record));
  }

  // From at_ on, up to a delimiter or line end. `begin`: where its marks begin.
  PlainCell ReadCell(size_t begin, size_t start) {
    size_t at = at_;
    while (at < text_.size() && IsBlank(at)) ++at;
    PlainCell cell;
    if (Is(at, dialect_.quote)) {
      if (begin != at_) is_good_ = false;
      at_ = at + 1;
      cell.is_quoted = true;
      if (!ReadQuoted(start, cell.text)) {
        is_good_ = false;
        if (IsLineEnd(at_)) return cell;
      }
      while (at_ < text_.size() && IsBlank(at_)) ++at_;
      if (!IsLineEnd(at_) && !Is(at_, dialect_.delimiter)) is_good_ = false;
      while (!IsLineEnd(at_) && !Is(at_, dialect_.delimiter)) ++at_;
      return cell;
    }
    at_ = begin;
    for (; !IsLineEnd(at_) && !Is(at_, dialect_.delimiter); ++at_) {
      if (Is(at_, dialect_.quote) || Is(at_, '\r')) is_good_ = false;
      cell.text += text_[at_];
    }
    if (dialect_.trim) {
      const std::string blanks = dialect_.delimiter == '\t'  ? " "
                                 : dialect_.delimiter == ' ' ? "\t"
                                                             : " \t";
      const size_t first = cell.text.find_first_not_of(blanks);
      cell.text =
          first == std::string::npos
              ? ""
              : cell.text.substr(
                    first, cell.text.find_last_not_of(blanks) - first + 1);
    }
    return cell;
  }

  // Behind the opening quote. False: it is not well; at_ is behind the closing
  // one, or before the LF or the end of the text where it has to stop.
  bool ReadQuoted(size_t start, std::string& to) {
    bool good = true;
    while (at_ < text_.size()) {
      if (Is(at_, '\n')) {
        if (at_ - start >= record_bytes_max_ + 16) return false;
        ++line_;
      }
      if (dialect_.escape == CsvEscape::kBackslash && Is(at_, '\\')) {
        ++at_;
        if (at_ == text_.size()) return false;
        if (Is(at_, '\n')) {
          good = false;
          continue;
        }
        if (!Is(at_, '\\') && !Is(at_, dialect_.quote)) good = false;
        to += text_[at_++];
        continue;
      }
      if (Is(at_, dialect_.quote)) {
        ++at_;
        const bool is_doubled =
            dialect_.escape == CsvEscape::kDoubled && Is(at_, dialect_.quote);
        if (!is_doubled) return good;
      }
      to += text_[at_++];
    }
    return false;
  }

  const absl::string_view text_;
  const CsvDialect& dialect_;
  const size_t record_bytes_max_;
  size_t at_ = 0;
  uint64_t line_ = 1;
  bool is_good_ = true;
  std::vector<PlainRecord> records_;
};

}  // namespace

std::vector<PlainRecord> ReadPlainCsv(absl::string_view text,
                                      const CsvDialect& dialect,
                                      size_t record_bytes_max) {
  return PlainReader(text, dialect, record_bytes_max).Read();
}

}  // namespace penstock::core
