#include "core/format/csv/scanner.h"

#include "core/format/csv/scanner_inl.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cstring>

namespace penstock::core {

CsvScanner::CsvScanner(const CsvDialect& dialect, size_t record_bytes_max)
    : dialect_(dialect),
      record_bytes_max_(record_bytes_max),
      is_plain_(dialect.escape == CsvEscape::kDoubled && !dialect.trim),
      specials_(dialect, CsvSpecialBytes::Fields::kFound) {
  SetFieldsMax(1);
}

void CsvScanner::SetFieldsMax(uint32_t fields_max) {
  fields_max_ = fields_max;
  fields_.resize(size_t{fields_max} + 1);
}

void CsvScanner::Begin(absl::string_view text, uint32_t begin) {
  text_ = text;
  at_ = begin;
  measured_from_ = 0;
  specials_.Begin(text);
  PassSpecial();
}

const CsvRecord& CsvScanner::Next() {
  record_ = CsvRecord{.begin = at_};
  uint32_t begin = at_;
  if (text_[at_] == kByteOrderMark[0]) [[unlikely]] {
    while (absl::StartsWith(text_.substr(at_), kByteOrderMark)) at_ += 3;
  }
  if (dialect_.comment.has_value() && at_ < text_.size() &&
      text_[at_] == *dialect_.comment) {
    record_.is_comment = begin == at_;
    if (!record_.is_comment) Fail(CsvFault::kInnerMark, begin);
    ReadComment();
  } else if (is_plain_ && begin == at_ && ReadPlainRecord()) [[likely]] {
  } else {
    while (ReadField(begin)) begin = at_;
    record_.is_blank =
        record_.field_count == 1 && record_.fault == CsvFault::kNone &&
        !fields_[0].is_quoted && fields_[0].begin == fields_[0].end;
  }
  measured_from_ = at_;
  return record_;
}

bool CsvScanner::ReadPlainRecord() {
  CsvField* const fields = fields_.data();
  const uint32_t fields_max = fields_max_;
  if (ReadPlainFields([=](uint32_t number, CsvField field) {
        fields[std::min(number, fields_max)] = field;
      })) [[likely]] {
    return true;
  }
  GoBack();
  return false;
}

void CsvScanner::GoBack() {
  record_ = CsvRecord{.begin = record_.begin};
  at_ = record_.begin;
  measured_from_ = measured_from_before_;
  special_ = special_before_;
  if (special_ < text_.size()) specials_.GoBack(place_before_, special_ + 1);
}

void CsvScanner::ReadComment() {
  const size_t newline = text_.find('\n', at_);
  const bool at_end = newline == absl::string_view::npos;
  record_.end = static_cast<uint32_t>(at_end ? text_.size() : newline);
  record_.next = at_end ? record_.end : record_.end + 1;
  at_ = record_.next;
  while (special_ < at_) PassSpecial();
}

bool CsvScanner::ReadField(uint32_t begin) {
  if (special_ < text_.size() && text_[special_] == dialect_.quote &&
      special_ == SkipBlanks(at_)) {
    if (begin != at_) Fail(CsvFault::kInnerMark, begin);
    return ReadQuotedField(special_);
  }
  return ReadToDelimiter({.begin = begin}, CsvFault::kBareQuote);
}

bool CsvScanner::ReadToDelimiter(CsvField field, CsvFault at_quote) {
  while (special_ < text_.size()) {
    const char byte = text_[special_];
    if (byte == dialect_.delimiter) {
      if (!field.is_quoted) field.end = special_;
      AddField(field);
      at_ = special_ + 1;
      PassSpecial();
      return true;
    }
    if (byte == '\n') break;
    if (byte == '\r') {
      if (IsLineEnd(special_)) break;
      Fail(CsvFault::kBareCr, special_);
    } else if (byte == dialect_.quote) {
      Fail(at_quote, special_);
    }
    PassSpecial();
  }
  return EndRecord(field, special_);
}

bool CsvScanner::ReadQuotedField(uint32_t quote) {
  CsvField field{.begin = quote + 1, .is_quoted = true};
  PassSpecial();
  while (special_ < text_.size()) {
    const char byte = text_[special_];
    if (byte == '\n') {
      if (special_ - measured_from_ >= CsvOpenBytesMax(record_bytes_max_)) {
        break;
      }
      ++record_.lines;
      PassSpecial();
    } else if (byte == *dialect_.quote) {
      field.end = special_;
      at_ = special_ + 1;
      PassSpecial();
      const bool is_doubled = dialect_.escape == CsvEscape::kDoubled &&
                              special_ == at_ && at_ < text_.size() &&
                              text_[at_] == *dialect_.quote;
      if (!is_doubled) {
        if (!IsWithin(field.end) && IsWithin(quote)) {
          Fail(CsvFault::kOpenQuote, quote);
        }
        return ReadBehindQuote(field);
      }
      field.has_escapes = true;
      PassSpecial();
    } else if (byte == '\\' && dialect_.escape == CsvEscape::kBackslash) {
      field.has_escapes = true;
      PassEscape();
    } else {
      PassSpecial();
    }
  }
  if (IsWithin(quote)) Fail(CsvFault::kOpenQuote, quote);
  field.end = special_;
  return EndRecord(field, special_);
}

void CsvScanner::PassEscape() {
  const uint32_t escaped = special_ + 1;
  if (escaped == text_.size()) return PassSpecial();
  const char byte = text_[escaped];
  if (byte != *dialect_.quote && byte != '\\' && IsWithin(special_)) {
    Fail(CsvFault::kBadEscape, special_);
  }
  PassSpecial();
  // An LF may be the end of what is too long.
  if (special_ == escaped && byte != '\n') PassSpecial();
}

bool CsvScanner::ReadBehindQuote(CsvField field) {
  const uint32_t behind = SkipBlanks(at_);
  if (behind < text_.size()) {
    const char byte = text_[behind];
    const bool ends = byte == dialect_.delimiter || byte == '\n' ||
                      (byte == '\r' && IsLineEnd(behind));
    if (!ends) Fail(CsvFault::kBehindQuote, behind);
  }
  return ReadToDelimiter(field, CsvFault::kBehindQuote);
}

bool CsvScanner::EndRecord(CsvField field, uint32_t at) {
  if (!field.is_quoted) field.end = at;
  AddField(field);
  record_.end = at;
  record_.next = at;
  if (at < text_.size()) record_.next += text_[at] == '\r' ? 2 : 1;
  if (record_.next > text_.size()) {
    record_.next = static_cast<uint32_t>(text_.size());
  }
  at_ = record_.next;
  while (special_ < at_) PassSpecial();
  return false;
}

void CsvScanner::AddField(CsvField field) {
  if (record_.field_count < fields_max_) {
    if (dialect_.trim && !field.is_quoted) {
      field.begin = std::min(SkipBlanks(field.begin), field.end);
      while (field.end > field.begin &&
             IsCsvBlank(dialect_, text_[field.end - 1])) {
        --field.end;
      }
    }
    fields_[record_.field_count] = field;
  }
  ++record_.field_count;
}

void CsvScanner::Fail(CsvFault fault, uint32_t at) {
  if (record_.fault != CsvFault::kNone) return;
  record_.fault = fault;
  record_.fault_at = at;
  record_.fault_field = record_.field_count;
}

uint32_t CsvScanner::SkipBlanks(uint32_t at) const {
  while (at < text_.size() && IsCsvBlank(dialect_, text_[at])) ++at;
  return at;
}

size_t UnescapeCsv(const CsvDialect& dialect, absl::string_view content,
                   char* to) {
  const char escape =
      dialect.escape == CsvEscape::kBackslash ? '\\' : *dialect.quote;
  char* const begin = to;
  while (true) {
    const size_t at = content.find(escape);
    const size_t plain = std::min(at, content.size());
    if (plain > 0) std::memcpy(to, content.data(), plain);
    to += plain;
    // An escape at the end, of a quote that was left open, stands for nothing.
    if (at == absl::string_view::npos || at + 1 == content.size()) break;
    *to++ = content[at + 1];
    content.remove_prefix(at + 2);
  }
  return static_cast<size_t>(to - begin);
}

}  // namespace penstock::core
