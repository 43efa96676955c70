#include "proto/wire/csv_config.h"

#include "core/format/csv/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/field_reader.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

constexpr size_t kNullTokensMax = 16;

// One ASCII character; nothing where that `may_be_empty`.
std::optional<char> ReadByte(absl::string_view name, const std::string& text,
                             bool may_be_empty, FieldReader& fields) {
  if (text.empty() && may_be_empty) return std::nullopt;
  if (text.size() == 1 && static_cast<unsigned char>(text[0]) < 0x80) {
    return text[0];
  }
  fields.Add(name,
             absl::StrCat("must be one ASCII character",
                          may_be_empty ? ", or empty for none" : ""),
             kMalformed);
  return std::nullopt;
}

core::CsvEscape ReadEscape(const v1::CsvFormat& spec, FieldReader& fields) {
  if (!spec.has_escape()) return core::CsvEscape::kDoubled;
  switch (spec.escape()) {
    case v1::CSV_ESCAPE_DOUBLED:
      return core::CsvEscape::kDoubled;
    case v1::CSV_ESCAPE_BACKSLASH:
      return core::CsvEscape::kBackslash;
    default:
      fields.Add(
          "escape",
          absl::StrCat("is ", spec.escape(), ", must be DOUBLED or BACKSLASH"),
          spec.escape() == 0 ? kUnspecified : kUnknownValue);
      return core::CsvEscape::kDoubled;
  }
}

void ReadDialect(const v1::CsvFormat& spec, FieldReader& fields,
                 core::CsvDialect& to) {
  const size_t wrong_before = fields.violations().count();
  if (spec.has_delimiter()) {
    to.delimiter = ReadByte("delimiter", spec.delimiter(), false, fields)
                       .value_or(to.delimiter);
  }
  if (spec.has_quote()) {
    to.quote = ReadByte("quote", spec.quote(), true, fields);
  }
  if (spec.has_comment()) {
    to.comment = ReadByte("comment", spec.comment(), true, fields);
  }
  to.escape = ReadEscape(spec, fields);
  to.trim = spec.trim();
  if (fields.violations().count() > wrong_before) return;
  const std::optional<core::CsvDialectProblem> wrong =
      core::CheckCsvDialect(to);
  if (!wrong.has_value()) return;
  fields.Add(wrong->field, std::string(wrong->problem), kContradiction);
}

// A token that no field without quotes can be would be passed over in silence.
void ReadNullTokens(const v1::CsvFormat& spec, FieldReader& fields,
                    core::CsvConfig& to) {
  const core::CsvDialect& dialect = to.dialect;
  const auto is_special = [&dialect](char byte) {
    return byte == dialect.delimiter || byte == dialect.quote || byte == '\n' ||
           byte == '\r';
  };
  if (spec.null_tokens_size() > static_cast<int>(kNullTokensMax)) {
    fields.Add("null_tokens",
               absl::StrCat("are ", spec.null_tokens_size(), ", at most ",
                            kNullTokensMax, " may be"),
               kOutOfRange);
    return;
  }
  for (const std::string& token : spec.null_tokens()) {
    if (token.empty()) {
      fields.Add("null_tokens", "has an empty one; set empty_is_null instead",
                 kMalformed);
    } else if (std::any_of(token.begin(), token.end(), is_special)) {
      fields.Add("null_tokens",
                 "has one with a delimiter, quote or line end, which no field "
                 "without quotes is",
                 kContradiction);
    }
    to.null_tokens.push_back(token);
  }
}

void ReadKey(const v1::CsvFormat& spec, FieldReader& fields,
             core::CsvConfig& to) {
  if (spec.has_key()) {
    to.key = spec.key();
    if (to.key->empty())
      fields.Add("key", "is empty; name a field", kMalformed);
  }
  if (!spec.has_key_column()) return;
  to.key_column = static_cast<uint32_t>(
      fields.Number("key_column", spec.key_column(), 1, 1, uint64_t{1} << 16));
  if (to.key.has_value()) {
    fields.Add("key_column", "and key are given; give one of them",
               kContradiction);
  }
}

}  // namespace

ConfigPtr CsvFromProto(const v1::CsvFormat& spec,
                       const core::ConnectorLimits& limits,
                       absl::string_view path, Violations& violations) {
  auto config = std::make_shared<core::CsvConfig>();
  FieldReader fields(JoinPath(path, "csv"), violations);
  ReadDialect(spec, fields, config->dialect);
  config->header = spec.header();
  config->flexible = spec.flexible();
  config->keep_blank_lines = spec.keep_blank_lines();
  if (spec.has_empty_is_null()) config->empty_is_null = spec.empty_is_null();
  ReadNullTokens(spec, fields, *config);
  ReadKey(spec, fields, *config);
  config->record_bytes_max = limits.record_bytes_max;
  return config;
}

v1::CsvFormat CsvToProto(const core::CsvConfig& config) {
  const auto text = [](std::optional<char> byte) {
    return byte.has_value() ? std::string(1, *byte) : std::string();
  };
  v1::CsvFormat to;
  to.set_delimiter(text(config.dialect.delimiter));
  to.set_quote(text(config.dialect.quote));
  to.set_escape(config.dialect.escape == core::CsvEscape::kBackslash
                    ? v1::CSV_ESCAPE_BACKSLASH
                    : v1::CSV_ESCAPE_DOUBLED);
  to.set_header(config.header);
  to.set_comment(text(config.dialect.comment));
  to.set_trim(config.dialect.trim);
  to.set_flexible(config.flexible);
  to.set_keep_blank_lines(config.keep_blank_lines);
  to.set_empty_is_null(config.empty_is_null);
  for (const std::string& token : config.null_tokens) to.add_null_tokens(token);
  if (config.key.has_value()) to.set_key(*config.key);
  if (config.key_column.has_value()) to.set_key_column(*config.key_column);
  return to;
}

}  // namespace penstock::wire
