// The format "json": values one behind the other, or in an array.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/json/config.h"
#include "core/format/json/value_scanner.h"
#include "core/format/ndjson/json_records.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/result_builder.h"
#include "core/record/schema.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// Cuts behind the last unit of a ValueScanner, and behind the blanks that
// follow it.
class JsonSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view data) override;
  void Clear() override { scanner_ = {}; }
  std::optional<size_t> PassSeam(char before,
                                 absl::string_view behind) const override;

 private:
  ValueScanner scanner_;
};

// A record is a value as it stands, over as many lines as it does; those of an
// array are its elements. Commas, brackets of arrays, blanks and one UTF-8 byte
// order mark at source offset 0 are passed over. Bad records: JsonRecords', and
// where a value is missing, "syntax". A record with what stands between it and
// the one before is too large, too, beyond record_bytes_max and
// kFramingBytesMax.
//
// Bound: JsonRecords'.
class JsonParser final : public Parser {
 public:
  explicit JsonParser(JsonOptions options) : records_(std::move(options)) {}

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return std::make_unique<JsonSplitter>();
  }
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<JsonParser>(records_.options());
  }
  void SetPosition(uint64_t record_number, uint64_t line) override {
    progress_.record_number = record_number;
    progress_.line = line;
  }
  size_t RecordBytesMax() const override { return records_.record_bytes_max(); }

 private:
  // From where on a source gives but a unit's beginning.
  size_t UnitBytesMax() const {
    return records_.record_bytes_max() + kFramingBytesMax;
  }
  // Where what a unit says is said to be: at its value, or at its `begin`.
  size_t PlaceOf(const ValueScanner& scanner, size_t begin) const;
  // Whether a source may have given but the beginning of `unit`.
  bool IsTooLong(absl::string_view unit) const;
  // A unit that `scanner` found in text[begin, end).
  void AddUnit(JsonTask& task, const ValueScanner& scanner, uint32_t begin,
               uint32_t place, uint32_t end);

  JsonRecords records_;
  ParseProgress progress_;
};

// A row is the record's value as it stands, then LF, whatever lines it has:
// values one behind the other. One that is an array itself is put into another
// pair of brackets: it is read as that one's only element. Holds nothing.
class JsonEncoder final : public RowEncoder {
 public:
  // Errors: UNSUPPORTED for a null value, and for an update or a deletion,
  // which no value by itself says. `out` is then untouched.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return 3 * records + payload_bytes;
  }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<JsonEncoder>();
  }
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeJsonParser(
    const ComponentConfig& config, const Schema& schema = {});
// Encodes the bytes, whatever the columns; but rows (RowJsonEncoder) where an
// envelope fills some, which the bytes do not have.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeJsonEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema = {});

}  // namespace penstock::core
