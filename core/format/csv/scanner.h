// Takes records of CSV apart.
#pragma once

#include "core/format/csv/config.h"
#include "core/format/csv/special_bytes.h"

#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::core {

// One field of a record. Offsets are from the beginning of the text.
struct CsvField {
  // What is in it, without quotes and blanks around it.
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_quoted = false;
  // Quotes are doubled or behind backslashes in it.
  bool has_escapes = false;
};

// Why something is no CSV.
enum class CsvFault : uint8_t {
  kNone,
  // A quote in a field that did not begin with one.
  kBareQuote,
  // A CR that no LF follows.
  kBareCr,
  // Something between a closing quote and the next delimiter.
  kBehindQuote,
  // A backslash before what is neither quote nor backslash.
  kBadEscape,
  // No closing quote before the input ends, or before the record is too long.
  kOpenQuote,
  // A byte order mark before a quote or comment, not at the input's beginning.
  kInnerMark,
};

// One record, good or bad. Offsets are from the beginning of the text.
struct CsvRecord {
  uint32_t begin = 0;
  // Behind its last byte; behind its line end, where the next one begins.
  uint32_t end = 0;
  uint32_t next = 0;
  // Physical lines, the last one counted.
  uint32_t lines = 1;
  // All of them, also those that were not kept.
  uint32_t field_count = 0;
  bool is_comment = false;
  // Nothing, or blanks that are trimmed.
  bool is_blank = false;
  // The first one, where it is, and in which field, from 0.
  CsvFault fault = CsvFault::kNone;
  uint32_t fault_at = 0;
  uint32_t fault_field = 0;
};

// Goes from record to record. Where they end is what CsvSplitter says.
//
// Owner:    a parser. Threads: thread-compatible.
// Lifetime: the text outlives its use.
// Bound:    SetFieldsMax() fields, the rest is only counted.
class CsvScanner {
 public:
  CsvScanner(const CsvDialect& dialect, size_t record_bytes_max);

  // Until it is set: 1.
  void SetFieldsMax(uint32_t fields_max);

  // Starts over at text[begin]; the text before that is a byte order mark. A
  // last record may lack its line end.
  // Requires: begin <= text.size() < 2^32.
  void Begin(absl::string_view text, uint32_t begin);
  bool AtEnd() const { return at_ == text_.size(); }
  // Where the next record begins.
  uint32_t position() const { return at_; }
  // The next record. Requires: not AtEnd().
  const CsvRecord& Next();
  // The next record, if it is what most are: fields with or without quotes that
  // a line end follows, by RFC 4180. `take(number, field)` is called with each
  // field, numbered from 0, before the record is known to be one; fields() has
  // none of them. Returns: whether it is one; otherwise nothing was read.
  // Requires: not AtEnd(). Defined in scanner_inl.h.
  template <typename TakeField>
  bool NextPlain(TakeField take);
  const CsvRecord& record() const { return record_; }
  // Before the record that NextPlain passed. Requires: nothing came between.
  void GoBack();
  // Its first fields. Lifetime: until the next call of Next.
  std::span<const CsvField> fields() const {
    return std::span(fields_).first(std::min(record_.field_count, fields_max_));
  }

 private:
  // The fast way for what most records are (NextPlain), to fields_.
  // False: it is something else, and nothing was read.
  bool ReadPlainRecord();
  // The same, each field to `take`; where it is something else, special bytes
  // were passed.
  template <typename TakeField>
  bool ReadPlainFields(TakeField take);
  // It ends before its line end, behind which at_ is.
  void SetPlainRecord(uint32_t begin, uint32_t end, uint32_t lines,
                      uint32_t fields);

  // Each reads on from at_ and moves behind what it read; returns whether
  // another field follows.
  void ReadComment();
  // `begin`: at_, or where marks before it begin.
  bool ReadField(uint32_t begin);
  bool ReadQuotedField(uint32_t quote);
  // What stands between a closing quote and the next delimiter.
  bool ReadBehindQuote(CsvField field);
  // The rest of a field outside of quotes.
  bool ReadToDelimiter(CsvField field, CsvFault at_quote);
  // Ends the record before the line end, or the input's end, at `at`.
  bool EndRecord(CsvField field, uint32_t at);

  // A backslash in quotes.
  void PassEscape();
  // Whether text[at] still belongs to what a record may be: of what comes
  // behind that a parser need not have seen everything.
  bool IsWithin(uint32_t at) const {
    return at - record_.begin < record_bytes_max_;
  }
  void PassSpecial() { special_ = specials_.Next(); }
  // Whether a CR at `at` begins a line end: an LF follows, or nothing.
  bool IsLineEnd(uint32_t at) const {
    return at + 1 == text_.size() || text_[at + 1] == '\n';
  }
  void AddField(CsvField field);
  void Fail(CsvFault fault, uint32_t at);
  uint32_t SkipBlanks(uint32_t at) const;

  const CsvDialect dialect_;
  const size_t record_bytes_max_;
  // Whether ReadPlainRecord knows the dialect.
  const bool is_plain_;
  uint32_t fields_max_ = 0;
  CsvSpecialBytes specials_;
  absl::string_view text_;
  uint32_t at_ = 0;
  // The first special byte that is not before at_.
  uint32_t special_ = 0;
  // All as they were before the plain record.
  uint32_t measured_from_before_ = 0;
  uint32_t special_before_ = 0;
  CsvSpecialBytes::Place place_before_;
  // From where the length of the record is measured.
  uint32_t measured_from_ = 0;
  CsvRecord record_;
  // Those that are kept, and one that is written over and over.
  std::vector<CsvField> fields_;
};

// What is in a field, where it `has_escapes`. Writes to `to` at most as many
// bytes as `content` has. Returns: how many.
size_t UnescapeCsv(const CsvDialect& dialect, absl::string_view content,
                   char* to);

}  // namespace penstock::core
