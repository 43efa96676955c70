#include "core/format/csv/csv_encoder.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/change_form.h"
#include "core/format/value_text/value_print.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock::core {
namespace {

// Whether a field without quotes that has this text reads so. A token may well
// be what nobody can write, as one with a delimiter.
bool IsPlain(const CsvDialect& dialect, absl::string_view text) {
  if (!text.empty() &&
      (text.front() == dialect.comment ||
       text.front() == kByteOrderMark.front() ||
       IsCsvBlank(dialect, text.front()) || IsCsvBlank(dialect, text.back()))) {
    return false;
  }
  return std::none_of(text.begin(), text.end(), [&dialect](char byte) {
    return byte == dialect.delimiter || byte == dialect.quote || byte == '\n' ||
           byte == '\r';
  });
}

std::optional<std::string> NullText(const CsvConfig& config, size_t columns) {
  // Of one column an empty field is a blank line.
  if (config.empty_is_null && (columns != 1 || config.keep_blank_lines)) {
    return "";
  }
  for (const std::string& token : config.null_tokens) {
    if (!token.empty() && IsPlain(config.dialect, token)) return token;
  }
  return std::nullopt;
}

}  // namespace

CsvEncoder::CsvEncoder(const CsvConfig& config, size_t columns)
    : config_(config),
      columns_(columns),
      null_(NullText(config, columns)),
      scanner_(config.dialect, config.record_bytes_max) {}

absl::Status CsvEncoder::Encode(const Record& record, FrameBuffer& out) {
  if (!record.value.has_value()) {
    return MakeError(Reason::UNSUPPORTED,
                     "encode a record as CSV: its value is null, and there is "
                     "no form for a deletion; choose a format that has one");
  }
  if (record.row.size() != columns_) {
    return MakeError(Reason::INTERNAL,
                     absl::StrCat("a row of ", record.row.size(),
                                  " values for ", columns_, " columns"));
  }
  RETURN_IF_ERROR(CheckRowForm(record));
  if (columns_ == 0) return EncodeBytes(*record.value, out);
  for (size_t i = 0; i < columns_; ++i) {
    if (i > 0) out.PushBack(config_.dialect.delimiter);
    RETURN_IF_ERROR(AppendField(record.row[i], out))
    << "while encoding field " << i + 1 << " of a record as CSV";
  }
  out.PushBack('\n');
  return absl::OkStatus();
}

absl::Status CsvEncoder::EncodeBytes(absl::string_view value,
                                     FrameBuffer& out) {
  // Without these it can only be one record.
  const std::array<char, 3> risky = {'\r', '\n',
                                     config_.dialect.quote.value_or('\n')};
  if (value.find_first_of({risky.data(), risky.size()}) !=
      absl::string_view::npos) {
    scanner_.Begin(value, 0);
    const CsvRecord& record = scanner_.Next();
    if (record.end != value.size() || record.fault != CsvFault::kNone) {
      return MakeError(
          Reason::MALFORMED_FRAME,
          absl::StrCat("encode a record as CSV: its ", value.size(),
                       " bytes are not one record by this dialect; the first "
                       "ends at byte ",
                       record.end));
    }
  }
  out.Append(value);
  out.PushBack('\n');
  return absl::OkStatus();
}

absl::Status CsvEncoder::AppendField(const Value& value, FrameBuffer& out) {
  if (value.is_null()) {
    if (null_.has_value()) {
      out.Append(*null_);
      return absl::OkStatus();
    }
    return MakeError(Reason::UNSUPPORTED,
                     "null: nothing stands for it; set null_tokens, or in a "
                     "table of one column keep_blank_lines");
  }
  text_.clear();
  PrintValue(value, text_);
  if (!NeedsQuotes(text_)) {
    out.Append(text_);
    return absl::OkStatus();
  }
  if (config_.dialect.quote.has_value()) {
    AppendQuoted(text_, out);
    return absl::OkStatus();
  }
  return MakeError(Reason::UNSUPPORTED,
                   "text that needs quotes, and there are none; set a quote");
}

bool CsvEncoder::NeedsQuotes(absl::string_view text) const {
  // Of one column nothing is a blank line.
  if (text.empty()) return config_.empty_is_null || columns_ == 1;
  const bool escapes = config_.dialect.escape == CsvEscape::kBackslash;
  return !IsPlain(config_.dialect, text) ||
         (escapes && text.find('\\') != absl::string_view::npos) ||
         std::find(config_.null_tokens.begin(), config_.null_tokens.end(),
                   text) != config_.null_tokens.end();
}

void CsvEncoder::AppendQuoted(absl::string_view text, FrameBuffer& out) const {
  const char quote = *config_.dialect.quote;
  const bool escapes = config_.dialect.escape == CsvEscape::kBackslash;
  char* const begin = out.Reserve(2 * text.size() + 2);
  char* to = begin;
  *to++ = quote;
  for (const char byte : text) {
    if (byte == quote || (escapes && byte == '\\')) {
      *to++ = escapes ? '\\' : quote;
    }
    *to++ = byte;
  }
  *to++ = quote;
  out.Commit(static_cast<size_t>(to - begin));
}

size_t CsvEncoder::EstimateBytes(size_t records, size_t payload_bytes) const {
  if (columns_ == 0) return records + payload_bytes;
  // Escapes double text, base64 becomes hexadecimal digits, and a number or a
  // moment may be written at greater length than it came: 1e20, 2026-01-31T01Z.
  constexpr size_t kFieldBytes = 20;
  const size_t field = std::max(kFieldBytes, null_.value_or("").size() + 1);
  return records * (1 + field * columns_) + 2 * payload_bytes;
}

}  // namespace penstock::core
