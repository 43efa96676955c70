// Rows of CSV.
#pragma once

#include "core/contract/row_encoder.h"
#include "core/format/csv/config.h"
#include "core/format/csv/scanner.h"
#include "core/record/value.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// A row is the record's columns, or its bytes where it has none, then LF. There
// is no header: frames concatenate in any order. What it writes a parser of the
// same configuration, but for the header, reads as the same values.
//
// Quotes stand where they have to: around text that is empty or reads as null,
// has delimiters, quotes, line ends, or blanks where they are trimmed, or
// begins like a comment or a byte order mark.
//
// Owner: a handoff. Threads: confined to it. Bound: the text of one value.
class CsvEncoder final : public RowEncoder {
 public:
  // `columns`: 0 without a schema. Requires: the configuration is good.
  CsvEncoder(const CsvConfig& config, size_t columns);

  // Errors: UNSUPPORTED for a record without value, for an update or a
  // deletion, which no row says; without quotes, for text
  // that needs them; for null, if nothing stands for it. MALFORMED_FRAME where
  // bytes are not one record. INTERNAL for another number of columns.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override;
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<CsvEncoder>(config_, columns_);
  }

 private:
  absl::Status EncodeBytes(absl::string_view value, FrameBuffer& out);
  absl::Status AppendField(const Value& value, FrameBuffer& out);
  bool NeedsQuotes(absl::string_view text) const;
  void AppendQuoted(absl::string_view text, FrameBuffer& out) const;

  const CsvConfig config_;
  const size_t columns_;
  // What a null is; nullopt: there is nothing for it.
  std::optional<std::string> null_;
  CsvScanner scanner_;
  std::string text_;
};

}  // namespace penstock::core
