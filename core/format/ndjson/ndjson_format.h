// The format "ndjson": one JSON value a line, fully validated.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/line_cursor.h"
#include "core/format/ndjson/config.h"
#include "core/format/ndjson/json_records.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/ndjson/structural_walker.h"
#include "core/format/result_builder.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace penstock::core {

// The record is the line as it stands, without its line end (LF, or CR LF).
// Lines of nothing but white space are passed over; they count as lines, not as
// records. One UTF-8 byte order mark at source offset 0 is passed over, too.
// Bad records: JsonRecords'.
//
// Bound: StructuralWalker's, once something was parsed, and JsonRecords'.
class NdjsonParser final : public Parser {
 public:
  explicit NdjsonParser(JsonOptions options)
      : records_(std::move(options)), index_bytes_(kIndexBytesMax) {}

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override;
  std::unique_ptr<Parser> Fork() const override;
  void SetPosition(uint64_t record_number, uint64_t line) override;
  size_t RecordBytesMax() const override { return records_.record_bytes_max(); }

 private:
  // Indexing and walking the same bytes in turn is fastest while they and their
  // indexes stay in the processor's nearest caches.
  static constexpr uint32_t kIndexBytesMax = uint32_t{64} << 10;

  // Parses whole lines that the walker can index together, from `begin` on,
  // until the result is full. Returns: where it stopped, at a line's beginning
  // or the end.
  uint32_t ParseLines(JsonTask& task, uint32_t begin);
  // The lines that were indexed: text[begin, end). Returns: likewise.
  uint32_t ParseIndexed(JsonTask& task, uint32_t begin, uint32_t end);
  // A line by itself, without the walker.
  void ParseAlone(JsonTask& task, const Line& line);
  bool IsTooLarge(const JsonTask& task, const Line& line) const;

  JsonRecords records_;
  StructuralWalker walker_;
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
