// The format "csv": records of fields by RFC 4180, and its near relations.
// See core/format/README.md.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/csv/config.h"
#include "core/format/csv/layout.h"
#include "core/format/csv/scanner.h"
#include "core/format/result_builder.h"
#include "core/format/value_text/number_text.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// The record is what stands between line ends, quotes and all; with columns its
// fields are a row, too. Comments, the header and, unless they are kept, blank
// lines are passed over: they count as lines, not as records.
//
// Bad records: "syntax" (a CsvFault), "open_quote", "field_count",
// "record_too_large", "no_header"; with columns those that do not fit them:
// "wrong_type", "null_value", "out_of_range", "invalid_utf8".
//
// Bound: the fields of one record that are columns or key.
class CsvParser final : public Parser {
 public:
  // `layout`: nullopt where the header will tell.
  // Requires: configuration and schema are good (MakeCsvParser checks them).
  CsvParser(CsvConfig config, Schema schema, std::optional<CsvLayout> layout);

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override;
  std::unique_ptr<Parser> Fork() const override;
  void SetPosition(uint64_t record_number, uint64_t line) override;
  size_t RecordBytesMax() const override { return config_.record_bytes_max; }
  size_t PrologueBytesMax() const override;
  absl::StatusOr<bool> LearnPrologue(absl::string_view beginning,
                                     uint64_t offset) override;

 private:
  static constexpr uint32_t kNoColumn = 0xffffffff;

  struct Task;
  // How a column's values are read: most types have a short way.
  enum class ColumnWay : uint8_t {
    kAnyText,
    kInteger,
    kDouble,
    kBoolean,
    kOther,
  };
  // What every value asks of its column.
  struct ColumnKind {
    ColumnWay way = ColumnWay::kOther;
    bool nullable = true;
    // Of an integer.
    IntegerRange range = {};
  };

  // The fast way for what most records are: plain ones whose fields go to their
  // columns as they are found, and fit. False: nothing was read, and
  // ParseRecord has to tell what it is.
  bool ParsePlainRow(Task& task);
  void ParseRecord(Task& task, const CsvRecord& record);
  // Whether the record is one; otherwise its error was added.
  bool CheckRecord(Task& task, const CsvRecord& record);
  static bool CheckUtf8(Task& task, const CsvRecord& record);
  static ColumnKind KindOf(const Column& column);
  // The value of the text of a field that is not null.
  ValueFault ReadField(size_t column, absl::string_view text, ValueArena& arena,
                       Value& value) const;
  // The same by the long way.
  [[gnu::noinline]] static ValueFault ReadOtherField(const Column& column,
                                                     absl::string_view text,
                                                     ValueArena& arena,
                                                     Value& value);
  // Appends the row. False: the record's error was added instead.
  bool ReadRow(Task& task, const CsvRecord& record);
  void AddBadValue(Task& task, const CsvRecord& record, size_t column,
                   ValueFault fault, absl::string_view text);
  // `key`: null where it has none.
  void AddRecord(Task& task, const CsvRecord& record, const CsvField* key);
  void AddError(Task& task, const CsvRecord& record, ParseError error);
  void SetLayout(CsvLayout layout);
  // `is_whole`: nothing comes behind `text`, which begins at `offset`.
  absl::StatusOr<bool> ReadHeader(absl::string_view text, uint64_t offset,
                                  bool is_whole);
  absl::StatusOr<bool> Learn(absl::string_view text, uint64_t offset,
                             bool is_whole);
  uint64_t LinesOf(const Task& task, const CsvRecord& record) const;

  bool IsNull(absl::string_view text) const {
    return text.empty() ? config_.empty_is_null
                        : has_null_tokens_ && IsNullToken(text);
  }
  bool IsNullToken(absl::string_view text) const;
  // What is in the field, unescaped.
  absl::string_view TextOf(absl::string_view text, const CsvField& field,
                           ValueArena& arena) const;

  const CsvConfig config_;
  const bool has_null_tokens_;
  const Schema schema_;
  // Of its columns, side by side.
  std::vector<ColumnKind> kinds_;
  std::optional<CsvLayout> layout_;
  // The other way round: of each field that is looked at its column, or
  // kNoColumn.
  std::vector<uint32_t> columns_of_fields_;
  // Behind the header, from the input's beginning; what begins before it is
  // passed over.
  uint64_t header_end_ = 0;
  // Why there is no layout; empty: no header was seen.
  std::string header_problem_;
  CsvScanner scanner_;
  ParseProgress progress_;
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeCsvParser(
    const ComponentConfig& config, const Schema& schema = {});
// Encodes the row, or without columns the bytes; as messages the bytes.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeCsvEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema = {});

}  // namespace penstock::core
