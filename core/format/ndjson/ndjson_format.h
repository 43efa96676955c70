// The format "ndjson": one JSON value a line, fully validated.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/line_cursor.h"
#include "core/format/ndjson/config.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/ndjson/row_reader.h"
#include "core/format/ndjson/structural_walker.h"
#include "core/format/result_builder.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// The record is the line as it stands, without its line end (LF, or CR LF).
// Lines of nothing but white space are passed over; they count as lines, not as
// records. One UTF-8 byte order mark at source offset 0 is passed over, too.
// Bad records: those with a JsonFault, tags "syntax", "trailing_data",
// "invalid_utf8", "invalid_unicode", "out_of_range", "too_deep", those too
// long, "record_too_large", and with columns those that do not fit them:
// "wrong_type", "null_value", "out_of_range".
//
// Bound: StructuralWalker's, once something was parsed, and RowReader's.
class NdjsonParser final : public Parser {
 public:
  // `key`: where the records' keys are; nullopt: they have none. `schema`: the
  // columns of their rows; empty: they have none.
  // Requires: record_bytes_max > 0.
  NdjsonParser(size_t record_bytes_max, std::optional<KeyPath> key,
               const Schema& schema = {});

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override;
  std::unique_ptr<Parser> Fork() const override;
  void SetPosition(uint64_t record_number, uint64_t line) override;
  size_t RecordBytesMax() const override { return record_bytes_max_; }

 private:
  struct Task;

  // Parses whole lines that the walker can index together, from `begin` on,
  // until the result is full. Returns: where it stopped, at a line's beginning
  // or the end.
  uint32_t ParseLines(Task& task, uint32_t begin);
  // The lines that were indexed: text[begin, end). Returns: likewise.
  uint32_t ParseIndexed(Task& task, uint32_t begin, uint32_t end);
  // A line by itself, without the walker.
  void ParseAlone(Task& task, const Line& line);
  bool IsTooLarge(const Task& task, const Line& line) const;
  // A good line of which `place` is the walker's first index; the walker's
  // text begins at `begin`. `key`: as it found it.
  void AddIndexed(Task& task, const Line& line, uint32_t begin,
                  const uint32_t* place, bool has_escapes, const KeyToken& key);
  // The row, if there are columns, was added before.
  void AddRecord(Task& task, const Line& line, const KeyToken& key,
                 uint32_t key_base);
  void AddBadRow(Task& task, const Line& line);
  void AddError(Task& task, const Line& line, ParseError error);

  const size_t record_bytes_max_;
  const std::optional<KeyPath> key_;
  StructuralWalker walker_;
  // Null without columns.
  const std::unique_ptr<RowReader> rows_;
  ParseProgress progress_;
  // How much is indexed at once: less near bad lines.
  uint32_t index_bytes_;
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeNdjsonParser(
    const ComponentConfig& config, const Schema& schema = {});
// Encodes the bytes, whatever the columns.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeNdjsonEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema = {});

}  // namespace penstock::core
