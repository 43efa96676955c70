// The definitions behind scanner.h, for those who take fields as they come.
#pragma once

#include "core/format/csv/scanner.h"
#include "core/format/csv/special_bytes.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

template <typename TakeField>
bool CsvScanner::NextPlain(TakeField take) {
  const char first = text_[at_];
  if (!is_plain_ || first == kByteOrderMark[0] || first == dialect_.comment) {
    return false;
  }
  record_.begin = at_;
  if (ReadPlainFields(take)) [[likely]] {
    measured_from_ = at_;
    return true;
  }
  GoBack();
  return false;
}

// Member by member, which waits for nothing.
inline void CsvScanner::SetPlainRecord(uint32_t begin, uint32_t end,
                                       uint32_t lines, uint32_t fields) {
  record_.begin = begin;
  record_.end = end;
  record_.next = at_;
  record_.lines = lines;
  record_.field_count = fields;
  record_.is_comment = false;
  record_.is_blank = fields == 1 && begin == end;
  record_.fault = CsvFault::kNone;
}

template <typename TakeField>
bool CsvScanner::ReadPlainFields(TakeField take) {
  measured_from_before_ = measured_from_;
  special_before_ = special_;
  place_before_ = specials_.place();
  // Held in registers: nobody else is told before it is over.
  CsvSpecialBytes::Place place = place_before_;
  const auto next = [this, &place] { return specials_.NextFrom(place); };
  uint32_t special = special_;
  const char* const text = text_.data();
  const auto size = static_cast<uint32_t>(text_.size());
  const char delimiter = dialect_.delimiter;
  const char quote = dialect_.quote.value_or(delimiter);
  const uint32_t begin = at_;
  uint32_t field = begin;
  uint32_t count = 0;
  uint32_t lines = 1;
  while (special < size) {
    char byte = text[special];
    if (byte == quote && special == field && quote != delimiter) {
      bool has_escapes = false;
      uint32_t close = 0;
      while (true) {
        close = next();
        if (close == size) return false;
        byte = text[close];
        if (byte == quote) {
          if (close + 1 == size || text[close + 1] != quote) break;
          has_escapes = true;
          next();
        } else if (byte == '\n') {
          if (close - begin > record_bytes_max_) return false;
          ++lines;
        }
      }
      special = next();
      if (special != close + 1 || special == size) return false;
      take(count, CsvField{.begin = field + 1,
                           .end = close,
                           .is_quoted = true,
                           .has_escapes = has_escapes});
      byte = text[special];
    } else {
      take(count, CsvField{.begin = field, .end = special});
    }
    ++count;
    if (byte == delimiter) [[likely]] {
      field = special + 1;
      special = next();
      continue;
    }
    uint32_t newline = special;
    if (byte == '\r') newline = next();
    // Neither a quote in a field nor a CR alone.
    if (newline == size || text[newline] != '\n' || newline - special > 1 ||
        special - begin > record_bytes_max_) {
      return false;
    }
    specials_.GoTo(place);
    PassSpecial();
    at_ = newline + 1;
    SetPlainRecord(begin, special, lines, count);
    return true;
  }
  return false;
}

}  // namespace penstock::core
