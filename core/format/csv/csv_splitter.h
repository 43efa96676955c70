// Where records of CSV end.
#pragma once

#include "core/contract/parser.h"
#include "core/format/csv/config.h"
#include "core/format/csv/special_bytes.h"
#include "core/format/line_splitter.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// A record ends at an LF outside of quotes, good or bad: what is wrong with it
// moves no end. The rules, which CsvScanner has as well:
//
//   a quote opens          where a field begins; elsewhere it is a byte
//   it closes              at the next quote, which behind a backslash or,
//                          doubled, before another one is none
//   behind a closing quote nothing opens before the next delimiter
//   a comment              has no quotes
//   a byte order mark      before all that is as if it were not there
//   too long               behind CsvOpenBytesMax() bytes every LF is an end,
//   in
//                          quotes or not: a quote that is never closed must
//                          not swallow what is left of the input
//
// Keeps a few bytes of state over any cuts, even inside of a character pair.
class CsvSplitter final : public Splitter {
 public:
  CsvSplitter(const CsvDialect& dialect, size_t record_bytes_max);

  std::optional<size_t> Input(absl::string_view data) override;
  void Clear() override;
  std::optional<size_t> PassSeam(char before,
                                 absl::string_view behind) const override {
    return LineSplitter().PassSeam(before, behind);
  }

 private:
  enum class State : uint8_t {
    // At the first byte of a record, or behind one or two of a mark.
    kBegin,
    kMark1,
    kMark2,
    // Where a field begins, with nothing but blanks behind that if they are
    // trimmed.
    kField,
    // In a field, outside of quotes, or in them.
    kOutside,
    kInside,
    // Behind a backslash in quotes.
    kEscaped,
    // Behind a quote that closes unless another one follows.
    kClosing,
    kComment,
  };

  // Whether a field begins at data[at], where it was state_ at data[since].
  bool FieldBeginsAt(absl::string_view data, size_t since, size_t at) const;
  // Takes data[at] in one of the states that look at single bytes.
  // Returns: where to go on, `at` if the byte is left to the next state.
  size_t TakeByte(absl::string_view data, size_t at);
  // Takes the special byte data[at], met while it was state_ at data[since].
  // `is_too_long`: whether an LF is an end whatever the state.
  // Returns: whether the record ends behind it.
  bool TakeSpecial(absl::string_view data, size_t since, size_t at,
                   bool is_too_long);

  const CsvDialect dialect_;
  const size_t open_bytes_max_;
  CsvSpecialBytes specials_;
  State state_ = State::kBegin;
  // Bytes of the record before the data.
  size_t seen_ = 0;
};

}  // namespace penstock::core
